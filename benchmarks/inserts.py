"""INSERT of few rows through HTTP: written by the coordinator, and by a warm Spark (``engine=SPARK``), by turns.

``python -m benchmarks.inserts [rounds]`` (20 by default): a table of three columns and one with partitions, 1, 100 and
5,000 rows a statement. JSON lines of milliseconds, p50 and the slowest; what is in the tables is counted at the end.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.service import Service, start_service, write_etc

TABLES = {"plain": "", "parts": "WITH (partitioning = ARRAY['bucket(id, 4)'])"}
SIZES = (1, 100, 5_000)
_WARM = 3


def insert(service: Service, table: str, engine: str, rows: int, start: int) -> float:
    """Milliseconds of one statement."""
    values = ", ".join(f"({start + i}, 'row {i}', DECIMAL '{i}.25')" for i in range(rows))
    begun = time.perf_counter()
    service.execute(f"INSERT INTO iceberg.db.{table} VALUES {values}", session_properties={"engine": engine})
    return (time.perf_counter() - begun) * 1000


def main(rounds: int = 20) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        service = start_service(write_etc(home / "etc"), home / "data", home / "log", cold=True)
        try:
            service.execute("CREATE SCHEMA iceberg.db")
            for table, options in TABLES.items():
                service.execute(
                    f"CREATE TABLE iceberg.db.{table} (id bigint, name varchar, price decimal(9,2)) {options}"
                )
                sent = 0
                for size in SIZES:
                    taken: dict[str, list[float]] = {"AUTO": [], "SPARK": []}
                    for _ in range(_WARM + rounds):
                        for engine, found in taken.items():
                            found.append(insert(service, table, engine, size, sent))
                            sent += size
                    figures = {
                        engine: [round(statistics.median(found[_WARM:]), 1), round(max(found[_WARM:]), 1)]
                        for engine, found in taken.items()
                    }
                    ratio = round(figures["SPARK"][0] / figures["AUTO"][0], 1)
                    line = {"bench": "inserts", "table": table, "rows": size, "ms_p50_max": figures, "ratio": ratio}
                    print(json.dumps(line), flush=True)
                (counted,) = service.execute(f"SELECT count(*), count(DISTINCT id) FROM iceberg.db.{table}")
                if counted != [sent, sent]:
                    raise SystemExit(f"{table} has {counted}, {sent} rows were sent")
        finally:
            service.stop()


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
