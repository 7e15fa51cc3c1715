"""Partitions past their time, and exports: checked by PyIceberg and the file system."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, HourTransform, IdentityTransform, MonthTransform, YearTransform
from pyiceberg.types import DateType, LongType, NestedField, StringType, TimestampType, TimestamptzType

from coordinator.kernels.functions.zones import zone_of
from shared.errors import ErrorCode, ProcessionError

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "at", TimestampType()),
    NestedField(3, "day", DateType()),
    NestedField(4, "text", StringType()),
)
MOMENTS = [
    datetime(1969, 12, 31, 23), datetime(2025, 1, 1), datetime(2025, 12, 31, 23, 59, 59), datetime(2026, 1, 1),
    datetime(2026, 1, 31, 12), datetime(2026, 2, 1, 0, 30), datetime(2026, 2, 1, 1),
]  # fmt: skip
DATA = pa.table(
    {
        "id": pa.array(range(len(MOMENTS)), pa.int64()),
        "at": pa.array(MOMENTS, pa.timestamp("us")),
        "day": [m.date() for m in MOMENTS],
        "text": [m.date().isoformat() for m in MOMENTS],
    }
)


def call(lake: Any, **given: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in lake.call("expire_partitions", schema="db", table_name="t", **given).rows]


def create(lake: Any, *fields: PartitionField) -> Any:
    table = lake.other.create_table("db.t", schema=SCHEMA, partition_spec=PartitionSpec(*fields))
    table.append(DATA)
    return table


@pytest.mark.parametrize(
    ("field", "moment", "left"),
    [
        (PartitionField(2, 1000, HourTransform(), "h"), datetime(2026, 2, 1, 1), {6}),
        (PartitionField(2, 1000, HourTransform(), "h"), datetime(2026, 2, 1, 0, 59), {5, 6}),
        (PartitionField(2, 1000, DayTransform(), "d"), datetime(2026, 2, 1), {5, 6}),
        (PartitionField(2, 1000, MonthTransform(), "m"), datetime(2026, 1, 31), {3, 4, 5, 6}),
        (PartitionField(2, 1000, MonthTransform(), "m"), datetime(2026, 2, 1), {5, 6}),
        (PartitionField(2, 1000, YearTransform(), "y"), datetime(2026, 6, 1), {3, 4, 5, 6}),
        (PartitionField(2, 1000, IdentityTransform(), "i"), datetime(2026, 1, 1), {3, 4, 5, 6}),
        (PartitionField(3, 1000, IdentityTransform(), "i"), datetime(2026, 1, 1, 12), {3, 4, 5, 6}),
        (PartitionField(3, 1000, MonthTransform(), "i"), datetime(2026, 2, 1), {5, 6}),
        (PartitionField(4, 1000, IdentityTransform(), "i"), datetime(2026, 2, 1), {5, 6}),
    ],
)
def test_partitions_wholly_before_the_moment_go(lake: Any, field: Any, moment: datetime, left: set[int]) -> None:
    create(lake, field)
    planned = call(lake, older_than=moment, dry_run=True)
    assert len(lake.rows("t")) == len(MOMENTS)
    assert call(lake, older_than=moment) == planned
    assert {row[0] for row in lake.rows("t")} == left
    assert sum(row[2] for row in planned) == len(MOMENTS) - len(left)
    snapshot = lake.table("t").current_snapshot()
    assert snapshot.summary.operation.value == "delete"
    assert int(snapshot.summary["total-records"]) == len(left)
    assert lake.orphans("t") == set()
    assert call(lake, older_than=moment) == []
    assert lake.table("t").current_snapshot().snapshot_id == snapshot.snapshot_id


def test_the_moment_is_in_the_zone_that_it_says(lake: Any) -> None:
    create(lake, PartitionField(2, 1000, DayTransform(), "d"))
    from datetime import timedelta, timezone

    # In UTC it is still the 31st.
    call(lake, older_than=datetime(2026, 2, 1, tzinfo=timezone(timedelta(hours=2))))
    assert {row[0] for row in lake.rows("t")} == {4, 5, 6}


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", "UTC", "-03:30"])
@pytest.mark.parametrize(
    ("transform", "column"), [(HourTransform(), 2), (DayTransform(), 2), (IdentityTransform(), 3), (HourTransform(), 5)]
)
def test_no_row_goes_that_a_select_would_not_call_older(lake: Any, zone: str, transform: Any, column: int) -> None:
    """Columns without a zone have the session's clock, others are moments: DuckDB compares as Presto does."""
    schema = Schema(*SCHEMA.fields, NestedField(5, "moment", TimestamptzType()))
    table = lake.other.create_table("db.t", schema=schema)
    with table.update_spec() as update:
        update.add_field(schema.find_column_name(column), transform, "x")
    given = datetime(2026, 2, 1)
    here = zone_of(zone)
    near = [datetime(2026, 2, 1) + timedelta(minutes=minutes) for minutes in range(-2000, 2000, 37)]
    data = pa.table(
        {
            "id": pa.array(range(len(near)), pa.int64()),
            "at": pa.array(near, pa.timestamp("us")),
            "day": [m.date() for m in near],
            "text": [m.date().isoformat() for m in near],
            "moment": pa.array([m.replace(tzinfo=UTC) for m in near], pa.timestamp("us", "UTC")),
        }
    )
    table.append(data)
    session = replace(lake.context().session, time_zone=zone)
    lake.context = lambda plain=lake.context: replace(plain(), session=session)
    call(lake, older_than=given)
    utc = given.replace(tzinfo=here).astimezone(UTC).replace(tzinfo=None)
    asked = {2: f"data.at < '{given}'", 3: f"day < '{given}'", 5: f"moment AT TIME ZONE 'UTC' < '{utc}'"}[column]
    older = {row[0] for row in duckdb.sql(f"SELECT id FROM data WHERE {asked}").fetchall()}
    gone = set(range(len(near))) - {row[0] for row in lake.rows("t")}
    assert gone <= older, "rows that are not older"
    # Of hours that begin at whole minutes of the zone, all that is older goes.
    if zone != "-03:30" or column != 5:
        assert gone == older


def test_delete_files_of_expired_partitions_go_with_them(lake: Any, foreign: Any) -> None:
    table = create(lake, PartitionField(3, 1000, MonthTransform(), "m"))
    by_month = {task.file.partition[0]: task.file for task in table.scan().plan_files()}
    january, february = (by_month[(2026 - 1970) * 12 + month] for month in (0, 1))
    for file in (january, february):
        foreign.delete_positions(lake.table("t"), {file.file_path: [0]}, file.partition)
        foreign.delete_equal(lake.table("t"), pa.table({"id": pa.array([100], pa.int64())}), file.partition)
    ((*_,),) = [row for row in call(lake, older_than=datetime(2026, 2, 1)) if row[0] == "m=2026-01"]
    snapshot = lake.table("t").current_snapshot()
    assert snapshot.summary["removed-delete-files"] == "2"
    left = [e.data_file for m in snapshot.manifests(table.io) for e in m.fetch_manifest_entry(table.io)]
    assert sorted((f.content.value, f.partition[0]) for f in left) == [
        (kind, february.partition[0]) for kind in (0, 1, 2)
    ]
    assert lake.orphans("t") == set()
    assert [tuple(row) for row in lake.call("remove_dangling_deletes", schema="db", table_name="t").rows] == [(0,)]
    assert lake.rewrite("t", {"rewrite-all": "true"})["rewritten_rows_count"] == 1


def test_files_added_meanwhile_stay(lake: Any, monkeypatch: Any) -> None:
    create(lake, PartitionField(2, 1000, DayTransform(), "d"))
    catalog = lake.connector.tables_of
    opened = catalog.open

    def open_then_append(schema: str, name: str) -> Any:
        found = opened(schema, name)
        lake.table("t").append(DATA.slice(0, 1))
        return found

    monkeypatch.setattr(catalog, "open", open_then_append)
    call(lake, older_than=datetime(2026, 3, 1))
    assert [row[0] for row in lake.rows("t")] == [0]


def test_refusals(lake: Any) -> None:
    table = create(lake, PartitionField(2, 1000, DayTransform(), "d"), PartitionField(3, 1001, MonthTransform(), "m"))
    for given, argument, message in (
        ({}, "column", "Several columns partition by time, name one: at, day"),
        ({"column": "id"}, "column", "Column id does not partition the table by time"),
    ):
        with pytest.raises(ProcessionError) as failure:
            call(lake, older_than=datetime(2026, 1, 1), **given)
        assert failure.value.message == message
        assert failure.value.__cause__.argument == argument  # type: ignore[union-attr]
    assert call(lake, older_than=datetime(2026, 1, 1), column="DAY")
    lake.other.drop_table("db.t")
    lake.create("t", [DATA])
    with pytest.raises(ProcessionError, match="The table is not partitioned by time"):
        call(lake, older_than=datetime(2026, 1, 1))
    assert date.min < DATA["day"][1].as_py()
    assert table is not None


def test_export_copies_what_makes_the_table(lake: Any) -> None:
    lake.create("t", [DATA.slice(0, 2), DATA.slice(2, 2)])
    folder = f"file://{lake.home}/wh/exports/one"
    given = {"schema": "db", "table_name": "t", "location": folder}
    ((where, files, size),) = lake.call("export_metadata", **given).rows
    copied = list(Path(where.removeprefix("file://")).iterdir())
    table = lake.table("t")
    names = {table.metadata_location.rpartition("/")[2]}
    for snapshot in table.snapshots():
        names |= {snapshot.manifest_list.rpartition("/")[2]}
        names |= {m.manifest_path.rpartition("/")[2] for m in snapshot.manifests(table.io)}
    assert {path.name for path in copied} == names
    assert (files, size) == (len(copied), sum(path.stat().st_size for path in copied))
    for wrong, code in (
        (folder, ErrorCode.ALREADY_EXISTS),
        ("file:///tmp/elsewhere", ErrorCode.PERMISSION_DENIED),
        (f"file://{lake.home}/wh/../out", ErrorCode.PERMISSION_DENIED),
    ):
        with pytest.raises(ProcessionError) as failure:
            lake.call("export_metadata", **{**given, "location": wrong})
        assert failure.value.code is code
    assert not (lake.home / "out").exists()
