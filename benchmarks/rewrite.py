"""400 files of TPC-H lineitem (6 M rows, about 205 MB zstd) into one: our CALL beside Iceberg's own, in one Spark.

``python -m benchmarks.rewrite [runs] [directory] [--only ours] [--peers PYTHON]``: the directory keeps the table
between runs of the benchmark; ``PYTHON`` is an interpreter of a virtual environment with ``benchmarks.compactors``'
peers. Prints JSON lines, the last one the summary; ratios are peer / ours. CPU seconds are those of the Spark server,
its Python workers and, for ours, this process; ``worker_rss_mb`` is the peak of one Python worker, ``workers_mb``
of all of them and the daemon that they are forks of, memory that they share counted once (proportional set size).
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow as pa

from benchmarks import compactors
from benchmarks.lineitem import DELETED, Start, make_table
from coordinator.connectors.iceberg.connector import FACTORY, IcebergConnector
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.engine.execution import SentRows
from coordinator.engine.procedures import run_procedure
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.settings import SparkSettings
from coordinator.explain.operators import Operator
from coordinator.vocabulary.planned_statement import CallProcedure
from shared.properties import Property
from shared.spi.procedure import ProcedureContext, TableTarget
from shared.spi.session import Session

WARM = ", where => 'l_orderkey < 500000'"
"""A twelfth of the table is enough to load and compile what Iceberg's procedure runs."""
PEER = "CALL lab.system.rewrite_data_files(table => 'lab.db.lineitem'{more})"


@dataclass(frozen=True)
class Case:
    """What is measured: ``given`` are arguments of our call, ``peer`` the same in Iceberg's.

    ``setup`` is said to Spark once a folder; with ``deletes``, it takes a tenth of the rows away.
    """

    name: str
    given: dict[str, Any] = field(default_factory=dict)
    peer: str = ""
    setup: tuple[str, ...] = ()
    deletes: bool = False
    warm: str = WARM


BINPACK = Case("rewrite")


@dataclass
class BenchExecution:
    """An Execution that nobody cancels."""

    query_id: str = "20260101_000000_00000_bench"
    session: Session = field(default_factory=lambda: Session(user="bench", query_id="20260101_000000_00000_bench"))

    def report_progress(self, progress: Any) -> None: ...

    def set_update_count(self, count: int) -> None: ...

    @property
    def sent_rows(self) -> SentRows | None:
        return None

    def committed(self, snapshot_id: int) -> None: ...

    def ran_on(self, engine: str, why: str) -> None: ...

    def ran_on_spark(self, operations: Sequence[str], jobs: Sequence[int]) -> None: ...

    def report_operators(self, operators: Sequence[Operator]) -> None: ...

    def check_cancelled(self) -> None: ...

    def kill(self, message: str) -> None: ...

    def on_cancel(self, callback: Callable[[], None]) -> None: ...


class Bench:
    """One Spark, one table that goes back to its 400 files before each run."""

    def __init__(self, home: Path, case: Case) -> None:
        self.home = home
        self.case = case
        self.catalog = make_table(home)
        self.start = Start(home, case.name)
        values = {
            "iceberg.catalog.uri": f"sqlite:///{home}/catalog.db",
            "iceberg.catalog.warehouse": f"file://{home}/wh",
        }
        properties = {k: Property(k, v, Path("lab.properties"), 1) for k, v in values.items()}
        self.connector: IcebergConnector = FACTORY.create("lab", properties, home)
        settings = SparkSettings(work_dir=home / "spark", driver_memory="4g", warm_up=False)
        self.engine = SparkEngine(settings, FACTORY.spark_conf("lab", properties, home))

        self._prepare()

    def _prepare(self) -> None:
        table = Start(self.home, "table")
        if not table.is_kept:
            table.keep()
        if not self.start.is_kept:
            table.reset()
            for statement in self.case.setup:
                list(self.engine.run(statement, BenchExecution()))
            self.start.keep()
        self.reset()

    def reset(self) -> None:
        """Back to the 400 files; what the last run wrote goes."""
        self.start.reset()

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

    def peer(self, more: str = "") -> tuple[Any, ...]:
        execution: Any = BenchExecution()
        batches = list(self.engine.run(PEER.format(more=self.case.peer + more), execution))
        return tuple(pa.Table.from_batches(batches).to_pylist()[0].values())

    def is_right(self) -> bool:
        """Whether the table has as many rows as it should, with the same checksum over all columns."""
        where = f"WHERE NOT ({DELETED})" if self.case.deletes else ""
        raw = f"read_parquet('{self.home}/wh/raw/*.parquet')"
        columns = ", ".join(name for name, *_ in duckdb.sql(f"SELECT * FROM {raw} LIMIT 0").description)
        table = self.catalog.load_table("db.lineitem")
        live = read_live(table, table.current_snapshot())
        paths = [f.path.removeprefix("file://").removeprefix("file:") for f in live.data]
        total = "SELECT count(*), sum(hash(t)::HUGEINT) FROM (SELECT {} FROM {} {}) t"
        found = duckdb.sql(total.format(columns, f"read_parquet({paths!r})", "")).fetchall()
        return not live.deletes and found == duckdb.sql(total.format(columns, raw, where)).fetchall()


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
    """The largest resident set of one Python worker, and the largest sum of what all of them hold, in MB."""
    stop = threading.Event()

    def watch() -> None:
        peak = peak_sum = 0
        while not stop.wait(0.05):
            sizes, shares = [0], [0]
            for process in processes(bench):
                with suppress(psutil.Error):
                    if process.name().startswith("python"):
                        found = process.memory_full_info()
                        sizes.append(found.rss)
                        shares.append(found.pss)
            peak, peak_sum = max(peak, *sizes), max(peak_sum, sum(shares))
        result["worker_rss_mb"], result["workers_mb"] = round(peak / 1e6), round(peak_sum / 1e6)

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


def main(how: How, case: Case = BINPACK) -> None:
    """Print JSON lines, the last one the summary."""
    how.home.mkdir(parents=True, exist_ok=True)
    bench = Bench(how.home, case)
    try:
        # Warm both once; memory is watched here, since watching costs time.
        memory: dict[str, float] = {}
        with peak_worker_rss(bench, memory):
            bench.ours()
        same = bench.is_right()
        if not how.only_ours:
            bench.reset()
            bench.peer(case.warm)
        ours, peers, others = [], [], []
        for _ in range(how.runs):
            ours.append(measure(bench, "procession", bench.ours, own=True))
            if not how.only_ours:
                peers.append(measure(bench, "iceberg", bench.peer, own=False))
            if how.peers is not None:
                others += compactors.measured(bench.catalog, bench.reset, how.peers, case.name)
        bench.reset()
        print(json.dumps({**summary(ours, peers or ours, memory, same), "bench": case.name}), flush=True)
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


@dataclass(frozen=True)
class How:
    """The command line; ``peers`` is an interpreter that has the packages of ``benchmarks.compactors``."""

    runs: int
    home: Path
    only_ours: bool
    peers: str | None


def run_case(case: Case, prepare: Callable[[Path], object] | None = None) -> None:
    """The command line of one case; ``prepare`` makes its table in the folder instead of lineitem."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="?", type=int, default=3)
    parser.add_argument("directory", nargs="?")
    parser.add_argument("--only", choices=["ours"])
    parser.add_argument("--peers", metavar="PYTHON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
        home = Path(given.directory or scratch).absolute()
        home.mkdir(parents=True, exist_ok=True)
        if prepare is not None:
            prepare(home)
        main(How(given.runs, home, given.only == "ours", given.peers), case)


if __name__ == "__main__":
    run_case(BINPACK)
