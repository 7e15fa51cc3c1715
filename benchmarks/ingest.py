"""1 M rows into a new table: bulk ingestion by ADBC, beside INSERT … VALUES and CREATE TABLE AS of the same rows.

``python -m benchmarks.ingest [THOUSANDS] [INSERTS] [ROUNDS]`` (1,000, 10 and 3 by default) draws rows of six columns,
sends them with adbc-driver-flightsql in batches of 65,536 to a service with Spark, and compares count and sums of what
the table has with DuckDB's of the source. The same service copies that table with CTAS, by turns with the sending,
since its Java gets faster all the time, and takes the first rows as INSERTS statements of 2,000 rows each over HTTP.
JSON lines: seconds, rows a second, CPU seconds of the client and of the service with all its processes, and the most
memory that the coordinator's own process had; of the rounds behind the first one the last line has the medians.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import adbc_driver_flightsql.dbapi
import duckdb
import numpy as np
import psutil
import pyarrow as pa

from benchmarks.flight import family
from benchmarks.rewrite import cpu_seconds
from tests.e2e.service import Service, open_flight, start_service, write_etc

SUMS = "count(*), sum(k), sum(part), sum(price), min(day), max(day), sum(length(note)), count(DISTINCT flag)"
_INSERTED = 2_000
Line = dict[str, float | int | str]


def source(rows: int) -> pa.Table:
    """Keys, a price of two digits, a date, a flag and a comment."""
    drawn = np.random.default_rng(1)
    price = pa.array(drawn.integers(100, 10**7, rows)).cast(pa.decimal128(19, 0))
    return pa.table(
        {
            "k": pa.array(np.arange(rows)),
            "part": pa.array(drawn.integers(0, 200_000, rows)),
            "price": price.cast(pa.decimal128(21, 2)),
            "day": pa.array(drawn.integers(8_000, 10_000, rows).astype("int32")).cast(pa.date32()),
            "flag": pa.array(drawn.choice(["A", "N", "R"], rows)),
            "note": pa.array([f"row number {i} of the stream" for i in range(rows)]),
        }
    )


def sums(rows: pa.Table) -> list[object]:
    """By DuckDB, whatever the order of the rows."""
    return list(duckdb.from_arrow(rows).aggregate(SUMS).fetchall())


def ingest(service: Service, rows: pa.Table) -> int:
    """By ADBC, a new table."""
    uri, user = f"grpc://127.0.0.1:{service.flight_port}", {"username": "benchmark", "password": ""}
    with (
        adbc_driver_flightsql.dbapi.connect(uri, db_kwargs=user, autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        batches = rows.to_reader(max_chunksize=65_536)
        return int(cursor.adbc_ingest("sent", batches, "create", catalog_name="iceberg", db_schema_name="db"))


def copy(service: Service) -> int:
    """By the engine alone, of the table that was sent."""
    return int(service.execute("CREATE TABLE iceberg.db.copied AS SELECT * FROM iceberg.db.kept")[0][0])


def by_turns(service: Service, sent: pa.Table, rounds: int) -> None:
    """Both ways, each time into a new table."""
    lines: list[tuple[Line, Line]] = []
    for number in range(rounds):
        ingested = measured("ADBC, bulk ingestion", lambda: ingest(service, sent), service)
        stored = service.lake().load_table("db.sent").scan().to_arrow()
        assert sums(stored) == sums(sent), "the table has other rows than the source"
        if not number:
            service.execute("CREATE TABLE iceberg.db.kept AS SELECT * FROM iceberg.db.sent")
        copied = measured("CREATE TABLE AS of the same rows", lambda: copy(service), service)
        service.execute("DROP TABLE iceberg.db.copied")
        service.execute("DROP TABLE iceberg.db.sent")
        lines.append((ingested, copied))
    warm = lines[1:] or lines
    found: Line = {"bench": "ingest", "rounds": len(warm)}
    for key in ("wall_s", "service_cpu_s"):
        figures = [[float(line[key]) for line in each] for each in zip(*warm, strict=True)]
        found |= {f"{who}_{key}": round(median(each), 2) for who, each in zip(("ingest", "copy"), figures, strict=True)}
    print(json.dumps(found), flush=True)


def insert(service: Service, rows: pa.Table) -> int:
    """In statements of some thousand rows."""
    service.execute("CREATE TABLE iceberg.db.inserted AS SELECT * FROM iceberg.db.kept WITH NO DATA")
    for start in range(0, rows.num_rows, _INSERTED):
        values = ", ".join(
            f"({r['k']}, {r['part']}, DECIMAL '{r['price']}', DATE '{r['day']}', '{r['flag']}', '{r['note']}')"
            for r in rows.slice(start, _INSERTED).to_pylist()
        )
        service.execute(f"INSERT INTO iceberg.db.inserted VALUES {values}")
    return rows.num_rows


@contextmanager
def most_memory(pid: int) -> Iterator[list[int]]:
    """The most bytes that a process has meanwhile, looked at every tenth of a second."""
    process, seen, over = psutil.Process(pid), [0], threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            seen[0] = max(seen[0], process.memory_info().rss)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def measured(name: str, run: Callable[[], int], service: Service) -> Line:
    """One round, printed."""
    before = cpu_seconds(family(service.process.pid))
    start, own = time.perf_counter(), time.process_time()
    with most_memory(service.process.pid) as memory:
        rows = run()
    seconds = time.perf_counter() - start
    found: Line = {
        "bench": "ingest",
        "who": name,
        "rows": rows,
        "wall_s": round(seconds, 2),
        "rows_per_second": round(rows / seconds),
        "client_cpu_s": round(time.process_time() - own, 2),
        "service_cpu_s": round(cpu_seconds(family(service.process.pid)) - before, 2),
        "coordinator_mb": memory[0] >> 20,
    }
    print(json.dumps(found), flush=True)
    return found


def run(home: Path, rows: int, inserts: int, rounds: int) -> None:
    """Print the lines."""
    etc = write_etc(home / "etc")
    open_flight(etc)
    service = start_service(etc, home / "data", home / "log", cold=True)
    try:
        service.execute("CREATE SCHEMA iceberg.db")
        service.execute("CREATE TABLE iceberg.db.warm AS SELECT 1 AS one")
        sent = source(rows)
        by_turns(service, sent, rounds)
        part = sent.slice(0, inserts * _INSERTED)
        measured(f"INSERT of {_INSERTED} VALUES each", lambda: insert(service, part), service)
    finally:
        service.stop()


def main() -> None:
    thousands = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    inserts = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory() as home:
        run(Path(home), thousands * 1_000, inserts, rounds)


if __name__ == "__main__":
    main()
