"""Statement text to fragments, in one process: CALL and the 22 TPC-H queries over a real Iceberg catalog.

Measures parse, analyze, plan, optimize and fragment, with the loading of table metadata in it, which is measured apart
too. The peer is a Presto 0.296 server planning the same 22 statements (EXPLAIN (TYPE DISTRIBUTED), no checker,
warm): 93 ms p50, 325 ms p99, recorded once on a machine of the same kind, not in this run. Prints JSON lines; the last
one is the summary. ``python -m benchmarks.plan [rounds]``
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.validate import make_lake, tpch_queries
from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs, read_catalogs
from coordinator.planning.plan_statement import plan_statement
from shared.spi.session import Session

PEER_P50_MS, PEER_P99_MS = 93.0, 325.0
CALL = (
    "CALL iceberg.system.rewrite_data_files(schema => 'tpch', table_name => 'lineitem', "
    "filter => 'l_shipdate >= DATE ''1995-01-01'' AND l_quantity < {number}', "
    "options => MAP(ARRAY['min-input-files'], ARRAY['{number}']))"
)
SESSION = Session(user="bench", catalog="iceberg", schema="tpch")


def milliseconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def line(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


def measure(catalogs: Catalogs, statements: Sequence[str], rounds: int) -> tuple[list[float], list[float]]:
    """Wall and CPU milliseconds of each planning; the first round warms up and is left out."""
    checkers = PlanCheckers()
    walls: list[float] = []
    cpus: list[float] = []
    for number in range(rounds + 1):
        for statement in statements:
            text = statement.format(number=number + 5) if "{number}" in statement else statement
            cpu = time.process_time()
            wall = milliseconds(lambda text=text: plan_statement(text, SESSION, catalogs, checkers))  # type: ignore[misc]
            if number:
                walls.append(wall)
                cpus.append((time.process_time() - cpu) * 1000)
    return walls, cpus


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        catalogs = Catalogs(read_catalogs(make_lake(Path(directory)) / "catalog"))
        connector = catalogs.connector("iceberg")
        metadata = [milliseconds(lambda: connector.table("tpch", "lineitem")) for _ in range(50)]
        line(measure="table metadata", p50_ms=round(statistics.median(metadata), 3))
        queries = tpch_queries()
        call_wall, call_cpu = measure(catalogs, [CALL], rounds * 10)
        line(
            measure="CALL",
            p50_ms=round(statistics.median(call_wall), 3),
            p99_ms=round(quantile(call_wall, 0.99), 3),
            cpu_p50_ms=round(statistics.median(call_cpu), 3),
            samples=len(call_wall),
        )
        walls, cpus = measure(catalogs, queries, rounds)
        p50 = statistics.median(walls)
        line(
            bench="plan",
            call_p50_ms=round(statistics.median(call_wall), 3),
            p50_ms=round(p50, 3),
            p99_ms=round(quantile(walls, 0.99), 3),
            cpu_p50_ms=round(statistics.median(cpus), 3),
            statements=len(queries),
            samples=len(walls),
            peer_p50_ms=PEER_P50_MS,
            peer_p99_ms=PEER_P99_MS,
            ratio_wall=round(PEER_P50_MS / p50, 2),
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
