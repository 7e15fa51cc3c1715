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
    TimestamptzType,
    TimeType,
    UUIDType,
)

from tests.e2e.service import Service
from tests.tiers import some

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


def test_rows_are_changed_whatever_their_types(service: Service) -> None:
    table = create(service, "stored_changed", 1)
    name, before = "iceberg.db.stored_changed", content(table)
    assert service.execute(f"DELETE FROM {name} WHERE id = 3") == [[1]]
    assert service.execute(f"UPDATE {name} SET id = id + 1000") == [[9]]
    merge = f"MERGE INTO {name} t USING (VALUES 1004, 77) s (i) ON t.id = s.i WHEN MATCHED THEN DELETE"
    assert service.execute(f"{merge} WHEN NOT MATCHED THEN INSERT (id) VALUES (s.i)") == [[2]]
    assert service.execute(f"UPDATE {name} SET id = id - 1000, nested = nested WHERE id >= 1000") == [[8]]
    assert [row for row in content(table) if row["id"] != 77] == [row for row in before if row["id"] not in (3, 4)]  # type: ignore[index]


WITHIN = """
    SELECT * FROM {t} ORDER BY id
    SELECT id, keys[1], times[1], r.z, r.u, m[UUID '00000000-0000-0000-0000-000000000006'] FROM {t} WHERE id = 1
    SELECT CAST(element_at(times, 1) AS varchar), CAST(r AS json), CAST(keys AS json), typeof(m) FROM {t} ORDER BY id
    SELECT r.z AT TIME ZONE 'America/New_York', hour(r.z), date_trunc('day', r.z), to_unixtime(r.z) FROM {t} ORDER BY id
    SELECT k, count(*) FROM {t} CROSS JOIN UNNEST(keys) x (k) GROUP BY k ORDER BY k
    SELECT z, id FROM {t} CROSS JOIN UNNEST(times) x (z) ORDER BY id, z NULLS LAST
    SELECT count(*) FROM {t} WHERE contains(keys, UUID '00000000-0000-0000-0000-000000000005')
    SELECT count(*) FROM {t} WHERE r.z > TIMESTAMP '2024-07-01 02:03:04 UTC' AND r.u IS NOT NULL
    SELECT max(r.z), min(r.u), count(DISTINCT keys), approx_distinct(r.z) FROM {t}
    SELECT map_keys(m), map_values(m), element_at(m, r.u) FROM {t} ORDER BY id
    SELECT a.id FROM {t} a JOIN {t} b ON a.r.u = element_at(b.keys, 1) ORDER BY 1
    SELECT CAST(times AS array(timestamp)), transform(times, x -> date_add('hour', 1, x)) FROM {t} ORDER BY id
"""


@pytest.mark.parametrize("zone", some(["Europe/Berlin"], ["UTC"], "a zone that is not where values are stored"))
def test_uuids_and_instants_within_other_types(service: Service, zone: str) -> None:
    """What the embedded engine makes of them is what Spark makes of them."""
    name = f"stored_within_{zone[:2].lower()}"
    lake = service.lake()
    lake.create_namespace_if_not_exists("db")
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "keys", ListType(3, UUIDType(), element_required=False)),
        NestedField(4, "times", ListType(5, TimestamptzType(), element_required=False)),
        NestedField(6, "r", StructType(NestedField(7, "z", TimestamptzType()), NestedField(8, "u", UUIDType()))),
        NestedField(9, "m", MapType(10, UUIDType(), 11, TimestamptzType(), value_required=False)),
    )
    table = lake.create_table(f"db.{name}", schema=schema)
    moment = datetime.datetime(2024, 7, 1, 2, 3, 4, 567000, tzinfo=datetime.UTC)
    key = [uuid.UUID(int=number).bytes for number in range(8)]
    instant, binary = pa.timestamp("us", "UTC"), pa.binary(16)
    columns = {
        "id": pa.array([1, 2, 3], pa.int64()),
        "keys": pa.array([[key[5], None], [], None], pa.list_(binary)),
        "times": pa.array([[moment, None, moment.replace(year=1950)], [], None], pa.list_(instant)),
        "r": pa.array(
            [{"z": moment, "u": key[5]}, {"z": None, "u": None}, None], pa.struct({"z": instant, "u": binary})
        ),
        "m": pa.array([[(key[6], moment), (key[5], None)], [], None], pa.map_(binary, instant)),
    }
    table.append(pa.table(columns))
    for statement in WITHIN.strip().splitlines():
        text = statement.strip().format(t=f"iceberg.db.{name}")
        ours, others = (
            service.execute(text, session_properties={"engine": engine}, http_headers={"X-Presto-Time-Zone": zone})
            for engine in ("EMBEDDED", "SPARK")
        )
        assert ours == others, statement


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
