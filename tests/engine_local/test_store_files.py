"""Files of an object store that DuckDB reads by itself: the rows, what is asked for, what may be opened, what fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.engine.embedded.engine import EmbeddedEngine
from coordinator.engine.embedded.messages import EngineSettings
from coordinator.engine.embedded.parquet_scan import parquet_files
from coordinator.engine.embedded.store_files import StoreFile, StoreFiles, database_path
from coordinator.engine.processes.nursery import Nursery
from coordinator.kernels.cache import ENDS
from coordinator.kernels.file_scan import FileScan
from coordinator.kernels.tasks import DeleteFile, Input, Output, WriteTask
from shared.errors import ErrorCode, ProcessionError
from tests.execution import FakeExecution
from tests.kernels.object_store import bucket

pytestmark = pytest.mark.slow
GROUP, GROUPS = 50_000, 8
NAMES = ("k", "v", "w")
FIELDS = [{"id": i, "name": name, "required": False, "type": "long"} for i, name in enumerate(NAMES, start=1)]
SCHEMA = pa.schema([pa.field(n, pa.int64(), metadata={"PARQUET:field_id": str(i)}) for i, n in enumerate(NAMES, 1)])


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    nursery = Nursery()
    made = EmbeddedEngine(EngineSettings(str(tmp_path / "scratch"), threads=2), nursery, processes=1)
    yield made
    made.close()
    nursery.close()


def numbers(start: int, rows: int) -> pa.Table:
    """A key in order, and two columns that no codec makes smaller."""
    others = [np.random.default_rng(start + i).integers(0, 1 << 60, rows) for i in (1, 2)]
    return pa.table([np.arange(start, start + rows), *others], schema=SCHEMA)


def scan_of(server: Any, *tables: pa.Table, name: str = "lake") -> FileScan:
    """Files of a new bucket."""
    store, storage = bucket(server, name)
    inputs = []
    for number, table in enumerate(tables):
        path = f"{name}/t/it's ? {number}.parquet".replace(" ?", "") if number else f"{name}/t/0.parquet"
        with store.open_output_stream(path) as out:
            pq.write_table(table, out, row_group_size=GROUP, use_dictionary=False, compression=None)
        inputs.append(Input(f"s3://{path}", store.get_file_info(path).size))
    task = WriteTask(FIELDS, inputs, Output("", ""), storage=storage)
    return FileScan(task, pa.schema(SCHEMA.remove_metadata()), sum(t.num_rows for t in tables))


def rows(engine: EmbeddedEngine, sql: str, **scans: FileScan) -> list[dict[str, Any]]:
    return pa.Table.from_batches(engine.run(sql, scans, FakeExecution())).to_pylist()


def test_only_what_a_statement_needs_is_asked_for_and_footers_once(engine: EmbeddedEngine, s3_server: Any) -> None:
    table = numbers(0, GROUP * GROUPS)
    scan = scan_of(s3_server, table)
    column = 8 * GROUP
    asked = "SELECT v FROM t WHERE k = 123456"
    assert rows(engine, asked, t=scan) == [{"v": table["v"][123456].as_py()}]
    s3_server.bytes = s3_server.count = s3_server.most_at_once = 0
    assert rows(engine, asked, t=scan) == [{"v": table["v"][123456].as_py()}]
    assert 2 * column <= s3_server.bytes < 3.2 * column, "two columns of one row group, and no footer"
    s3_server.bytes = s3_server.count = s3_server.most_at_once = 0
    assert rows(engine, "SELECT sum(w) AS w FROM t", t=scan) == [{"w": sum(table["w"].to_pylist())}]
    assert s3_server.bytes < 1.1 * GROUPS * column
    assert s3_server.most_at_once >= 4, "row groups are asked for side by side"


def test_files_that_are_small_are_asked_for_once(engine: EmbeddedEngine, s3_server: Any) -> None:
    scan = scan_of(s3_server, numbers(0, 1000), numbers(1000, 1000))
    assert rows(engine, "SELECT count(v) AS n, max(k) AS k FROM t", t=scan) == [{"n": 2000, "k": 1999}]
    assert s3_server.count == 2
    assert rows(engine, "SELECT sum(k) AS k FROM t", t=scan) == [{"k": 1999 * 1000}]
    assert s3_server.count == 2


def test_a_size_that_a_manifest_tells_wrongly(engine: EmbeddedEngine, s3_server: Any) -> None:
    """Just as much as is kept of the file's end: from the second statement on that was taken for the whole file."""
    scan = scan_of(s3_server, numbers(0, GROUP * GROUPS))
    (item,) = scan.task.inputs
    kept = 32 << 10
    assert item.size > kept
    wrong = replace(scan, task=replace(scan.task, inputs=[replace(item, size=kept)]))
    for _ in range(3):
        assert rows(engine, "SELECT sum(k) AS k FROM t", t=wrong) == [{"k": sum(range(GROUP * GROUPS))}]


def test_deleted_rows_stay_away(engine: EmbeddedEngine, s3_server: Any) -> None:
    scan = scan_of(s3_server, numbers(0, GROUP * 2))
    (item,) = scan.task.inputs
    store, _ = bucket(s3_server, "deletes")
    deleted = pa.table({"file_path": [item.path] * 2, "pos": pa.array([3, GROUP + 7], pa.int64())})
    ids = {"file_path": "2147483546", "pos": "2147483545"}
    kinds = [f.with_metadata({"PARQUET:field_id": ids[f.name]}).with_nullable(False) for f in deleted.schema]
    with store.open_output_stream("deletes/d.parquet") as out:
        pq.write_table(deleted.cast(pa.schema(kinds)), out)
    size = store.get_file_info("deletes/d.parquet").size
    task = replace(
        scan.task,
        inputs=[replace(item, positions=[0])],
        position_deletes=[DeleteFile("s3://deletes/d.parquet", size)],
    )
    sql = f"SELECT count(*) AS n, count(*) FILTER (WHERE k IN (3, {GROUP + 7})) AS gone FROM t"
    assert rows(engine, sql, t=replace(scan, task=task)) == [{"n": GROUP * 2 - 2, "gone": 0}]


def test_deleted_keys_are_looked_for_once(engine: EmbeddedEngine, s3_server: Any) -> None:
    """In the compared column of the row groups that may hold them; then neither is asked for again."""
    scan = scan_of(s3_server, numbers(0, GROUP * GROUPS))
    (item,) = scan.task.inputs
    store, _ = bucket(s3_server, "deletes")
    gone = pa.table({"k": pa.array([7, GROUP + 7], pa.int64())}, schema=pa.schema([SCHEMA.field("k")]))
    with store.open_output_stream("deletes/e.parquet") as out:
        pq.write_table(gone, out)
    size = store.get_file_info("deletes/e.parquet").size
    deletes = [DeleteFile("s3://deletes/e.parquet", size, fields=FIELDS[:1], keys=2)]
    task = replace(scan.task, inputs=[replace(item, equality=[0])], equality_deletes=deletes)
    column = 8 * GROUP
    read = []
    for _ in range(2):
        s3_server.bytes = 0
        found = rows(engine, "SELECT count(*) AS n, sum(v) > 0 AS some FROM t", t=replace(scan, task=task))
        assert found == [{"n": GROUP * GROUPS - 2, "some": True}]
        read.append(s3_server.bytes)
    assert read[1] < 1.1 * GROUPS * column
    assert read[0] < read[1] + 3.5 * column, "two row groups of the key"


def test_parts_of_a_nested_column_are_asked_for_alone(engine: EmbeddedEngine, s3_server: Any) -> None:
    flat = numbers(0, GROUP * GROUPS)
    store, storage = bucket(s3_server, "nested")
    parts = [SCHEMA.field(name) for name in ("v", "w")]
    type_ = pa.struct(parts)
    pair = pa.StructArray.from_arrays([flat["v"].combine_chunks(), flat["w"].combine_chunks()], fields=parts)
    field = pa.field("r", type_, metadata={"PARQUET:field_id": "9"})
    table = pa.table([flat["k"], pair], schema=pa.schema([SCHEMA.field("k"), field]))
    with store.open_output_stream("nested/r.parquet") as out:
        pq.write_table(table, out, row_group_size=GROUP, use_dictionary=False, compression=None)
    column = {"id": 9, "name": "r", "required": False, "type": {"type": "struct", "fields": FIELDS[1:]}}
    task = WriteTask([column], [Input("s3://nested/r.parquet", store.get_file_info("nested/r.parquet").size)],
                     Output("", ""), storage=storage)  # fmt: skip
    plain = pa.struct([(part.name, part.type) for part in parts])
    scan = FileScan(task, pa.schema([("r", plain)]), table.num_rows)
    assert rows(engine, "SELECT count(r.v) AS n FROM t", t=scan) == [{"n": table.num_rows}]
    s3_server.bytes = 0
    assert rows(engine, "SELECT sum(r.w) AS w FROM t", t=scan) == [{"w": sum(flat["w"].to_pylist())}]
    assert s3_server.bytes < 1.1 * GROUPS * 8 * GROUP


def test_a_statement_opens_its_own_files_alone(engine: EmbeddedEngine, s3_server: Any) -> None:
    scan = scan_of(s3_server, numbers(0, 10), numbers(10, 10))
    mine, other = scan.task.inputs
    alone = replace(scan, task=replace(scan.task, inputs=[mine]))
    assert rows(engine, f"SELECT count(*) AS n FROM read_parquet('{database_path(mine.path)}'), t", t=alone)
    for path in (database_path(other.path.replace("'", "''")), other.path.replace("'", "''"), database_path("*")):
        with pytest.raises(ProcessionError) as failed:
            rows(engine, f"SELECT * FROM t, read_parquet('{path}')", t=alone)
        assert "store://" not in failed.value.message
    with pytest.raises(ProcessionError):
        rows(engine, f"COPY t TO '{database_path(mine.path)}'", t=alone)
    assert rows(engine, "SELECT count(k) AS n FROM t", t=alone) == [{"n": 10}]


def test_what_fails_names_the_file(engine: EmbeddedEngine, s3_server: Any) -> None:
    scan = scan_of(s3_server, numbers(0, GROUP * GROUPS))
    (item,) = scan.task.inputs
    gone = replace(item, path=f"{item.path}.gone")
    with pytest.raises(ProcessionError) as failed:
        rows(engine, "SELECT max(k) FROM t", t=replace(scan, task=replace(scan.task, inputs=[gone])))
    assert (failed.value.code, gone.path in failed.value.message) == (ErrorCode.ICEBERG_MISSING_DATA, True)
    assert rows(engine, "SELECT max(k) AS k FROM t", t=scan) == [{"k": GROUP * GROUPS - 1}]
    store, _ = bucket(s3_server, "lake")
    store.delete_file(item.path.removeprefix("s3://"))
    with pytest.raises(ProcessionError) as failed:  # its footer is known, and the columns are gone
        rows(engine, "SELECT sum(v) FROM t", t=scan)
    assert (failed.value.code, item.path in failed.value.message) == (ErrorCode.ICEBERG_MISSING_DATA, True)


def test_what_is_no_parquet_file_is_said_to_be_none(engine: EmbeddedEngine, s3_server: Any) -> None:
    scan = scan_of(s3_server, numbers(0, 10))
    store, _ = bucket(s3_server, "lake")
    for number, data in enumerate((b"", b"PAR1", b"x" * 100, b"PAR1" + b"\xff" * 100 + b"\xff\xff\xff\x7fPAR1")):
        path = f"lake/t/bad{number}.parquet"
        with store.open_output_stream(path) as out:
            out.write(data)
        bad = replace(scan, task=replace(scan.task, inputs=[Input(f"s3://{path}", len(data))]))
        with pytest.raises(ProcessionError) as failed:
            rows(engine, "SELECT max(k) FROM t", t=bad)
        assert (failed.value.code, path in failed.value.message) == (ErrorCode.ICEBERG_BAD_DATA, True)


def test_threads_that_share_a_handle_have_places_of_their_own(s3_server: Any) -> None:
    """DuckDB moves and reads in two steps, on any number of threads at once."""
    scan = scan_of(s3_server, numbers(0, GROUP * 2))
    (item,) = scan.task.inputs
    ENDS.clear()
    counted: list[int] = []
    store = StoreFiles(counted.append)
    store.add([item], scan.task.storage)
    filesystem, _ = bucket(s3_server, "lake")
    with filesystem.open_input_file(item.path.removeprefix("s3://")) as file:
        whole = file.read()
    handle, wrong, ready = store.open(database_path(item.path)), [], threading.Barrier(6)

    def read(place: int) -> None:
        handle.seek(place)
        ready.wait()
        if handle.read(100_000) != whole[place : place + 100_000]:
            wrong.append(place)

    threads = [threading.Thread(target=read, args=(place * 150_000,)) for place in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (wrong, sum(counted)) == ([], 600_000)
    assert handle.seek(-4, 2) == len(whole) - 4
    assert handle.read() == b"PAR1"


def test_a_large_range_is_asked_for_in_parts_side_by_side(s3_server: Any) -> None:
    filesystem, _ = bucket(s3_server, "lake")
    data = np.random.default_rng(5).bytes(30 << 20)
    with filesystem.open_output_stream("lake/large") as out:
        out.write(data)
    counted: list[int] = []
    store = StoreFiles(counted.append)
    name = database_path("s3://lake/large")
    store.files[name] = StoreFile("s3://lake/large", len(data), data[-10:], filesystem.open_input_file("lake/large"))
    s3_server.count = s3_server.most_at_once = 0
    handle = store.open(name)
    handle.seek(100)
    assert handle.read(len(data)) == data[100:], "up to its end, whatever is asked for"
    assert (s3_server.count, s3_server.most_at_once, counted) == (4, 4, [len(data) - 100])
    assert handle.read(10) == b""
    store.end_requests()


def test_row_groups_that_would_fill_the_databases_memory_come_through_the_kernels(s3_server: Any) -> None:
    scan = scan_of(s3_server, numbers(0, GROUP * 2))
    for most, direct in ((3 * 8 * GROUP * 2, True), (3 * 8 * GROUP // 2, False)):
        store = StoreFiles(lambda size: None, most)
        assert bool(parquet_files(scan, store)) == direct
    one = replace(
        scan, task=replace(scan.task, fields=FIELDS[:1]), schema=pa.schema([SCHEMA.remove_metadata().field(0)])
    )
    assert parquet_files(one, store), "one column of three"
