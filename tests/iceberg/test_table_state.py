"""What a maintenance service is told of a table, beside PyIceberg's own reading of the same metadata."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.table.sorting import NullOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, MonthTransform

from shared.spi.maintenance import RowChanges, SnapshotRetention, TableState

NOW = datetime.now(UTC)
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("day", pa.date32()), ("at", pa.timestamp("us"))])


def rows(start: int, count: int = 4) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table(
        {
            "id": ids,
            "name": ["it's", "ü\n", None, "a/b"][:count],
            "day": [date(2026, 1, 30 + i % 2) for i in range(count)],
            "at": [datetime(2026, 12, 31, 23) + timedelta(hours=i) for i in range(count)],
        },
        SCHEMA,
    )


KEEP = SnapshotRetention()


def state(lake: Any, retention: SnapshotRetention = KEEP, **given: Any) -> TableState:
    found = lake.connector.table_state("db", given.pop("name", "t"), given.pop("now", NOW), retention)
    assert isinstance(found, TableState)
    return found


def test_the_numbers_are_those_that_pyiceberg_inspects(lake: Any) -> None:
    table = lake.other.create_table("db.t", schema=SCHEMA)
    table.update_spec().add_field("day", IdentityTransform(), "day").commit()
    for start in range(3):
        table.append(rows(4 * start))
    found = state(lake)
    inspected = table.refresh().inspect.partitions().to_pylist()
    assert sorted((p.name, p.files, p.records, p.size) for p in found.partitions) == sorted(
        (f"day={p['partition']['day']}", p["file_count"], p["record_count"], p["total_data_file_size_in_bytes"])
        for p in inspected
    )
    assert (found.files, found.snapshots, found.manifests) == (6, 3, 3)
    assert found.marker == table.metadata_location
    assert found.uuid == str(table.metadata.table_uuid)
    assert all(p.small_files == p.files and p.small_size == p.size for p in found.partitions)
    assert found.rates.commits == 3
    assert found.rates.appended == sum(p["total_data_file_size_in_bytes"] for p in inspected)
    assert found.divided_by_time
    assert not found.sorted


@pytest.mark.parametrize(
    ("column", "transform"),
    [
        ("id", IdentityTransform()),
        ("name", IdentityTransform()),
        ("day", IdentityTransform()),
        ("day", MonthTransform()),
        ("at", DayTransform()),
    ],
    ids=str,
)
def test_a_predicate_selects_its_partition_and_no_other(lake: Any, column: str, transform: Any) -> None:
    """The filter is Presto's SQL; DuckDB reads this part of it alike but for the escapes of texts."""
    table = lake.other.create_table("db.t", schema=SCHEMA)
    table.update_spec().add_field(column, transform, "p").commit()
    table.append(rows(0))
    data = table.scan().to_arrow()
    assert data.num_rows == 4
    seen = 0
    for partition in state(lake).partitions:
        assert partition.predicate is not None
        text = partition.predicate.replace("U&'\\00FC\\000A'", "'ü\n'")
        (found,) = duckdb.sql(f"SELECT count(*) FROM data WHERE {text}").fetchall()
        assert found == (partition.records,), text
        seen += partition.records
    assert seen == 4


def test_buckets_have_no_predicate(lake: Any) -> None:
    table = lake.other.create_table("db.t", schema=SCHEMA)
    table.update_spec().add_field("id", BucketTransform(4), "b").add_field("day", IdentityTransform(), "d").commit()
    table.append(rows(0))
    assert {partition.predicate for partition in state(lake).partitions} == {None}


def test_snapshots_that_may_go_follow_the_policy_unless_the_table_speaks(lake: Any) -> None:
    table = lake.create("t", [rows(4 * i) for i in range(5)])
    soon = datetime.now(UTC) + timedelta(hours=1)
    assert state(lake, now=soon).expirable_snapshots == 0
    hour = SnapshotRetention(timedelta(minutes=30))
    assert state(lake, hour, now=soon).expirable_snapshots == 4
    assert state(lake, SnapshotRetention(timedelta(minutes=30), 3), now=soon).expirable_snapshots == 2
    with table.transaction() as changed:
        changed.set_properties({"history.expire.max-snapshot-age-ms": "7200000"})
    assert state(lake, hour, now=soon).expirable_snapshots == 0


def test_deletes_count_in_their_partition(lake: Any, foreign: Any) -> None:
    table = lake.create("t", [rows(0)], properties={"format-version": "2"})
    (task,) = table.scan().plan_files()
    foreign.delete_positions(table, {task.file.file_path: [0, 2]})
    (partition,) = state(lake).partitions
    assert (partition.position_deletes, partition.delete_files, partition.equality_files) == (2, 1, 0)
    assert state(lake).dangling_deletes == 0


def test_commits_that_name_data_files_are_told_apart(lake: Any) -> None:
    """They lose where a rewrite takes the files meanwhile; appends never do."""
    table = lake.create("t", [rows(0), rows(4)])
    lake.rewrite("t")
    for number in (5, 6):
        table.refresh().delete(f"id = {number}", snapshot_properties={"procession.query-id": "q"})
    assert state(lake).rates.row_changes is None, "own statements are run again where they lose"
    for number in (1, 2):
        assert state(lake).rates.row_changes is None, "no gap is known"
        table.refresh().delete(f"id = {number}")
    found = state(lake).rates
    instants = [s.timestamp_ms for s in table.refresh().metadata.snapshots[-2:]]
    gap = (instants[1] - instants[0]) / 1000
    assert found.commits == 6
    assert found.row_changes == RowChanges(datetime.fromtimestamp(instants[1] / 1000, UTC), gap, gap)


def test_who_else_rewrites_the_table_is_named_after_the_second_time(lake: Any) -> None:
    lake.create("t", [rows(4 * i) for i in range(8)])
    lake.rewrite("t")
    assert state(lake).rates.foreign_rewriter is None
    assert state(lake).rates.rewritten > 0


def test_obstacles_are_told(lake: Any) -> None:
    lake.create("t", [rows(0)], properties={"gc.enabled": "false"})
    assert state(lake).keeps_files == "gc.enabled is false"
    lake.create("u", [rows(0)], properties={"encryption.key-id": "k"})
    encrypted = state(lake, name="u")
    assert encrypted.obstacle == "the table is encrypted"
    assert encrypted.partitions == ()


def test_a_table_without_rows_and_one_that_is_not_there(lake: Any) -> None:
    lake.other.create_table("db.t", schema=SCHEMA)
    assert state(lake).files == 0
    assert lake.connector.table_state("db", "nope", NOW, SnapshotRetention()) is None
    assert lake.connector.marker("db", "nope") is None


def test_files_that_share_keys_and_files_out_of_order(lake: Any) -> None:
    keys = pa.table({"id": pa.array(range(100), pa.int64())})
    table = lake.create("t", [keys, keys.slice(0, 50), keys.slice(60, 20)])
    assert state(lake).partitions[0].overlap_depth == 0, "no order, no depth"
    with table.update_sort_order() as update:
        update.asc("id", IdentityTransform(), NullOrder.NULLS_FIRST)
    (found,) = state(lake).partitions
    assert (found.overlap_depth, found.average_depth) == (2, 2.0)
    sizes = sorted(task.file.file_size_in_bytes for task in table.scan().plan_files())
    assert found.overlap_size == sum(sizes[:2]), "the largest stays"
    assert (found.stale_files, found.stale_size) == (3, sum(sizes))
    lake.rewrite("t", {"rewrite-all": "true"}, strategy="sort")
    (found,) = state(lake).partitions
    assert (found.overlap_depth, found.overlap_size, found.stale_files) == (1, 0, 0)


def test_markers_of_all_tables_are_one_question_and_push_no_table_out(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalog of a thousand tables is asked in every round: what statements read must stay in memory."""
    used = lake.create("used", [rows(0)])
    tables = {name: lake.create(name, [rows(0)]) for name in ("a", "b", "c")}
    tables_of = lake.connector.tables_of
    kept = tables_of.load("db", "used")
    monkeypatch.setattr("coordinator.connectors.iceberg.catalog._CACHED_TABLES", 1)
    wanted = {name: table.refresh().metadata_location for name, table in {**tables, "used": used}.items()}
    assert lake.connector.markers("db") == wanted
    assert {name: lake.connector.marker("db", name) for name in wanted} == wanted
    assert lake.connector.marker("db", "USED") == wanted["used"]
    assert lake.connector.markers("nope") == {}
    assert tables_of.load("db", "used").metadata is kept.metadata
