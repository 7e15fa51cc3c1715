"""A lake of many tables, kept by the maintenance service and by Spark's procedures from cron.

``python -m benchmarks.lake [tables] [rounds]``. In each round a tenth of the tables gets 15 appends of one small file,
another fifth gets one; the rest stays as it is. After each round the maintenance service of a whole coordinator looks
at the lake until nothing is left to do; on a copy that the same writers wrote, Iceberg's ``rewrite_data_files`` and
``expire_snapshots`` are called for every table, as cron jobs do. Prints JSON lines; ``ratio_cpu`` of the last is
Spark's CPU time over the service's (the coordinator with all its children, Spark among them), without their starts.
``files_over`` is the largest number of files of a table, each of which needs one.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.lab import Lab, peer
from benchmarks.rewrite import cpu_seconds
from tests.e2e.service import Service, start_service, write_etc

_SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])
_SETTINGS = """\
maintenance.enabled=true
maintenance.dry-run=false
maintenance.scan-interval=1h
maintenance.stand-back=false
maintenance.policy-file=maintenance.json
"""
_POLICIES = {
    "policies": [{"name": "all", "system.data-compaction": {"enable": True, "config": {"min-interval": "0s"}}}]
}


def write(catalog: SqlCatalog, tables: int, number: int) -> int:
    """What writers do in one round; the same for the same number. How many appends that were."""
    chosen = random.Random(number)
    appends = 0
    names = [f"db.t{i}" for i in range(tables)]
    if number == 0:
        catalog.create_namespace("db")
        for name in names:
            catalog.create_table(name, schema=_SCHEMA)
    picked = chosen.sample(names, max(1, tables * 3 // 10))
    for place, name in enumerate(picked):
        table = catalog.load_table(name)
        for _ in range(15 if place < max(1, tables // 10) else 1):
            ids = [chosen.randrange(1 << 40) for _ in range(200)]
            table.append(pa.table({"id": ids, "text": [f"row {i}" for i in ids]}, _SCHEMA))
            appends += 1
    return appends


def health(catalog: SqlCatalog, tables: int) -> dict[str, int]:
    """Files of the worst table (each needs one), files and rows of all."""
    files, rows = [0], 0
    for i in range(tables):
        found = list(catalog.load_table(f"db.t{i}").scan().plan_files())
        files.append(len(found))
        rows += sum(task.file.record_count for task in found)
    return {"files_over": max(files), "files": sum(files), "rows": rows}


@contextmanager
def used(processes: Callable[[], list[psutil.Process]], into: list[float]) -> Iterator[None]:
    """CPU seconds of processes meanwhile, added to ``into``."""
    before = cpu_seconds(processes())
    yield
    into.append(cpu_seconds(processes()) - before)


def by_service(home: Path, tables: int, rounds: int) -> dict[str, Any]:
    """The service's figures."""
    etc = write_etc(home / "etc", planners=2)
    (etc / "maintenance.properties").write_text(_SETTINGS)
    (etc / "maintenance.json").write_text(json.dumps(_POLICIES))
    service = start_service(etc, home / "data", home / "log")
    try:
        return _kept_by_service(service, tables, rounds)
    finally:
        service.stop()


def _kept_by_service(service: Service, tables: int, rounds: int) -> dict[str, Any]:
    def tree() -> list[psutil.Process]:
        root = psutil.Process(service.process.pid)
        return [root, *root.children(recursive=True)]

    service.execute("CREATE SCHEMA iceberg.warm")
    service.execute("CREATE TABLE iceberg.warm.t AS SELECT 1 AS a")  # Spark is up
    lake, cpu, seconds = service.lake(), list[float](), 0.0
    for number in range(rounds):
        write(lake, tables, number)
        start = time.perf_counter()
        with used(tree, cpu):
            service.execute("CALL system.maintain(catalog => 'iceberg', schema => 'db')")
            _await_idle(service)
        seconds += time.perf_counter() - start
    jobs = service.execute("SELECT state, count(*) FROM system.maintenance.jobs GROUP BY 1 ORDER BY 1")
    return {"cpu_s": round(sum(cpu), 1), "wall_s": round(seconds, 1), "jobs": dict(jobs), **health(lake, tables)}


def _await_idle(service: Service) -> None:
    """Every table with many small files has been worked on."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        time.sleep(1)
        running = "SELECT count(*) FROM system.maintenance.tables WHERE state IN ('RUN', 'RUNNING')"
        looked = "SELECT count(*) FROM system.maintenance.tables WHERE small_files >= 12"
        if service.execute(running) == [[0]] and service.execute(looked) == [[0]]:
            return
    raise TimeoutError("maintenance did not end")


def by_cron(home: Path, tables: int, rounds: int) -> dict[str, Any]:
    """Spark's figures: every table in every round."""
    lab, cpu, seconds = Lab(home), list[float](), 0.0
    engine = lab.spark()
    try:
        peer(engine, "SELECT 1")
        spark = psutil.Process().children(recursive=True)
        for number in range(rounds):
            write(lab.catalog, tables, number)
            start = time.perf_counter()
            with used(lambda: spark, cpu):
                for i in range(tables):
                    peer(engine, f"CALL lab.system.rewrite_data_files(table => 'db.t{i}')")
                    peer(engine, f"CALL lab.system.expire_snapshots(table => 'db.t{i}')")
            seconds += time.perf_counter() - start
    finally:
        engine.stop()
    return {"cpu_s": round(sum(cpu), 1), "wall_s": round(seconds, 1), **health(lab.catalog, tables)}


def main(tables: int, rounds: int) -> None:
    """Print the lines."""
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
        ours = by_service(Path(scratch) / "ours", tables, rounds)
        print(json.dumps({"bench": "lake", "who": "procession", **ours}), flush=True)
        (Path(scratch) / "theirs").mkdir()
        theirs = by_cron(Path(scratch) / "theirs", tables, rounds)
        print(json.dumps({"bench": "lake", "who": "cron", **theirs}), flush=True)
    ratio = {"ratio_cpu": round(theirs["cpu_s"] / ours["cpu_s"], 2), "same_rows": ours["rows"] == theirs["rows"]}
    print(json.dumps({"bench": "lake", "tables": tables, "rounds": rounds, **ratio}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
