"""Rewrites and queries of tables with columns that native workers lack, as shipped: with the native checker."""

from __future__ import annotations

import datetime
import uuid

import prestodb
import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    FixedType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimeType,
    UUIDType,
)

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "at", TimeType()),
    NestedField(3, "key", UUIDType()),
    NestedField(4, "code", FixedType(3)),
    NestedField(
        5,
        "nested",
        StructType(
            NestedField(6, "a", TimeType()),
            NestedField(7, "B", ListType(8, UUIDType(), element_required=False)),
            NestedField(9, "m", MapType(10, StringType(), 11, TimeType(), value_required=False)),
        ),
    ),
)


def rows(number: int) -> pa.Table:
    ids = range(number * 10, number * 10 + 10)
    moments = [datetime.time(i % 24, 30, i % 60, i) for i in ids]
    keys = [uuid.UUID(int=i).bytes for i in ids]
    nested = [{"a": at, "B": [key, None], "m": [("x", at)]} for at, key in zip(moments, keys, strict=True)]
    time, binary = pa.time64("us"), pa.binary(16)
    inner = pa.struct({"a": time, "B": pa.list_(binary), "m": pa.map_(pa.string(), time)})
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "at": pa.array(moments, time),
            "key": pa.array(keys, binary),
            "code": pa.array([b"%03d" % i for i in ids], pa.binary(3)),
            "nested": pa.array(nested, inner),
        }
    )


def create(service: Service, name: str, files: int = 6) -> Table:
    lake = service.lake()
    lake.create_namespace_if_not_exists("db")
    table = lake.create_table(f"db.{name}", schema=SCHEMA)
    for number in range(files):
        table.append(rows(number))
    return table


def content(table: Table) -> list[object]:
    found: list[object] = table.refresh().scan().to_arrow().sort_by("id").to_pylist()
    return found


@pytest.mark.parametrize(
    ("name", "arguments", "rewritten"),
    [
        ("packed", "", 6),
        ("sorted", ", strategy => 'sort', sorted_by => ARRAY['at DESC', 'key']", 6),
        ("filtered", ", filter => 'at < TIME ''09:00:00''', options => map(ARRAY['rewrite-all'], ARRAY['true'])", None),
    ],
)
def test_stored_values_are_copied_whatever_their_type(
    service: Service, name: str, arguments: str, rewritten: int | None
) -> None:
    table = create(service, f"stored_{name}")
    before = content(table)
    call = f"CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'stored_{name}'{arguments})"
    shown = service.execute(f"EXPLAIN (TYPE NATIVE) {call}")[0][0]
    assert "at:BIGINT, key:VARBINARY" in shown
    counts = service.execute(call)[0]
    assert counts[0] == rewritten or (rewritten is None and counts[0] > 0)
    assert content(table) == before


def failure(service: Service, statement: str) -> str:
    with pytest.raises(prestodb.exceptions.PrestoUserError) as caught:
        service.execute(statement)
    return f"{caught.value.error_name}: {caught.value.message}"


def test_row_changes_are_no_matter_of_the_checker(service: Service) -> None:
    """What Spark cannot write is told by the engine; what needs no engine is done."""
    table = create(service, "stored_changed", 1)
    cannot = "Table db.stored_changed has a column of type time, which Spark cannot write"
    for statement in (
        "UPDATE iceberg.db.stored_changed SET id = 0 WHERE id = 3",
        "INSERT INTO iceberg.db.stored_changed (id) VALUES 7",
    ):
        assert cannot in failure(service, statement)
    assert len(content(table)) == 10
    service.execute("DELETE FROM iceberg.db.stored_changed")
    assert list(table.refresh().scan().plan_files()) == []
