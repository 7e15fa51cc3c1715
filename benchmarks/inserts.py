"""INSERT of few rows through HTTP: written by the coordinator, and by a warm Spark (``engine=SPARK``), by turns.

``python -m benchmarks.inserts [rounds]`` (20 by default): a table of three columns and one with partitions, 1, 100 and
5,000 rows a statement. JSON lines of milliseconds, p50 and the slowest; what is in the tables is counted at the end.
"""

from __future__ import annotations

import json
import sys

from benchmarks.beside_spark import ENGINES, by_turns, service_with_spark
from tests.e2e.service import Service

TABLES = {"plain": "", "parts": "WITH (partitioning = ARRAY['bucket(id, 4)'])"}
SIZES = (1, 100, 5_000)
_WARM = 3


def insert(table: str, rows: int, start: int) -> str:
    values = ", ".join(f"({start + i}, 'row {i}', DECIMAL '{i}.25')" for i in range(rows))
    return f"INSERT INTO iceberg.db.{table} VALUES {values}"


def fill(service: Service, table: str, rounds: int) -> int:
    """How many rows were sent."""
    sent = 0
    for size in SIZES:

        def statement(number: int, engine: str, first: int = sent, size: int = size) -> str:
            return insert(table, size, first + (len(ENGINES) * number + ENGINES.index(engine)) * size)

        figures = by_turns(service, statement, rounds, _WARM)
        print(json.dumps({"bench": "inserts", "table": table, "rows": size, **figures}), flush=True)
        sent += len(ENGINES) * (_WARM + rounds) * size
    return sent


def main(rounds: int = 20) -> None:
    with service_with_spark() as service:
        for table, options in TABLES.items():
            service.execute(f"CREATE TABLE iceberg.db.{table} (id bigint, name varchar, price decimal(9,2)) {options}")
            sent = fill(service, table, rounds)
            (counted,) = service.execute(f"SELECT count(*), count(DISTINCT id) FROM iceberg.db.{table}")
            if counted != [sent, sent]:
                raise SystemExit(f"{table} has {counted}, {sent} rows were sent")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
