"""Changes of few rows where the table asks for copies of files, as Iceberg does by default: what a snapshot has then.

Rows are read by PyIceberg, or by DuckDB off the files that are left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.table.snapshots import Operation
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType

from coordinator.connectors.iceberg.manifests.live_files import LiveFiles, read_live
from coordinator.connectors.iceberg.tables import copied_files, files_to_copy
from coordinator.kernels.errors import KernelError
from coordinator.kernels.tasks import Fragment, WriteTask
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import WriteKind
from tests.iceberg.test_little_changes import AskedOfSparkError, change
from tests.iceberg.test_own_changes import BEFORE, first_file, ids
from tests.iceberg.test_own_rows import files, open_writes, until
from tests.iceberg.test_rewrite import numbers


def make(lake: Any, version: int = 2, **properties: str) -> Any:
    given = {"format-version": str(version), **properties}
    return lake.create("t", [numbers(0), numbers(100)], properties=given)


def live(lake: Any) -> LiveFiles:
    table = lake.connector.tables_of.open("db", "t")
    return read_live(table, table.current_snapshot())


def summary(lake: Any) -> tuple[Operation, dict[str, str]]:
    found = lake.table("t").current_snapshot().summary
    return found.operation, found.additional_properties


def deleted(lake: Any, *wanted: int) -> list[pa.RecordBatch]:
    """The places of rows by their ids, as the files have them."""
    paths = [file.path for file in live(lake).data]
    read = f"read_parquet({paths}, filename = true, file_row_number = true)"
    listed = ", ".join(map(str, wanted)) or "NULL"
    found = duckdb.sql(f"SELECT filename, file_row_number FROM {read} WHERE id IN ({listed}) ORDER BY id")
    return list(found.to_arrow_table().combine_chunks().to_batches())


def updated(lake: Any, *wanted: int) -> list[pa.RecordBatch]:
    """Rows whose ids become greater by a thousand."""
    (place,) = deleted(lake, *wanted)
    rows = [{"id": 1000 + n, "name": f"row {n}", "x": n / 3} for n in wanted]
    new = pa.Table.from_pylist(rows, schema=numbers(0).schema)
    columns = [*place.columns, *(new.column(name).combine_chunks() for name in new.column_names)]
    return [pa.record_batch(columns, names=["f", "p", *new.column_names])]


def by_position(lake: Any, path: str, *positions: int) -> list[pa.RecordBatch]:
    return [pa.record_batch({"file": [path] * len(positions), "pos": pa.array(positions, pa.int64())})]


def whole(path: str, count: int = 50) -> list[pa.RecordBatch]:
    return [pa.record_batch({"file": [path] * count, "pos": pa.array(range(count), pa.int64())})]


@pytest.mark.parametrize("properties", [{}, {"write.delete.mode": "copy-on-write"}])
@pytest.mark.parametrize("version", [1, 2])
def test_files_are_copied_without_the_rows(lake: Any, version: int, properties: dict[str, str]) -> None:
    make(lake, version, **properties)
    untouched = {file.path for file in live(lake).data} - {first_file(lake)}
    assert change(lake, "DELETE", deleted(lake, 3, 1)) == 2
    assert change(lake, "UPDATE", updated(lake, 5, 9)) == 2
    assert ids(lake) == sorted({*BEFORE, 1005, 1009} - {1, 3, 5, 9})
    operation, counts = summary(lake)
    assert (operation, counts["total-delete-files"], counts["total-records"]) == (Operation.OVERWRITE, "0", "98")
    assert (counts["added-records"], counts["deleted-records"], counts["added-data-files"]) == ("48", "48", "1")
    assert (files(lake), open_writes(lake)) == (4, 0), "two that are left, and the two of earlier snapshots"
    assert untouched < {file.path for file in live(lake).data}
    assert not lake.orphans("t")


def test_a_file_without_rows_goes_and_none_comes(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    make(lake)
    monkeypatch.setattr(copied_files, "copy", lambda *_: pytest.fail("no row is left to be copied"))
    assert change(lake, "DELETE", whole(first_file(lake))) == 50
    operation, counts = summary(lake)
    assert (operation, counts["deleted-data-files"], counts["total-data-files"]) == (Operation.DELETE, "1", "1")
    assert ids(lake) == list(range(100, 150))
    assert files(lake) == 2


def test_no_row_no_snapshot(lake: Any) -> None:
    make(lake)
    for kind in ("DELETE", "UPDATE"):
        assert change(lake, kind, deleted(lake)) == 0
    assert len(lake.table("t").snapshots()) == 2


def test_a_merge_that_only_adds_appends(lake: Any) -> None:
    make(lake)
    new = numbers(500, 2)
    columns = [pa.nulls(2, pa.string()), pa.nulls(2, pa.int64()), pa.array([1, 1], pa.int32())]
    rows = pa.record_batch(
        [*columns, *(new.column(n).combine_chunks() for n in new.column_names)], names=list("fpoabc")
    )
    assert change(lake, "MERGE", [rows]) == 2
    assert ids(lake) == [*BEFORE, 500, 501]
    assert summary(lake)[0] == Operation.APPEND


def test_deletes_of_the_table_stay_applied(lake: Any, foreign: Any) -> None:
    """Position deletes of one file and of two, and equality deletes: rows do not come back, and what names nothing but
    a file that went goes with it."""
    table = make(lake)
    first = first_file(lake)
    (second,) = [file.path for file in live(lake).data if file.path != first]
    foreign.delete_positions(table, {first: [7]})
    foreign.delete_positions(table, {first: [8], second: [8]})
    foreign.delete_equal(table, pa.table({"id": pa.array([9, 109], pa.int64())}))
    assert change(lake, "DELETE", deleted(lake, 1)) == 1
    left = sorted({*BEFORE} - {1, 7, 8, 9, 108, 109})
    assert ids_by_duckdb(lake) == left
    assert len(live(lake).deletes) == 2
    assert change(lake, "UPDATE", updated(lake, 0)) == 1
    assert ids_by_duckdb(lake) == sorted({*left, 1000} - {0})


def ids_by_duckdb(lake: Any) -> list[int]:
    """Of the files alone, position deletes and equality deletes applied by SQL."""
    found = live(lake)
    with duckdb.connect() as database:
        database.execute("CREATE TABLE gone (path varchar, pos bigint); CREATE TABLE equal (id bigint, number bigint)")
        for delete in found.deletes:
            if delete.is_position_delete:
                database.execute(f"INSERT INTO gone SELECT file_path, pos FROM '{delete.path}'")
            else:
                database.execute(f"INSERT INTO equal SELECT id, {delete.sequence_number} FROM '{delete.path}'")
        rows = []
        for data in found.data:
            rows += database.execute(
                f"SELECT id FROM read_parquet('{data.path}', file_row_number = true) d WHERE NOT EXISTS (FROM gone "
                f"WHERE path = '{data.path}' AND pos = file_row_number) AND NOT EXISTS (FROM equal e WHERE e.id = d.id "
                f"AND number > {data.sequence_number})"
            ).fetchall()
    return sorted(row[0] for row in rows)


def test_vectors_go_with_their_files(lake: Any) -> None:
    make(lake, **{"write.delete.mode": "merge-on-read"})
    lake.call("upgrade_format_version", schema="db", table_name="t", format_version=3)
    assert change(lake, "DELETE", deleted(lake, 2, 3, 104)) == 3
    assert len(live(lake).deletes) == 2
    with lake.connector.tables_of.open("db", "t").transaction() as transaction:
        transaction.remove_properties("write.delete.mode")
    first = first_file(lake)
    assert change(lake, "DELETE", deleted(lake, 5)) == 1
    assert summary(lake)[1]["total-delete-files"] == "1"
    (vector,) = live(lake).deletes
    (copied,) = [file.path for file in live(lake).data if file.key != vector.only_data_file]
    assert copied != first
    assert duckdb.sql(f"FROM '{copied}' SELECT list(id ORDER BY id)").fetchall() == [([*{*range(50)} - {2, 3, 5}],)]


def test_other_specs_and_schemas(lake: Any) -> None:
    """A copy has the columns of today, and lies in the partition of its file under the spec that this had."""
    table = lake.other.create_table("db.t", schema=numbers(0).schema, properties={"format-version": "2"})
    with table.update_spec() as spec:
        spec.add_identity("name")
    table.append(pa.concat_tables([numbers(0, 1)] * 3))
    with table.update_spec() as spec:
        spec.remove_field("name")
    table.append(numbers(100))
    with table.update_schema() as schema:
        schema.add_column("more", LongType())
        schema.rename_column("x", "y")
    first = first_file(lake)
    assert change(lake, "DELETE", by_position(lake, first, 1)) == 1
    (copied,) = [file for file in live(lake).data if file.file.record_count == 2]
    read = f"read_parquet('{copied.path}', hive_partitioning = false)"
    assert (copied.partition, "/name=row" in copied.path) == ((1, ("row 0",)), True)
    assert duckdb.sql(f"SELECT * FROM {read}").fetchall() == [(0, "row 0", 0.0, None)] * 2
    assert duckdb.sql(f"SELECT * FROM {read}").columns == ["id", "name", "y", "more"]
    assert lake.rows("t")[:2] == [(0, "row 0", 0.0, None)] * 2


def test_new_rows_join_the_copy_of_their_partition(lake: Any) -> None:
    """Up to the size that the table wants, and where there is one."""
    table = lake.other.create_table("db.t", schema=numbers(0).schema, properties={"format-version": "2"})
    with table.update_spec() as spec:
        spec.add_identity("name")
    table.append(pa.concat_tables([numbers(0, 1)] * 3))
    batch = by_position(lake, first_file(lake), 0, 1)[0]
    new = pa.Table.from_pylist(
        [{"id": 7, "name": "row 0", "x": 0.5}, {"id": 8, "name": "other", "x": 0.5}], schema=numbers(0).schema
    )
    columns = [*batch.columns, *(new.column(name).combine_chunks() for name in new.column_names)]
    assert change(lake, "UPDATE", [pa.record_batch(columns, names=["f", "p", *new.column_names])]) == 2
    found = {file.partition[1]: file.file.record_count for file in live(lake).data}
    assert found == {("row 0",): 2, ("other",): 1}
    assert lake.rows("t") == [(0, "row 0", 0.0), (7, "row 0", 0.5), (8, "other", 0.5)]
    assert not lake.orphans("t")


def test_files_are_no_larger_than_asked_for(lake: Any) -> None:
    names = [sha256(b"%d" % n).hexdigest() for n in range(3000)]
    rows = pa.table({"id": range(3000), "name": names, "x": [0.1] * 3000}).cast(numbers(0).schema)
    table = lake.create("t", [rows])
    (one,) = live(lake).data
    with table.transaction() as transaction:
        transaction.set_properties({"write.target-file-size-bytes": str(1 << 16)})
    place = by_position(lake, one.path, *range(1, 2999))[0]
    columns = [*place.columns, *(rows.column(n).combine_chunks().slice(1, 2998) for n in rows.column_names)]
    assert change(lake, "UPDATE", [pa.record_batch(columns, names=["f", "p", *rows.column_names])]) == 2998
    found = sorted(file.size for file in live(lake).data)
    assert 1 < len(found) <= -(-one.size // found[0]), "the copy took some of the files of new rows"
    assert found[-1] < 1 << 16 < one.size
    assert lake.rows("t") == duckdb.sql("FROM rows ORDER BY ALL").fetchall()


def test_an_order_stays_where_rows_only_go(lake: Any) -> None:
    make(lake)
    with lake.table("t").update_sort_order() as order:
        order.asc("id", IdentityTransform())
    lake.table("t").append(numbers(300))
    assert change(lake, "DELETE", deleted(lake, 5)) == 1
    with pytest.raises(AskedOfSparkError):
        change(lake, "UPDATE", updated(lake, 6))


LIMITS = {
    "files": ("_MOST_FILES", 0),
    "bytes": ("_MOST_BYTES", 1000),
    "rows": ("_MOST_ROWS", 49),
    "keys": ("_MOST_KEYS", 0),
    "deletes": ("_MOST_DELETES", 0),
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("kind", ["DELETE", "UPDATE"])
def test_beyond_the_limits_it_is_spark_s_and_nothing_is_left(
    lake: Any, foreign: Any, monkeypatch: pytest.MonkeyPatch, limit: str, kind: WriteKind
) -> None:
    foreign.delete_equal(make(lake), pa.table({"id": pa.array([9], pa.int64())}))
    before, rows = lake.files("t"), ids_by_duckdb(lake)
    monkeypatch.setattr(files_to_copy, *LIMITS[limit])
    with pytest.raises(AskedOfSparkError):
        change(lake, kind, updated(lake, 5) if kind == "UPDATE" else deleted(lake, 5))
    until(lambda: lake.files("t") == before)
    assert ids_by_duckdb(lake) == rows


@pytest.mark.parametrize(
    "properties",
    [
        {"write.format.default": "orc"},
        {"write.parquet.compression-codec": "lzo"},
        {"write.parquet.bloom-filter-enabled.column.id": "true"},
        {"encryption.key-id": "k"},
        {"write.delete.mode": "copies"},
    ],
)
def test_tables_that_ask_for_what_only_spark_writes(lake: Any, properties: dict[str, str]) -> None:
    table = make(lake)
    with table.transaction() as transaction:
        transaction.set_properties(properties)
    with pytest.raises(AskedOfSparkError):
        change(lake, "DELETE", deleted(lake, 5))
    assert ids(lake) == BEFORE


def test_delete_files_of_other_formats_are_spark_s(lake: Any, foreign: Any) -> None:
    table = make(lake)
    foreign.delete_equal(table, pa.table({"id": pa.array([9], pa.int64())}))
    (delete,) = live(lake).deletes
    before = lake.files("t")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(delete), "is_parquet", property(lambda file: file.is_data))
        with pytest.raises(AskedOfSparkError):
            change(lake, "DELETE", deleted(lake, 5))
    until(lambda: lake.files("t") == before)


def refused(lake: Any, said: str, kind: WriteKind, batches: list[pa.RecordBatch], meanwhile: Callable[[], Any]) -> None:
    """With that text; afterwards there is no file that was not there, but for what others wrote."""
    with pytest.raises(ProcessionError, match=said) as failed:
        change(lake, kind, after(batches, meanwhile))
    assert (failed.value.code, failed.value.retriable) == (ErrorCode.TRANSACTION_CONFLICT, True)
    until(lambda: not [f for f in lake.orphans("t") if f.endswith(".parquet")])


def after(batches: Sequence[pa.RecordBatch], meanwhile: Callable[[], Any]) -> Any:
    yield from batches
    meanwhile()


def test_appends_are_conflicts_unless_the_table_says_otherwise(lake: Any) -> None:
    make(lake)
    refused(lake, "Found conflicting files", "UPDATE", updated(lake, 5), lambda: lake.table("t").append(numbers(200)))
    with lake.table("t").transaction() as transaction:
        transaction.set_properties({"write.update.isolation-level": "snapshot"})
    assert change(lake, "UPDATE", after(updated(lake, 5), lambda: lake.table("t").append(numbers(300)))) == 1
    assert ids(lake) == sorted({*BEFORE, *range(200, 250), *range(300, 350), 1005} - {5})


@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_deletes_of_the_same_file_are_conflicts_and_of_others_none(lake: Any, foreign: Any, isolation: str) -> None:
    make(lake, **{"write.delete.isolation-level": isolation})
    first = first_file(lake)
    (other,) = [file.path for file in live(lake).data if file.path != first]
    refused(
        lake,
        "found new delete for data file",
        "DELETE",
        deleted(lake, 6),
        lambda: foreign.delete_positions(lake.table("t"), {first: [7]}),
    )
    refused(
        lake,
        "found new delete for data file",
        "DELETE",
        deleted(lake, 6),
        lambda: foreign.delete_equal(lake.table("t"), pa.table({"id": pa.array([9], pa.int64())})),
    )
    meanwhile = lambda: foreign.delete_positions(lake.table("t"), {other: [0]})  # noqa: E731
    assert change(lake, "DELETE", after(deleted(lake, 6), meanwhile)) == 1
    assert ids_by_duckdb(lake) == sorted({*BEFORE} - {6, 7, 9, 100})


def test_files_that_others_copied_or_compacted_are_conflicts(lake: Any) -> None:
    make(lake)
    said = "Missing required files to delete"
    refused(lake, said, "DELETE", deleted(lake, 6), lambda: change(lake, "DELETE", deleted(lake, 7)))
    refused(lake, said, "UPDATE", updated(lake, 6), lambda: lake.rewrite("t", {"rewrite-all": "true"}))
    assert ids(lake) == sorted({*BEFORE} - {7})


def test_a_file_that_was_dropped_meanwhile_is_a_conflict(lake: Any) -> None:
    make(lake)
    gone = lambda: lake.table("t").delete("id < 50")  # noqa: E731
    refused(lake, "Missing required files to delete", "DELETE", deleted(lake, 6), gone)
    assert ids(lake) == list(range(100, 150))


def two(lake: Any) -> list[pa.RecordBatch]:
    """A row of each file."""
    return [batch for file in live(lake).data for batch in by_position(lake, file.path, 0)]


def failing_second(error: Exception) -> Callable[[WriteTask, Callable[[], None]], Fragment]:
    done: list[WriteTask] = []
    real = copied_files.copy

    def copy(task: WriteTask, check: Callable[[], None]) -> Fragment:
        done.append(task)
        if len(done) == 2:
            raise error
        return real(task, check)

    return copy


@pytest.mark.parametrize(
    "error", [KernelError("ICEBERG_CANNOT_OPEN_SPLIT", "503"), KernelError("ICEBERG_BAD_DATA", "x"), MemoryError("x")]
)
def test_what_fails_in_the_middle_is_left_to_spark_and_leaves_no_file(
    lake: Any, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    make(lake)
    before = lake.files("t")
    monkeypatch.setattr(copied_files, "copy", failing_second(error))
    with pytest.raises(AskedOfSparkError):
        change(lake, "DELETE", two(lake))
    until(lambda: lake.files("t") == before)
    assert ids(lake) == BEFORE


@pytest.mark.parametrize("count", [-1, 0, 3])
def test_a_file_is_not_taken_for_empty_by_a_wrong_count(lake: Any, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Three rows, of which one is not among the first three, go; Spark does not look at the count."""
    make(lake)
    before = lake.files("t")
    real = files_to_copy.read_live

    def wrong(*given: Any, **more: Any) -> LiveFiles:
        found = real(*given, **more)
        for file in found.data:
            file.file._data[4] = count
        return found

    monkeypatch.setattr(files_to_copy, "read_live", wrong)
    with pytest.raises(AskedOfSparkError):
        change(lake, "DELETE", deleted(lake, 1, 2, 3))
    until(lambda: lake.files("t") == before)
    assert ids(lake) == BEFORE


CANCELED = ProcessionError(ErrorCode.USER_CANCELED, "Query was canceled")


def cancelled(lake: Any, monkeypatch: pytest.MonkeyPatch, batches: Any, over: threading.Event) -> None:
    """A DELETE during which ``over`` is set; it leaves nothing."""
    before = lake.files("t")

    def check() -> None:
        if over.is_set():
            raise CANCELED

    context = replace(lake.context(), check_cancelled=check)
    monkeypatch.setattr(lake, "context", lambda: context)
    with pytest.raises(ProcessionError) as failed:
        change(lake, "DELETE", batches)
    assert failed.value is CANCELED
    until(lambda: lake.files("t") == before)
    assert ids(lake) == BEFORE


@pytest.mark.parametrize("inside", [False, True])
def test_a_cancelled_statement_copies_no_further(lake: Any, monkeypatch: pytest.MonkeyPatch, inside: bool) -> None:
    """Between two files, and between two batches of one."""
    make(lake)
    over, real, copied = threading.Event(), copied_files.copy, list[Fragment]()

    def copy(task: WriteTask, check: Callable[[], None]) -> Fragment:
        if inside:
            over.set()
        copied.append(real(task, check))
        over.set()
        return copied[-1]

    monkeypatch.setattr(copied_files, "copy", copy)
    monkeypatch.setattr(copied_files, "_SIDE_BY_SIDE", 1)
    cancelled(lake, monkeypatch, two(lake), over)
    assert len(copied) == (0 if inside else 1)


def test_one_that_waits_for_others_can_be_cancelled(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    make(lake)
    monkeypatch.setattr(copied_files, "_AT_ONCE", threading.BoundedSemaphore(1))
    over = threading.Event()
    timer = threading.Timer(0.3, over.set)
    with copied_files._AT_ONCE:
        timer.start()
        cancelled(lake, monkeypatch, two(lake), over)
    assert change_again(lake, over) == 1


def change_again(lake: Any, over: threading.Event) -> int:
    over.clear()
    return change(lake, "DELETE", deleted(lake, 1))


def test_deletes_older_than_all_data_go(lake: Any, foreign: Any) -> None:
    """As in Iceberg: nothing is left that they might apply to. Younger ones stay."""
    table = make(lake)
    foreign.delete_equal(table, pa.table({"id": pa.array([9, 109], pa.int64())}))
    foreign.delete_equal(table, pa.table({"id": pa.array([1, 101], pa.int64())}))
    assert change(lake, "DELETE", deleted(lake, 2)) == 1
    assert len(live(lake).deletes) == 2, "a file is older"
    assert change(lake, "DELETE", deleted(lake, 102)) == 1
    assert (live(lake).deletes, summary(lake)[1]["total-delete-files"]) == ((), "0")
    assert ids_by_duckdb(lake) == sorted({*BEFORE} - {1, 2, 9, 101, 102, 109})
    foreign.delete_equal(lake.table("t"), pa.table({"id": pa.array([3], pa.int64())}))
    lake.table("t").append(numbers(200))
    assert change(lake, "DELETE", deleted(lake, 203)) == 1
    assert len(live(lake).deletes) == 1
    assert ids_by_duckdb(lake) == sorted({*BEFORE, *range(200, 250)} - {1, 2, 3, 9, 101, 102, 109, 203})
