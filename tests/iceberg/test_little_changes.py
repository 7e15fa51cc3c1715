"""Changes of a few rows that Spark could make too: when they are committed here, and when they are left to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.transforms import IdentityTransform

from coordinator.connectors.iceberg.tables import own_changes
from coordinator.connectors.iceberg.tables.row_room import RowRoom
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import LeftToEngineError, TableWrite, WriteContext, WriteKind
from tests.iceberg.test_own_changes import BEFORE, deleted, ids, updated
from tests.iceberg.test_own_rows import files, until
from tests.iceberg.test_rewrite import numbers

MERGED = {f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")}


class AskedOfSparkError(Exception):
    """Spark's statement has been asked for."""


def change(lake: Any, kind: WriteKind, batches: list[pa.RecordBatch], end: ProcessionError | None = None) -> int:
    """Of a write with a statement for Spark; ``end`` is what becomes of its rows after the first ones."""

    def rows() -> Iterator[pa.RecordBatch]:
        yield from batches
        if end is not None:
            raise end

    def run(*_: object) -> Any:
        raise AskedOfSparkError

    snapshot = lake.table("t").current_snapshot().snapshot_id
    write = TableWrite("lab", "db", "t", kind, "MERGE INTO", "AS x", snapshot)
    return int(lake.connector.write(write, WriteContext(lake.context(), run, rows=rows)))


def make(lake: Any, properties: Mapping[str, str]) -> None:
    version = {"format-version": properties.get("format-version", "2")}
    table = lake.create("t", [numbers(0), numbers(100)], properties=version)
    if others := {name: value for name, value in properties.items() if name not in version}:
        with table.transaction() as transaction:
            transaction.set_properties(others)


def test_few_rows_are_changed_without_spark(lake: Any) -> None:
    make(lake, MERGED)
    assert change(lake, "DELETE", deleted(lake, 3, 1)) == 2
    assert change(lake, "UPDATE", updated(lake, 5)) == 1
    assert ids(lake) == sorted({*BEFORE, 1005} - {1, 3, 5})


@pytest.mark.parametrize(
    "properties",
    [
        {},
        MERGED | {"write.update.mode": "copy-on-write"},
        MERGED | {"format-version": "1"},
        MERGED | {"write.format.default": "orc"},
        MERGED | {"write.delete.format.default": "avro"},
        MERGED | {"write.parquet.bloom-filter-enabled.column.id": "true"},
    ],
)
def test_what_spark_would_write_otherwise_is_spark_s(lake: Any, properties: Mapping[str, str]) -> None:
    make(lake, properties)
    with pytest.raises(AskedOfSparkError):
        change(lake, "UPDATE", updated(lake, 5))
    assert ids(lake) == BEFORE


def test_sorted_tables_lose_rows_here_and_get_them_from_spark(lake: Any) -> None:
    make(lake, MERGED)
    with lake.table("t").update_sort_order() as order:
        order.asc("id", IdentityTransform())
    assert change(lake, "DELETE", deleted(lake, 5)) == 1
    with pytest.raises(AskedOfSparkError):
        change(lake, "UPDATE", updated(lake, 6))


@pytest.mark.parametrize("limit", ["rows that go", "bytes that come", "files"])
def test_many_rows_are_left_to_spark_and_leave_nothing(lake: Any, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    make(lake, MERGED)
    before = files(lake)
    match limit:
        case "rows that go":
            monkeypatch.setattr(own_changes, "_FEW_ROWS", 1)
        case "bytes that come":
            lake.connector.tables_of.row_room = RowRoom(most_of_one=10)
        case "files":
            monkeypatch.setattr(own_changes, "FEW_FILES", 0)
    with pytest.raises(AskedOfSparkError):
        change(lake, "UPDATE", [*updated(lake, 5), *updated(lake, 6, 7)])
    until(lambda: files(lake) == before)
    assert ids(lake) == BEFORE


def test_tables_of_many_files_are_left_to_spark(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    make(lake, MERGED)
    monkeypatch.setattr(own_changes, "_LISTED_FILES", 2)
    assert change(lake, "DELETE", deleted(lake, 5)) == 1
    with pytest.raises(AskedOfSparkError):
        change(lake, "DELETE", deleted(lake, 6))


def test_an_engine_that_gives_up_leaves_it_to_spark_and_errors_are_the_user_s(lake: Any) -> None:
    make(lake, MERGED)
    before = files(lake)
    full = LeftToEngineError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, "out of memory")
    for failure in (full, ProcessionError(ErrorCode.ICEBERG_FILESYSTEM_ERROR, "503")):
        with pytest.raises(AskedOfSparkError):
            change(lake, "UPDATE", updated(lake, 5), failure)
    with pytest.raises(ProcessionError, match="by zero"):
        change(lake, "UPDATE", updated(lake, 5), ProcessionError(ErrorCode.DIVISION_BY_ZERO, "by zero"))
    until(lambda: files(lake) == before)
    assert ids(lake) == BEFORE
