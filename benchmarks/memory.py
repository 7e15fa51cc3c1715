"""Memory of the coordinator while it hands on a result of ten million rows to a client that reads slowly.

``python -m benchmarks.memory [MILLIONS] [ENGINE]``; ENGINE is ``local`` (DuckDB) or ``spark``. Prints one JSON line:
rows a second and by how many megabytes the process grew at most. The aim is below 300 MB.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import psutil

from tests.e2e.service import Service, start_service, write_etc

HEADERS = {"X-Presto-User": "benchmark"}
PAUSE = 0.05
"""Seconds that the reader sleeps after each page while it is the slow one."""
SLOW_PAGES = 40


@dataclass
class Watch:
    """The largest resident size of a process, looked at every 50 ms, over what it was before."""

    process: psutil.Process
    before: int = 0
    peak: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Watch:
        self.before = self.peak = self.process.memory_info().rss
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            self.peak = max(self.peak, self.process.memory_info().rss)

    @property
    def grown_mb(self) -> float:
        return (self.peak - self.before) / 1e6


def statement(thousands: int, engine: str, width: int = 15) -> str:
    """Rows of ``width`` characters and two numbers; a table of one row is what takes them to Spark."""
    rows = (
        f"SELECT a * 1000 + b AS id, rpad(CAST(b AS varchar), {width}, 'x') AS name, a * 1.5e0 AS price "
        f"FROM UNNEST(sequence(1, {thousands})) t (a) CROSS JOIN UNNEST(sequence(1, 1000)) u (b)"
    )
    return rows if engine == "local" else f"{rows} CROSS JOIN (SELECT min(k) FROM iceberg.db.one) v (k)"


def read(service: Service, sql: str, slow_pages: int = SLOW_PAGES) -> tuple[int, float]:
    """Rows and seconds; the first pages are read slowly, so that the engine runs into the buffer's end."""
    rows, pages, start = 0, 0, time.perf_counter()
    with httpx.Client(timeout=300, headers=HEADERS) as client:
        page = client.post(f"{service.url}/v1/statement", content=sql).json()
        while "nextUri" in page:
            page = client.get(page["nextUri"]).json()
            rows += len(page.get("data", ()))
            pages += 1
            if pages < slow_pages:
                time.sleep(PAUSE)
    assert "error" not in page, page["error"]
    return rows, time.perf_counter() - start


def grown(service: Service, sql: str) -> tuple[int, float, float]:
    """Rows, rows a second, and the megabytes by which the coordinator grew at most."""
    read(service, "SELECT 1")
    with Watch(psutil.Process(service.process.pid)) as watch:
        rows, seconds = read(service, sql)
    return rows, rows / seconds, watch.grown_mb


def main() -> None:
    millions = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    engine = sys.argv[2] if len(sys.argv) > 2 else "local"
    with TemporaryDirectory() as folder:
        home = Path(folder)
        service = start_service(write_etc(home / "etc", spark=engine == "spark"), home / "data", home / "log")
        try:
            if engine == "spark":
                service.execute("CREATE SCHEMA iceberg.db")
                service.execute("CREATE TABLE iceberg.db.one AS SELECT 1 AS k")
            rows, speed, megabytes = grown(service, statement(millions * 1000, engine))
        finally:
            service.stop()
    figures = {"rows": rows, "rows_per_second": round(speed), "grown_mb": round(megabytes, 1)}
    print(json.dumps({"bench": "memory", "engine": engine, **figures}))


if __name__ == "__main__":
    main()
