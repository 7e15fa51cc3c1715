"""Rewrites and queries of tables with columns that native workers lack, as shipped: with the native checker."""

from __future__ import annotations

import datetime
import uuid

import prestodb
import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
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


def test_row_changes_beside_columns_that_are_not_read_name_those(service: Service) -> None:
    """Rows that are updated are written anew, with all that they have; of deleted ones the place is enough."""
    table = create(service, "stored_changed", 1)
    name = "iceberg.db.stored_changed"
    for statement in (
        f"UPDATE {name} SET id = 0 WHERE id = 3",
        f"MERGE INTO {name} t USING (VALUES 3) s (i) ON t.id = s.i WHEN MATCHED THEN UPDATE SET id = 0",
    ):
        said = failure(service, statement)
        assert said.startswith("NOT_SUPPORTED: Table db.stored_changed cannot be read: column nested is of type struct")
    before = content(table)
    assert service.execute(f"DELETE FROM {name} WHERE id = 3") == [[1]]
    assert content(table) == [row for row in before if row["id"] != 3]  # type: ignore[index]
    assert service.execute(f"CREATE TABLE iceberg.db.stored_copied AS SELECT id FROM {name} WHERE id > 3") == [[6]]
    ids = sorted(row[0] for row in service.execute("SELECT id FROM iceberg.db.stored_copied"))
    assert ids == sorted(row[0] for row in service.execute(f"SELECT id FROM {name} WHERE id > 3")) != []


def test_deletes_of_whole_files_need_no_engine(service: Service) -> None:
    table = create(service, "stored_deleted", 4)
    service.execute("DELETE FROM iceberg.db.stored_deleted WHERE id < 20")
    assert service.execute("SELECT count(*), min(id), max(at) FROM iceberg.db.stored_deleted") == [
        [20, 20, "23:30:23.000"]
    ]
    service.execute("DELETE FROM iceberg.db.stored_deleted")
    assert list(table.refresh().scan().plan_files()) == []


def test_deletes_of_partitions(service: Service) -> None:
    schema = Schema(NestedField(1, "p", LongType()), NestedField(2, "at", TimeType()))
    lake = service.lake()
    lake.create_namespace_if_not_exists("db")
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "p"))
    table = lake.create_table("db.stored_parts", schema=schema, partition_spec=spec)
    hours = [datetime.time(hour) for hour in range(6)]
    table.append(pa.table({"p": pa.array([0, 1, 2] * 2, pa.int64()), "at": pa.array(hours, pa.time64("us"))}))
    service.execute("DELETE FROM iceberg.db.stored_parts WHERE p IN (0, 2)")
    assert service.execute("SELECT p, at FROM iceberg.db.stored_parts ORDER BY at") == [
        [1, "01:00:00.000"],
        [1, "04:00:00.000"],
    ]


def test_queries_of_tables_with_times(service: Service) -> None:
    """By the embedded engine, whatever it costs: Spark knows no such table."""
    create(service, "stored_read", 3)
    name = "iceberg.db.stored_read"
    assert service.execute(f"SELECT count(*), max(at) FROM {name} WHERE id > 3") == [[26, "23:30:23.000"]]
    assert service.execute(f"SELECT id FROM {name} WHERE at > TIME '23:00:00' ORDER BY 1") == [[23]]
    joined = f"SELECT count(*) FROM {name} a JOIN {name} b ON hour(a.at) = hour(b.at) AND a.id < b.id"
    assert service.execute(joined) == [[6]]
    assert service.execute(f"SELECT hour(at), count(*) FROM {name} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1") == [[0, 2]]
    for session in ({"embedded_engine_max_scan_rows": "1"}, {"engine": "spark"}):
        assert service.execute(f"SELECT max(id) FROM {name}", session_properties=session) == [[29]]
