"""400 files of TPC-H lineitem (6 M rows, about 205 MB zstd) into one: our CALL beside Iceberg's own, in one Spark.

``python benchmarks/rewrite.py [runs] [directory]``: the directory keeps the table between runs of the benchmark. Prints
JSON lines, the last one the summary; ratios are peer / ours. CPU seconds are those of the Spark server, its Python
workers and, for ours, this process; ``worker_rss_mb`` is the peak of one Python worker.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import parquet_files_to_data_files, schema_to_pyarrow

from coordinator.connectors.iceberg.connector import FACTORY, IcebergConnector
from coordinator.engine.procedures import run_procedure
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.settings import SparkSettings
from coordinator.planner.planned_statement import CallProcedure
from shared.properties import Property
from shared.spi.procedure import ProcedureContext, TableTarget
from shared.spi.session import Session

FILES = 400
PEER = "CALL lab.system.rewrite_data_files(table => 'lab.db.lineitem'{more})"


@dataclass(frozen=True)
class Case:
    """What is measured: ``given`` are arguments of our call, ``peer`` the same in Iceberg's."""

    name: str
    given: dict[str, Any] = field(default_factory=dict)
    peer: str = ""


BINPACK = Case("rewrite")


def make_table(home: Path) -> SqlCatalog:
    """The table ``lab.db.lineitem``, made once a directory."""
    made = (home / "done").exists()
    catalog = SqlCatalog("lab", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/wh")
    if made:
        return catalog
    tool = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([tool, "parquet", "-s", "1", "--tables", "lineitem", "--output-dir", str(home)], check=True)
    data = pq.read_table(home / "lineitem.parquet")
    texts = (pa.types.is_string, pa.types.is_string_view, pa.types.is_large_string)
    plain = [pa.field(f.name, pa.string() if any(t(f.type) for t in texts) else f.type) for f in data.schema]
    data = data.cast(pa.schema(plain))
    catalog.create_namespace("db")
    table = catalog.create_table("db.lineitem", schema=data.schema)
    data = pa.table(data.columns, schema=schema_to_pyarrow(table.schema()))
    files = [_write(home, data, number) for number in range(FILES)]
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in parquet_files_to_data_files(table.io, transaction.table_metadata, iter(files)):
            append.append_data_file(file)
    (home / "lineitem.parquet").unlink()
    (home / "done").touch()
    return catalog


def _write(home: Path, data: pa.Table, number: int) -> str:
    rows = data.num_rows // FILES
    count = data.num_rows - number * rows if number == FILES - 1 else rows
    path = home / "wh" / "raw" / f"{number:05d}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data.slice(number * rows, count), path, compression="zstd")
    return f"file://{path}"


@dataclass
class BenchExecution:
    """An Execution that nobody cancels."""

    query_id: str = "20260101_000000_00000_bench"
    session: Session = field(default_factory=lambda: Session(user="bench", query_id="20260101_000000_00000_bench"))

    def report_progress(self, progress: Any) -> None: ...

    def set_update_count(self, count: int) -> None: ...

    def check_cancelled(self) -> None: ...

    def on_cancel(self, callback: Callable[[], None]) -> None: ...


class Bench:
    """One Spark, one table that goes back to its 400 files before each run."""

    def __init__(self, home: Path, case: Case) -> None:
        self.home = home
        self.case = case
        self.catalog = make_table(home)
        self.start_location = self._location()
        values = {
            "iceberg.catalog.uri": f"sqlite:///{home}/catalog.db",
            "iceberg.catalog.warehouse": f"file://{home}/wh",
        }
        properties = {k: Property(k, v, Path("lab.properties"), 1) for k, v in values.items()}
        self.connector: IcebergConnector = FACTORY.create("lab", properties, home)
        settings = SparkSettings(work_dir=home / "spark", driver_memory="4g", warm_up=False)
        self.engine = SparkEngine(settings, FACTORY.spark_conf("lab", properties, home))

    def _location(self) -> str:
        return self.catalog.load_table("db.lineitem").metadata_location

    def reset(self) -> None:
        """Back to the 400 files; what the last run wrote goes."""
        statement = sa.text("UPDATE iceberg_tables SET metadata_location = :l WHERE table_name = 'lineitem'")
        with self.catalog.engine.begin() as connection:
            connection.execute(statement, {"l": self.start_location})
        for file in (self.home / "wh" / "db" / "lineitem" / "data").glob("*.parquet"):
            file.unlink()

    def ours(self) -> tuple[Any, ...]:
        execution: Any = BenchExecution()
        procedure = next(p for p in self.connector.procedures() if p.declaration.name == "rewrite_data_files")
        arguments = {a.name: a.default for a in procedure.declaration.arguments}
        arguments |= {"schema": "db", "table_name": "lineitem", **self.case.given}
        table = self.connector.table("db", "lineitem")
        assert table is not None
        target = TableTarget("db", "lineitem", table.snapshot_id)
        context = ProcedureContext(execution.session, "lab", self.engine.workers(execution), datetime.now(UTC))
        work = CallProcedure("lab", "rewrite_data_files", procedure.declaration.kind, arguments, target)
        return tuple(run_procedure(procedure, work, context).rows[0])

    def peer(self) -> tuple[Any, ...]:
        execution: Any = BenchExecution()
        batches = list(self.engine.run(PEER.format(more=self.case.peer), execution))
        return tuple(pa.Table.from_batches(batches).to_pylist()[0].values())

    def check(self) -> tuple[int, int]:
        """Rows and a checksum over all columns of the table as it is now."""
        paths = [t.file.file_path.removeprefix("file://").removeprefix("file:") for t in self._files()]
        result = duckdb.sql(f"SELECT count(*), sum(hash(t)::HUGEINT) FROM read_parquet({paths!r}) t").fetchall()
        return result[0][0], result[0][1]

    def _files(self) -> list[Any]:
        return list(self.catalog.load_table("db.lineitem").scan().plan_files())


def processes(bench: Bench) -> list[psutil.Process]:
    """The Spark server and everything under it."""
    connection = bench.engine.connect()
    assert connection.server is not None
    return psutil.Process().children(recursive=True)


def cpu_seconds(found: list[psutil.Process]) -> float:
    """User and system seconds, those of ended children included."""
    total = 0.0
    for process in found:
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


@contextmanager
def peak_worker_rss(bench: Bench, result: dict[str, float]) -> Iterator[None]:
    """The largest resident set of one Python worker while the block runs, in MB."""
    stop = threading.Event()

    def watch() -> None:
        peak = 0
        while not stop.wait(0.05):
            for process in processes(bench):
                with suppress(psutil.Error):
                    if process.name().startswith("python"):
                        peak = max(peak, process.memory_info().rss)
        result["worker_rss_mb"] = round(peak / 1e6)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def measure(bench: Bench, name: str, run: Callable[[], tuple[Any, ...]], *, own: bool) -> dict[str, Any]:
    bench.reset()
    memory: dict[str, float] = {}
    before, own_before = cpu_seconds(processes(bench)), time.process_time()
    start = time.perf_counter()
    row = run()
    wall = time.perf_counter() - start
    cpu = cpu_seconds(processes(bench)) - before + (time.process_time() - own_before if own else 0.0)
    line = {
        "bench": bench.case.name,
        "who": name,
        "wall_s": round(wall, 3),
        "cpu_s": round(cpu, 2),
        "row": row,
        **memory,
    }
    print(json.dumps(line), flush=True)
    return line


def main(runs: int, home: Path, case: Case = BINPACK) -> None:
    """Print JSON lines, the last one the summary."""
    home.mkdir(parents=True, exist_ok=True)
    bench = Bench(home, case)
    try:
        wanted = bench.check()
        # Warm both once; memory is watched here, since watching costs time.
        memory: dict[str, float] = {}
        bench.reset()
        bench.ours()
        bench.reset()
        with peak_worker_rss(bench, memory):
            bench.ours()
        same = bench.check() == wanted
        bench.reset()
        bench.peer()
        ours, peers = [], []
        for _ in range(runs):
            ours.append(measure(bench, "procession", bench.ours, own=True))
            peers.append(measure(bench, "iceberg", bench.peer, own=False))
        bench.reset()
        print(json.dumps({**summary(ours, peers, memory, same), "bench": case.name}), flush=True)
    finally:
        bench.engine.stop()


def summary(ours: list[Any], peers: list[Any], memory: dict[str, float], same: bool) -> dict[str, Any]:
    def ratio(key: str, of: Callable[[list[float]], float]) -> float:
        return round(of([p[key] for p in peers]) / of([o[key] for o in ours]), 2)

    return {
        "bench": "rewrite",
        "ratio_wall": ratio("wall_s", statistics.median),
        "ratio_cpu": ratio("cpu_s", statistics.median),
        "ratio_wall_min": ratio("wall_s", min),
        "wall_s": min(o["wall_s"] for o in ours),
        "cpu_s": min(o["cpu_s"] for o in ours),
        "peer_wall_s": min(p["wall_s"] for p in peers),
        "peer_cpu_s": min(p["cpu_s"] for p in peers),
        **memory,
        "rows_and_checksum_equal": same,
    }


def run_case(case: Case) -> None:
    """The command line of one case: ``[runs] [directory]``."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    if len(sys.argv) > 2:
        main(count, Path(sys.argv[2]).absolute(), case)
    else:
        with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
            main(count, Path(scratch), case)


if __name__ == "__main__":
    run_case(BINPACK)
