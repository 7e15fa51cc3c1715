"""The processes of the embedded engine: limits, cancelling, crashes, what a statement may open."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.engine.embedded.engine import EmbeddedEngine
from coordinator.engine.embedded.messages import Answered, EngineSettings, Failed, Statement
from coordinator.engine.embedded.parquet_scan import Alike, parquet_files
from coordinator.engine.embedded.store_files import StoreFiles
from coordinator.engine.embedded.worker import Databases, answered
from coordinator.engine.local import LocalEngine
from coordinator.engine.processes.nursery import Nursery
from coordinator.engine.processes.sent_rows import PulledRows
from coordinator.kernels.file_scan import FileScan
from coordinator.kernels.tasks import Input, Output, WriteTask
from shared.errors import ErrorCode, ProcessionError
from tests.engine_local.dying import killed_at_work
from tests.execution import FakeExecution
from tests.processes import command_of

pytestmark = pytest.mark.slow

FIELDS = [
    {"id": 1, "name": "k", "required": False, "type": "long"},
    {"id": 2, "name": "v", "required": False, "type": "string"},
]
SLOW = "SELECT count(*) AS n FROM range(100000000) a, range(100000000) b WHERE a.range + b.range = 3"


@pytest.fixture
def settings(tmp_path: Path) -> EngineSettings:
    return EngineSettings(str(tmp_path / "scratch"), memory_bytes=256 << 20)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.fixture
def engine(settings: EngineSettings, nursery: Nursery) -> Iterator[EmbeddedEngine]:
    made = EmbeddedEngine(settings, nursery, processes=1, patience=0.3)
    yield made
    made.close()
    assert not Path(settings.scratch).exists()


def scan_of(path: Path, table: pa.Table) -> FileScan:
    """A file with field ids, as Iceberg's writers leave them."""
    ids = [field.with_metadata({"PARQUET:field_id": str(i)}) for i, field in enumerate(table.schema, start=1)]
    pq.write_table(table.cast(pa.schema(ids)), path)
    task = WriteTask(FIELDS[: len(ids)], [Input(str(path), path.stat().st_size)], Output("", ""))
    return FileScan(task, table.schema, table.num_rows)


def direct(scan: FileScan) -> dict[Alike, list[Input]]:
    """What DuckDB reads by itself."""
    return parquet_files(scan, StoreFiles(lambda size: None))


def rows(engine: EmbeddedEngine, sql: str, execution: Any = None, **scans: FileScan) -> list[dict[str, Any]]:
    return pa.Table.from_batches(engine.run(sql, scans, execution or FakeExecution())).to_pylist()


def numbers(count: int) -> pa.Table:
    return pa.table({"k": pa.array(range(count), pa.int64()), "v": [f"v{i}" for i in range(count)]})


def test_files_are_read_by_the_database_itself_where_that_is_exact(engine: EmbeddedEngine, tmp_path: Path) -> None:
    scan = scan_of(tmp_path / "it's.parquet", numbers(1000))
    assert direct(scan) == {(("k", "v"), False): scan.task.inputs}
    assert rows(engine, "SELECT max(k) AS k, count(v) AS n FROM t", t=scan) == [{"k": 999, "n": 1000}]
    star = scan_of(tmp_path / "a*b.parquet", numbers(10))
    assert direct(star) == {}, "its name would be a pattern"
    scan_of(tmp_path / "axb.parquet", numbers(100))
    assert rows(engine, "SELECT count(k) AS n FROM t", t=star) == [{"n": 10}]


def test_texts_that_a_writer_held_as_large_ones_are_texts(engine: EmbeddedEngine, tmp_path: Path) -> None:
    """PyIceberg's do: only a note beside the same bytes."""
    for kind in (pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        table = numbers(10)
        scan = scan_of(tmp_path / "large.parquet", table.set_column(1, "v", table["v"].cast(kind)))
        assert direct(scan) == {(("k", "v"), False): scan.task.inputs}
        assert rows(engine, "SELECT max(v) AS v FROM t", t=replace(scan, schema=table.schema)) == [{"v": "v9"}]


def test_files_may_call_a_column_otherwise(engine: EmbeddedEngine, tmp_path: Path) -> None:
    """A folder may look like a partition of the very name, and says nothing of the column."""
    home = tmp_path / "v=none"
    home.mkdir()
    scans = [
        scan_of(home / f"{number}.parquet", numbers(10).rename_columns(names))
        for number, names in enumerate((["k", "v"], ["v", "k"], ["a", "b"], ["x", "X"]))
    ]
    inputs = [item for scan in scans for item in scan.task.inputs]
    scan = FileScan(replace(scans[0].task, inputs=inputs), scans[0].schema, 40)
    names = [alike.names for alike in direct(scan)]
    assert names == [("k", "v"), ("v", "k"), ("a", "b")], "DuckDB knows no case"
    assert rows(engine, "SELECT sum(k) AS k, min(v) AS low, max(v) AS high FROM t", t=scan) == [
        {"k": 180, "low": "v0", "high": "v9"}
    ]


def test_a_statement_opens_its_own_files_alone(engine: EmbeddedEngine, tmp_path: Path) -> None:
    scan = scan_of(tmp_path / "mine.parquet", numbers(10))
    scan_of(tmp_path / "foreign.parquet", numbers(10))
    for sql in (
        f"SELECT * FROM read_parquet('{tmp_path}/foreign.parquet')",
        "SELECT * FROM read_text('/etc/passwd')",
        f"COPY t TO '{tmp_path}/written.parquet'",
        f"ATTACH '{tmp_path}/made.db'",
        "SET memory_limit = '100GB'",
    ):
        with pytest.raises(ProcessionError):
            rows(engine, sql, t=scan)
    assert sorted(p.name for p in tmp_path.glob("*.*")) == ["foreign.parquet", "mine.parquet"]
    assert rows(engine, "SELECT count(*) AS n FROM t", t=scan) == [{"n": 10}]


def test_nothing_is_written_to_the_standard_output(engine: EmbeddedEngine) -> None:
    """Statements of more than two seconds showed there how far they were, and waited where nobody read that."""
    sql = "SELECT current_setting('enable_progress_bar') AS shown"
    assert rows(engine, sql) == [{"shown": False}]
    assert pa.Table.from_batches(LocalEngine().run(sql, FakeExecution())).to_pylist() == [{"shown": False}]
    forking = [p for p in psutil.Process().children() if "nursery" in command_of(p)]
    forked = [child for process in forking for child in process.children()]
    assert forked
    assert {str(Path(f"/proc/{child.pid}/fd/1").readlink()) for child in forked} == {"/dev/null"}


@pytest.mark.slow
def test_a_sort_beyond_memory_spills(engine: EmbeddedEngine, tmp_path: Path) -> None:
    texts = pa.table(
        {"k": pa.array(range(400_000), pa.int64()), "v": [f"{i * 7919 % 400_000:0900d}" for i in range(400_000)]}
    )
    scan = scan_of(tmp_path / "t.parquet", texts)
    sql = "SELECT k FROM (SELECT k, v, row_number() OVER (ORDER BY v, k) AS n FROM t) WHERE n = 400000"
    assert rows(engine, sql, t=scan) == [{"k": max(range(400_000), key=lambda i: i * 7919 % 400_000)}]


def test_cancelling_ends_the_statement_at_once_and_the_next_one_runs(engine: EmbeddedEngine) -> None:
    execution = FakeExecution()
    threading.Timer(0.5, execution.cancel).start()
    started = time.monotonic()
    with pytest.raises(ProcessionError) as raised:
        rows(engine, SLOW, execution)
    assert raised.value.code is ErrorCode.USER_CANCELED
    assert time.monotonic() - started < 30
    assert rows(engine, "SELECT 1 AS n") == [{"n": 1}]
    execution.cancel()
    assert rows(engine, "SELECT 2 AS n") == [{"n": 2}], "what is over can no longer be cancelled"


def test_a_process_that_dies_costs_one_statement(engine: EmbeddedEngine) -> None:
    assert rows(engine, "SELECT 1 AS n") == [{"n": 1}]
    forking = [p for p in psutil.Process().children() if "nursery" in command_of(p)]
    (child,) = [p for parent in forking for p in parent.children() if p.name() == "sql-embedded"]
    threading.Thread(target=killed_at_work, args=(child,)).start()
    with pytest.raises(ProcessionError) as raised:
        rows(engine, SLOW)
    assert raised.value.code is ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT
    assert rows(engine, "SELECT 3 AS n") == [{"n": 3}]


def test_who_finds_no_process_free_is_told_soon(engine: EmbeddedEngine) -> None:
    first = FakeExecution()

    def cancelled() -> None:
        with pytest.raises(ProcessionError):
            rows(engine, SLOW, first)

    thread = threading.Thread(target=cancelled)
    thread.start()
    while not engine.stats().busy:
        time.sleep(0.01)
    with pytest.raises(ProcessionError, match="All processes of the embedded engine are busy"):
        rows(engine, "SELECT 1 AS n")
    first.cancel()
    thread.join(60)
    assert rows(engine, "SELECT 1 AS n") == [{"n": 1}]


def test_a_result_beyond_the_limit_leaves_nothing(tmp_path: Path, nursery: Nursery) -> None:
    engine = EmbeddedEngine(EngineSettings(str(tmp_path / "scratch"), result_bytes=1 << 20), nursery, processes=1)
    try:
        with pytest.raises(ProcessionError, match="limit of result bytes"):
            rows(engine, "SELECT range AS n FROM range(10000000)")
        assert list((tmp_path / "scratch").iterdir()) == []
    finally:
        engine.close()


class _Unprofiled:
    """A database that does not tell what it measured."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database

    def __getattr__(self, name: str) -> object:
        return getattr(self._database, name)

    def get_profiling_information(self, format: str) -> str:
        raise duckdb.InvalidInputException("no profile")


def test_a_result_that_is_not_answered_is_gone(tmp_path: Path) -> None:
    settings, nothing = EngineSettings(str(tmp_path)), PulledRows(BytesIO(), BytesIO())
    for profiled, answer in ((False, Answered), (True, Failed)):
        database = _Unprofiled(duckdb.connect(":memory:"))
        found = answered(database, Statement("SELECT 1 AS n", {}, {}, {}, profiled), settings, nothing)
        assert isinstance(found, answer)
        if isinstance(found, Answered):
            Path(found.path).unlink()
    assert list(tmp_path.iterdir()) == []


def test_databases_are_made_ahead_and_share_nothing(tmp_path: Path) -> None:
    databases = Databases(EngineSettings(str(tmp_path)))
    places = set()
    for _ in range(5):
        database = databases.take()
        databases.refill()
        assert database.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
        assert database.execute("SELECT count(*) FROM duckdb_functions() WHERE NOT internal").fetchall() == [(0,)]
        database.execute("CREATE TABLE left_behind (n INTEGER)")
        ((place,),) = database.execute("SELECT current_setting('temp_directory')").fetchall()
        places.add(place)
        database.close()
    assert len(places) == 5, "what one removes at its end is no other's"
    assert {Path(place).parent for place in places} == {tmp_path}
