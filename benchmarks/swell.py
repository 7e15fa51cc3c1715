"""Tables that swell in Spark's memory, copied by CREATE TABLE AS SELECT with a small heap.

``python -m benchmarks.swell [HEAP] [TABLE…]`` (2g and all of them by default) starts a service of its own whose queries
all run on Spark, has PyIceberg write each table in one file of one row group, and copies it twice: as it is, and by
``bucket(c0, 32)``. It prints one JSON line a copy: megabytes stored, seconds, CPU seconds and the highest resident
memory of Spark in MB, and what failed. The last line says whether all succeeded.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

from tests.e2e.service import Service, start_service, write_etc


def columns(rows: int, count: int, size: int, distinct: int | None = None) -> pa.Table:
    """``c0`` numbers the rows; the others are texts of ``size`` letters and numbers by turns, or texts that repeat."""
    random = np.random.default_rng(1)
    made: dict[str, Any] = {"c0": pa.array(random.permutation(rows).astype("int64"))}
    for number in range(1, count):
        is_text = distinct is not None or number % 2 == 1
        made[f"c{number}"] = texts(random, rows, size, distinct) if is_text else random.integers(0, 1 << 60, rows)
    return pa.table(made)


def texts(random: np.random.Generator, rows: int, size: int, distinct: int | None) -> pa.Array:
    """Texts of random letters, of which ``distinct`` differ."""
    count = distinct or rows
    letters = random.integers(97, 123, (count, size), dtype=np.uint8)
    ends = pa.py_buffer(np.arange(0, (count + 1) * size, size, dtype=np.int32))
    made = pa.Array.from_buffers(pa.string(), count, [None, ends, pa.py_buffer(letters.tobytes())])
    return made if distinct is None else made.take(pa.array(random.integers(0, count, rows)))


TABLES: dict[str, Callable[[], pa.Table]] = {
    "columns_200": lambda: columns(200_000, 200, 8),
    "columns_1000": lambda: columns(40_000, 1_000, 8),
    "rows_1mb": lambda: columns(300, 2, 1_000_000),
    "repeating": lambda: columns(200_000, 200, 100, 1_000),
}


@dataclass
class Peak:
    """The most that was seen, in MB."""

    memory: float = 0.0


def main() -> None:
    heap = sys.argv[1] if len(sys.argv) > 1 else "2g"
    chosen = sys.argv[2:] or list(TABLES)
    with tempfile.TemporaryDirectory() as folder:
        etc = write_etc(Path(folder, "etc"))
        settings = f"spark.warm-up=true\nspark.driver-memory={heap}\nquery.engine=spark\n"
        (etc / "config.properties").write_text(settings)
        service = start_service(etc, Path(folder, "data"), Path(folder, "log"))
        try:
            lines = [copy(service, name, spec) for name in chosen for spec in (None, "bucket(c0, 32)")]
        finally:
            service.stop()
    print(json.dumps({"heap": heap, "all_copied": all(line["failed"] is None for line in lines)}))


def copy(service: Service, name: str, spec: str | None) -> dict[str, Any]:
    """One JSON line."""
    lake = service.lake()
    table = lake.load_table(f"db.{name}") if spec else service.create(name, [TABLES[name]()])
    stored = sum(task.file.file_size_in_bytes for task in table.scan().plan_files())
    layout = f"WITH (partitioning = ARRAY['{spec}']) " if spec else ""
    spark, failed, start = spark_of(service), None, time.perf_counter()
    with watched(spark) as peak:
        used = cpu_seconds(spark)
        try:
            service.execute("DROP TABLE IF EXISTS iceberg.db.copied")
            service.execute(f"CREATE TABLE iceberg.db.copied {layout}AS SELECT * FROM iceberg.db.{name}")
        except Exception as error:
            failed = str(error)[:200]
        seconds = time.perf_counter() - start
        used = cpu_seconds(spark) - used
    line = {
        "table": name,
        "partitioning": spec,
        "mb": stored >> 20,
        "seconds": round(seconds, 1),
        "spark_cpu": round(used, 1),
        "spark_rss": round(peak.memory),
        "failed": failed,
    }
    print(json.dumps(line), flush=True)
    return line


def cpu_seconds(process: psutil.Process) -> float:
    """So far; 0 of one that has ended."""
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def spark_of(service: Service) -> psutil.Process:
    """The Java process; one that failed is started again after a while."""
    while True:
        for process in psutil.Process(service.process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if process.name() == "java" and "SparkConnectServer" in " ".join(process.cmdline()):
                    return process
        time.sleep(1)


@contextmanager
def watched(process: psutil.Process) -> Iterator[Peak]:
    """Looks at the process's memory every half second."""
    peak, done = Peak(), threading.Event()

    def look() -> None:
        while not done.wait(0.5):
            with suppress(psutil.NoSuchProcess):
                peak.memory = max(peak.memory, process.memory_info().rss / 1e6)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


if __name__ == "__main__":
    main()
