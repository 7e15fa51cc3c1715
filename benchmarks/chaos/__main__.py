"""Rounds of harm to a whole service: no row lost or returned, no orphan, no double commit, everything answers again.

``python -m benchmarks.chaos [--seed 1] [--rounds 20] [--first 0] [--seconds 500]``. A readable log of what was done
and what came of it, also in ``--log FILE``; the last line is the summary. Rows are read past the service, by PyIceberg.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa

from benchmarks.chaos.rounds import Outcome, play, rounds
from tests.conftest import _processes_of
from tests.e2e.service import Service, start_service, write_etc


def describe(outcome: Outcome, taken: float) -> str:
    verdict = outcome.verdict
    healthy = f"SELECT 1 after {outcome.light} s, Spark after {outcome.heavy} s"
    rows = f"{verdict.wrong} rows wrong, {verdict.twice} twice, {len(verdict.orphans)} orphans"
    return f"    {outcome.done}; it said: {outcome.said}\n    {rows}; {healthy}; {taken:.0f} s" + "".join(
        f"\n    orphan {path}" for path in verdict.orphans[:3]
    )


def run(home: Path, options: argparse.Namespace) -> dict[str, object]:
    service = prepared(home)
    totals: Counter[str] = Counter()
    deadline = time.monotonic() + options.seconds
    try:
        for this in rounds(options.seed, options.first + options.rounds)[options.first :]:
            if time.monotonic() > deadline:
                break
            if options.operations and this.operation not in options.operations:
                continue
            log = [f"round {this.number}: {this.operation}, after {this.after} s {this.harm}"]
            started = time.monotonic()
            service, outcome = play(service, this, log, home / "log")
            totals.update(figures(outcome))
            log.append(describe(outcome, time.monotonic() - started))
            print("\n".join(log), flush=True)
    finally:
        service.stop()
    time.sleep(1)
    totals["processes_left"] = len(_processes_of(home))
    names = ("rounds", "rows_wrong", "orphans", "double_commits", "unhealed", "processes_left")
    return {"bench": "chaos", "seed": options.seed, **{name: totals[name] for name in names}}


def prepared(home: Path) -> Service:
    """A service that has answered from Spark once."""
    service = start_service(write_etc(home / "etc"), home / "data", home / "log")
    service.create("probe", [pa.table({"id": pa.array([1], pa.int64())})])
    service.execute("SELECT count(*) FROM iceberg.db.probe", session_properties={"engine": "SPARK"})
    return service


def figures(outcome: Outcome) -> dict[str, int]:
    verdict = outcome.verdict
    return {
        "rounds": 1,
        "rows_wrong": verdict.wrong,
        "double_commits": verdict.twice,
        "orphans": len(verdict.orphans),
        "unhealed": int(outcome.light is None) + int(outcome.heavy is None),
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, default in (("seed", 1), ("rounds", 20), ("first", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--operations", nargs="*", help="only rounds of these")
    parser.add_argument("--log", type=Path, help="where the service's log is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        summary = run(Path(folder), options)
        if options.log is not None:
            options.log.write_text((Path(folder) / "log").read_text())
    print(json.dumps(summary), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
