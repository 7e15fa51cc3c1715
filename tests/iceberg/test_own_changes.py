"""Changes of rows that this process commits: what others do between the reading of the rows and the commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow

from coordinator.connectors.iceberg.statistics.analysis import kept_rows
from coordinator.expressions.builders import constant, operator
from coordinator.expressions.types import BOOLEAN
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Variable
from shared.plan.types import Type
from shared.spi.table_writes import RowFilter, TableWrite, WriteContext, WriteKind
from tests.iceberg.rest_catalog import RefusedError, serving
from tests.iceberg.test_embedded_geometry import point, with_types
from tests.iceberg.test_own_rows import files, open_writes, until
from tests.iceberg.test_rest_catalog import over_rest
from tests.iceberg.test_rewrite import numbers
from tests.iceberg.test_rewritten_values import add

ID = Variable(name="id", type="bigint")
BELOW_TEN = operator("<", (ID, constant(10, Type("bigint"))), BOOLEAN)


def nothing() -> None:
    """What others mostly do."""


def change(
    lake: Any,
    kind: WriteKind,
    batches: Sequence[pa.RecordBatch],
    meanwhile: Callable[[], object] = nothing,
    row_filter: RowFilter | None = None,
) -> int:
    def rows() -> Iterator[pa.RecordBatch]:
        yield from batches
        meanwhile()

    def run(*_: object) -> Any:
        raise AssertionError("no engine is asked to write")

    snapshot = lake.table("t").current_snapshot()
    write = TableWrite("lab", "db", "t", kind, "", "", snapshot.snapshot_id, row_filter=row_filter)
    return int(lake.connector.write(write, WriteContext(lake.context(), run, rows=rows)))


def first_file(lake: Any) -> str:
    """The one with the numbers from 0 on."""
    tasks = lake.table("t").scan(row_filter="id = 0").plan_files()
    return str(next(iter(tasks)).file.file_path)


def deleted(lake: Any, *positions: int) -> list[pa.RecordBatch]:
    path = first_file(lake)
    paths = pa.array([path] * len(positions), pa.string())
    return [pa.record_batch({"file": paths, "pos": pa.array(positions, pa.int64())})]


def updated(lake: Any, *positions: int) -> list[pa.RecordBatch]:
    rows = numbers(0).to_pylist()
    new = pa.Table.from_pylist([{**rows[n], "id": 1000 + n} for n in positions], schema=numbers(0).schema)
    (place,) = deleted(lake, *positions)
    columns = [*place.columns, *(new.column(name).combine_chunks() for name in new.column_names)]
    return [pa.record_batch(columns, names=["file", "pos", *new.column_names])]


def ids(lake: Any) -> list[int]:
    return sorted(row[0] for row in lake.rows("t"))


@pytest.fixture
def two(lake: Any) -> Any:
    lake.create("t", [numbers(0), numbers(100)])
    return lake


BEFORE = [*range(50), *range(100, 150)]


def refused(lake: Any, said: str, *given: Any) -> None:
    """With that text; afterwards there is no file that was not there, but for what others wrote."""
    with pytest.raises(ProcessionError, match=said) as failed:
        change(lake, *given)
    assert (failed.value.code, failed.value.retriable) == (ErrorCode.TRANSACTION_CONFLICT, True)
    until(lambda: not [f for f in lake.orphans("t") if f.endswith((".parquet", ".puffin"))])


def test_rows_are_deleted_and_updated(two: Any) -> None:
    assert change(two, "DELETE", deleted(two, 3, 1)) == 2
    assert change(two, "UPDATE", updated(two, 5, 9)) == 2
    assert ids(two) == sorted({*BEFORE, 1005, 1009} - {1, 3, 5, 9})
    assert (files(two), open_writes(two)) == (5, 0)
    assert change(two, "DELETE", deleted(two)) == 0
    assert len(two.table("t").snapshots()) == 4


def test_appends_are_conflicts_unless_the_table_says_otherwise(two: Any) -> None:
    refused(two, "Found conflicting files", "UPDATE", updated(two, 5), lambda: two.table("t").append(numbers(200)))
    assert ids(two) == [*BEFORE, *range(200, 250)]
    with two.table("t").transaction() as transaction:
        transaction.set_properties({"write.update.isolation-level": "snapshot"})
    assert change(two, "UPDATE", updated(two, 5), lambda: two.table("t").append(numbers(300))) == 1
    assert ids(two) == sorted({*BEFORE, *range(200, 250), *range(300, 350), 1005} - {5})


def test_appends_that_cannot_match_a_deletes_predicate_are_none(two: Any) -> None:
    row_filter = RowFilter(BELOW_TEN, {"id": "id"})
    assert change(two, "DELETE", deleted(two, 5), lambda: two.table("t").append(numbers(200)), row_filter) == 1
    assert ids(two) == sorted({*BEFORE, *range(200, 250)} - {5})
    meanwhile = lambda: two.table("t").append(numbers(0).slice(7, 1))  # noqa: E731
    refused(two, "Found conflicting files", "DELETE", deleted(two, 6), meanwhile, row_filter)


def test_a_compaction_of_the_file_is_a_conflict_and_of_others_none(two: Any) -> None:
    options = {"rewrite-all": "true"}
    two.table("t").append(numbers(400))
    predicate = operator(">", (ID, constant(300, Type("bigint"))), BOOLEAN)
    assert change(two, "UPDATE", updated(two, 5), lambda: two.rewrite("t", options, predicate)) == 1
    left = sorted({*BEFORE, *range(400, 450), 1005} - {5})
    assert ids(two) == left
    refused(two, "Missing required files to delete", "DELETE", deleted(two, 6), lambda: two.rewrite("t", options))
    assert ids(two) == left


def test_deletes_of_the_same_file_are_conflicts(two: Any) -> None:
    meanwhile = lambda: change(two, "DELETE", deleted(two, 5, 6))  # noqa: E731
    refused(two, "found new delete for data file", "UPDATE", updated(two, 5), meanwhile)
    assert ids(two) == sorted({*BEFORE} - {5, 6})
    other = two.table("t").scan(row_filter="id = 100").plan_files()
    path = next(iter(other)).file.file_path
    beside = [pa.record_batch({"file": [path], "pos": pa.array([0], pa.int64())})]
    assert change(two, "DELETE", deleted(two, 7), lambda: change(two, "DELETE", beside)) == 1
    assert ids(two) == sorted({*BEFORE} - {5, 6, 7, 100})


def test_a_rollback_is_a_conflict(two: Any) -> None:
    first = two.table("t").snapshots()[0].snapshot_id
    back = lambda: two.call("set_current_snapshot", schema="db", table_name="t", snapshot_id=first)  # noqa: E731
    refused(two, "set to another snapshot meanwhile", "DELETE", deleted(two, 5), back)
    assert ids(two) == list(range(50))


def test_vectors_are_merged_and_replaced(two: Any) -> None:
    assert two.call("upgrade_format_version", schema="db", table_name="t", format_version=3).rows == [(2, 3)]
    for positions in ((1, 2), (3,), (40, 41)):
        assert change(two, "DELETE", deleted(two, *positions)) == len(positions)
    assert ids(two) == sorted({*BEFORE} - {1, 2, 3, 40, 41})
    summary = two.table("t").current_snapshot().summary.additional_properties
    assert (summary["total-delete-files"], summary["total-position-deletes"]) == ("1", "5")


def test_deletes_of_version_two_are_kept_by_the_first_vector(two: Any) -> None:
    assert change(two, "DELETE", deleted(two, 1, 2)) == 2
    two.call("upgrade_format_version", schema="db", table_name="t", format_version=3)
    assert change(two, "DELETE", deleted(two, 30)) == 1
    assert ids(two) == sorted({*BEFORE} - {1, 2, 30})


@pytest.mark.parametrize("name", ["_pos", "_FILE"])
def test_columns_named_as_places_are_refused(lake: Any, name: str) -> None:
    lake.create("t", [numbers(0).rename_columns(["id", name, "x"])])
    with pytest.raises(ProcessionError, match=f"it has a column of its own named {name}") as failed:
        change(lake, "DELETE", deleted(lake, 1))
    assert failed.value.code is ErrorCode.NOT_SUPPORTED


@pytest.mark.parametrize("version", [2, 3])
def test_rows_are_counted_past_their_deletes(two: Any, version: int) -> None:
    if version == 3:
        two.call("upgrade_format_version", schema="db", table_name="t", format_version=3)
    for positions in ((1, 2), (2, 3), (40,)):
        change(two, "DELETE", deleted(two, *positions))
    table = two.table("t")
    assert kept_rows(table, table.current_snapshot(), {}) == len(ids(two)) == 96
    assert two.connector.analyze("db", "t", {"columns": ("id",)}, two.context()) == 96
    (file,) = two.table("t").metadata.statistics
    assert file.blob_metadata[0].properties["ndv"] == "96", "of the rows that are left"


def test_a_change_that_landed_is_no_conflict_of_its_own(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog that carried a request out and answers its repetition with a conflict; the change would count twice."""
    places = updated(two, 5)
    with serving(two.other) as address:
        two.connector = over_rest(two, address)
        commit = two.other.commit_table

        def landed(*request: Any) -> Any:
            monkeypatch.setattr(two.other, "commit_table", commit)
            commit(*request)
            raise RefusedError(409)

        monkeypatch.setattr(two.other, "commit_table", landed)
        assert change(two, "UPDATE", places) == 1
        two.connector.close()
    assert ids(two) == sorted({*BEFORE, 1005} - {5})
    assert len(two.table("t").snapshots()) == 3


@pytest.mark.parametrize("after", ["", "WHERE id IN (3, 5)"], ids=["no statement for Spark", "one beside"])
def test_rows_go_from_tables_that_spark_does_not_load(lake: Any, reader: Any, after: str) -> None:
    """Of a table with geometries, whatever its mode says: places are all that a DELETE needs. UPDATE is refused."""
    lake.other.create_table("db.t", schema=pa.schema([("id", pa.int64()), ("g", pa.binary())]))
    with_types(lake, "t", {})
    table = lake.connector.tables_of.open("db", "t")
    path = Path(table.location().removeprefix("file://")) / "data" / "in.parquet"
    path.parent.mkdir(parents=True)
    part = pa.table({"id": pa.array(range(10), pa.int64()), "g": [point(n, n) for n in range(10)]})
    pq.write_table(part.cast(schema_to_pyarrow(table.schema())), path)
    add(table, path)
    snapshot = lake.connector.tables_of.open("db", "t").current_snapshot()

    def run(*_: object) -> Any:
        raise AssertionError("no engine is asked to write")

    def change_rows(kind: WriteKind) -> int:
        places = pa.record_batch({"file": [f"file://{path}"] * 2, "pos": pa.array([3, 5], pa.int64())})
        write = TableWrite("lab", "db", "t", kind, "DELETE FROM", after, snapshot.snapshot_id)
        return int(lake.connector.write(write, WriteContext(lake.context(), run, rows=lambda: iter([places]))))

    with pytest.raises(ProcessionError, match="Spark knows no geometry"):
        change_rows("UPDATE")
    assert change_rows("DELETE") == 2
    rows = [tuple(row.values()) for row in reader.rows("SELECT id, ST_X(g) FROM t").to_pylist()]
    assert sorted(rows) == [(n, float(n)) for n in range(10) if n not in (3, 5)]
