"""Seconds that a user waits for small calls, end to end through HTTP with a real Presto client, on a running service.

``python -m benchmarks.call [rounds]``: a warm rewrite of 10 files of 1 MB together, a rollback, a call that finds
nothing to do, and the verbs parse to check of that call as the server measured them. Prints JSON lines; the last one is
the summary. The limits are the figures of the issue; the rewrite's peer is measured by the benchmark ``rewrite``,
procedures that only need metadata by ``metadata_calls``.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.e2e.service import Service, start_service, write_etc

VERBS = ("parse", "analyze", "plan", "optimize", "fragment", "check")
REWRITE = "CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => '{}')"


def part(seed: int, rows: int = 6_000) -> pa.Table:
    """About 100 kB as zstd Parquet."""
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "id": pa.array(random.integers(0, 1 << 40, rows)),
            "price": pa.array(random.random(rows)),
            "k": pa.array(random.integers(0, 100, rows), pa.int32()),
        }
    )


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure(service: Service, rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {"rewrite": [], "rollback": [], "nothing_to_do": []}
    for number in range(rounds + 2):
        name = f"t{number}"
        table = service.create(name, [part(number * 10 + i) for i in range(10)])
        first = table.refresh().snapshots()[0].snapshot_id
        rewrite = partial(service.execute, REWRITE.format(name))
        rollback = f"CALL iceberg.system.rollback_to_snapshot('db', '{name}', {first})"
        taken = {
            "rewrite": timed(rewrite),
            "nothing_to_do": timed(rewrite),
            "rollback": timed(partial(service.execute, rollback)),
        }
        if number >= 2:
            for key, value in taken.items():
                seconds[key].append(value)
                print(json.dumps({"bench": "call", "case": key, "seconds": round(value, 4)}), flush=True)
    seconds["parse_to_check"] = checked(service, ["k = 1"] * 100)
    # Another literal each time: no verdict is remembered, every fragment goes to the sidecar.
    seconds["parse_to_check_uncached"] = checked(service, [f"k = {i}" for i in range(100)])
    return seconds


def checked(service: Service, filters: list[str]) -> list[float]:
    """Seconds from parse to check of one call a filter, as the server measured them."""
    seconds = []
    for text in filters:
        call = f"CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 't0', filter => '{text}')"
        service.execute(f"EXPLAIN (TYPE DISTRIBUTED) {call}")
        query = max(service.get("/v1/query"), key=lambda q: q["queryId"])
        timeline = service.get(f"/v1/query/{query['queryId']}")["timeline"]
        seconds.append(sum(timeline.get(verb, 0.0) for verb in VERBS))
    return seconds


def main(rounds: int = 10) -> None:
    """Run and print."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        service = start_service(write_etc(home / "etc"), home / "data", home / "log")
        try:
            service.execute("CALL system.clean_data_cache()")
            seconds = measure(service, rounds)
        finally:
            service.stop()
    limits = {"rewrite": 1.0, "rollback": 0.06, "parse_to_check": 0.015, "parse_to_check_uncached": 0.015}
    summary: dict[str, object] = {"bench": "call"}
    for case, values in seconds.items():
        summary[f"{case}_p50_ms"] = round(1000 * statistics.median(values), 2)
        summary[f"{case}_max_ms"] = round(1000 * max(values), 2)
    summary |= {f"{case}_limit_ms": 1000 * limit for case, limit in limits.items()}
    print(json.dumps(summary))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
