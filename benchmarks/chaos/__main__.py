"""Rounds of harm to a whole service: no row lost or returned, no orphan, no double commit, everything answers again.

``python -m benchmarks.chaos [--seed 1] [--rounds 20] [--first 0] [--seconds 500]``. A readable log of what was done
and what came of it, also in ``--log FILE``; the last line is the summary. Rows are read past the service, by PyIceberg.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from benchmarks.chaos.rounds import Outcome, Round, Stage, play, rounds
from benchmarks.chaos.store import BUCKET, object_store
from benchmarks.chaos.writers import SparkWriter
from tests.conftest import _processes_of
from tests.e2e.service import open_flight, start_service, write_etc


def describe(outcome: Outcome, taken: float) -> str:
    verdict = outcome.verdict
    healthy = f"SELECT 1 after {outcome.light} s, Spark after {outcome.heavy} s"
    rows = f"{verdict.wrong} rows wrong, {verdict.twice} twice, {len(verdict.orphans)} orphans"
    at = " (at its step)" if outcome.met else ""
    return f"    {outcome.done}{at}; it said: {outcome.said}\n    {rows}; {healthy}; {taken:.0f} s" + "".join(
        f"\n    orphan {path}" for path in verdict.orphans[:3]
    )


def run(home: Path, options: argparse.Namespace) -> dict[str, object]:
    totals: Counter[str] = Counter()
    with staged(home) as stage:
        deadline = time.monotonic() + options.seconds
        for this in rounds(options.seed, options.first + options.rounds)[options.first :]:
            if time.monotonic() > deadline:
                break
            if options.operations and this.operation not in options.operations:
                continue
            if options.harms and str(this.harm).split()[0] not in options.harms:
                continue
            log = [f"round {this.number}: {this}"]
            started = time.monotonic()
            outcome = play(stage, this, log)
            totals.update(figures(this, outcome))
            log.append(describe(outcome, time.monotonic() - started))
            print("\n".join(log), flush=True)
    time.sleep(1)
    totals["processes_left"] = len(_processes_of(home))
    names = ("rounds", "at_a_step", "nobody_there", "with_deletes", "rows_wrong", "orphans", "double_commits")
    found = {name: totals[name] for name in (*names, "unhealed", "processes_left")}
    return {"bench": "chaos", "seed": options.seed, **found}


@contextmanager
def staged(home: Path) -> Iterator[Stage]:
    """A service that has answered from Spark once, an object store, and a Spark of nobody's."""
    with object_store() as store:
        etc = write_etc(home / "etc")
        open_flight(etc)
        lines = ["connector.name=iceberg", f"iceberg.catalog.warehouse=s3://{BUCKET}/warehouse"]
        lines += [f"{name}={value}" for name, value in store.properties().items()]
        (etc / "catalog" / "store.properties").write_text("\n".join(lines) + "\n")
        stage = Stage(start_service(etc, home / "data", home / "log", cold=True), home / "log", store, cold=True)
        try:
            stage.service.create("probe", [pa.table({"id": pa.array([1], pa.int64())})])
            stage.service.execute("SELECT count(*) FROM iceberg.db.probe", session_properties={"engine": "SPARK"})
            stage.spark = SparkWriter(home / "spark", stage.service.data_dir)
            stage.spark.run("DELETE FROM iceberg.db.probe WHERE id = 2")
            yield stage
        finally:
            stage.service.stop()
            if stage.spark is not None:
                stage.spark.stop()


def figures(this: Round, outcome: Outcome) -> dict[str, int]:
    verdict = outcome.verdict
    return {
        "rounds": 1,
        "at_a_step": int(outcome.met),
        "with_deletes": int(this.deletes),
        "rows_wrong": verdict.wrong,
        "double_commits": verdict.twice,
        "orphans": len(verdict.orphans),
        "unhealed": int(outcome.light is None) + int(outcome.heavy is None),
        "nobody_there": int(outcome.done.startswith("no ")),
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, default in (("seed", 1), ("rounds", 20), ("first", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--operations", nargs="*", help="only rounds of these")
    parser.add_argument("--harms", nargs="*", help="only rounds of these, by their first word")
    parser.add_argument("--log", type=Path, help="where the service's log is kept")
    options = parser.parse_args()
    for noisy in ("werkzeug", "pyiceberg"):  # requests to the store, and races that appends lose
        logging.getLogger(noisy).setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        summary = run(Path(folder), options)
        if options.log is not None:
            options.log.write_text((Path(folder) / "log").read_text())
    print(json.dumps(summary), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
