"""Registering, properties, format versions, savepoints and instants, read back by PyIceberg."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import ColumnAddition, ColumnRename, NewColumn, TableCreation, TableRemoval, TableRename


def numbers(start: int, count: int = 5) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + count), pa.int64())})


@pytest.fixture
def ids(lake: Any) -> list[int]:
    table = lake.create("t", [numbers(i * 10) for i in range(3)])
    return [snapshot.snapshot_id for snapshot in table.snapshots()]


def call(lake: Any, procedure: str, name: str = "t", **given: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in lake.call(procedure, schema="db", table_name=name, **given).rows]


def refusal(lake: Any, procedure: str, name: str = "t", **given: Any) -> tuple[ErrorCode, str]:
    with pytest.raises(ProcessionError) as failure:
        call(lake, procedure, name, **given)
    assert isinstance(failure.value.code, ErrorCode)
    return failure.value.code, failure.value.message


def test_a_table_that_was_read_is_renamed_and_dropped_under_its_new_name(lake: Any) -> None:
    lake.change(TableCreation("db", "old", (NewColumn("id", "bigint"),), {}))
    assert lake.connector.table("db", "old") is not None
    lake.change(TableRename("db", "old", "db", "new"))
    assert lake.connector.table("db", "new") is not None
    lake.change(TableRemoval("db", "new"))
    assert lake.connector.tables("db") == []


@pytest.mark.parametrize("name", ["a$b", "a${x}b", "t$files", "t@7", "t.branch_x", "t.tag_x"])
def test_names_that_mean_something_else_are_refused(lake: Any, name: str) -> None:
    lake.change(TableCreation("db", "t", (NewColumn("id", "bigint"),), {}))
    for change in (TableCreation("db", name, (NewColumn("id", "bigint"),), {}), TableRename("db", "t", "db", name)):
        with pytest.raises(ProcessionError, match="Invalid Iceberg table name") as refused:
            lake.connector.validate(change)
        assert refused.value.code is ErrorCode.NOT_SUPPORTED


@pytest.mark.parametrize("name", ["_file", "_POS", "_row_id"])
def test_columns_that_iceberg_makes_up_are_refused(lake: Any, name: str) -> None:
    lake.change(TableCreation("db", "t", (NewColumn("id", "bigint"),), {}))
    column = NewColumn(name, "bigint")
    for change in (
        TableCreation("db", "other", (column,), {}),
        ColumnAddition("db", "t", column),
        ColumnRename("db", "t", "id", name),
    ):
        with pytest.raises(ProcessionError, match="reserved by Iceberg") as refused:
            lake.change(change)
        assert refused.value.code is ErrorCode.NOT_SUPPORTED


def test_a_table_that_another_program_named_so_is_found_and_dropped(lake: Any) -> None:
    for name in ("a$b", "a${x}b"):
        lake.other.create_table(f"db.{name}", numbers(0).schema)
        assert lake.connector.table("db", name) is not None
        lake.change(TableRemoval("db", name))
        assert lake.connector.table("db", name) is None


def test_unregister_and_register_keep_every_row(lake: Any, ids: list[int]) -> None:
    before, files = lake.rows("t"), lake.files("t")
    location = lake.table("t").metadata_location
    assert call(lake, "unregister_table") == [(location,)]
    assert not lake.other.table_exists("db.t")
    assert lake.files("t") == files
    assert call(lake, "register_table", "back", metadata_file=location) == [(ids[2], 15, 3)]
    assert lake.rows("back") == before
    folder = str(Path(location).parent.parent).replace("file:/", "file:///")
    call(lake, "unregister_table", "back")
    assert call(lake, "register_table", "newest", metadata_location=folder) == [(ids[2], 15, 3)]
    assert lake.table("newest").metadata_location == location
    call(lake, "unregister_table", "newest")
    assert call(lake, "register_table", "named", metadata_location=folder, metadata_file=Path(location).name)
    assert refusal(lake, "register_table", "named", metadata_file=location) == (
        ErrorCode.ALREADY_EXISTS, "Table db.named already exists",
    )  # fmt: skip


def test_what_cannot_be_registered_leaves_nothing(lake: Any, ids: list[int], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.metadata.json"
    wrong.write_text("{}")
    assert refusal(lake, "register_table", "x", metadata_file=f"file://{tmp_path}/no.json")[0] is (
        ErrorCode.ICEBERG_MISSING_DATA
    )
    assert (
        refusal(lake, "register_table", "x", metadata_file=f"file://{wrong}")[0] is ErrorCode.ICEBERG_INVALID_METADATA
    )
    assert "Either metadata_file" in refusal(lake, "register_table", "x")[1]
    assert refusal(lake, "register_table", "x", metadata_file="")[1] == "Cannot handle an empty argument metadata_file"
    empty = f"file://{tmp_path}/empty"
    assert "No metadata file is in" in refusal(lake, "register_table", "x", metadata_location=empty)[1]
    assert not lake.other.table_exists("db.x")
    with pytest.raises(ProcessionError, match="Schema nope does not exist"):
        lake.call("register_table", schema="nope", table_name="x", metadata_file=f"file://{wrong}")


def test_properties_are_set_and_removed(lake: Any, ids: list[int]) -> None:
    assert call(lake, "set_table_property", key="write.summary.partition-limit", value="1") == [
        ("write.summary.partition-limit", None, "1")
    ]
    assert call(lake, "set_table_property", key="write.summary.partition-limit", value="2") == [
        ("write.summary.partition-limit", "1", "2")
    ]
    assert lake.table("t").properties["write.summary.partition-limit"] == "2"
    location = lake.table("t").metadata_location
    assert call(lake, "set_table_property", key="write.summary.partition-limit", value="2") == [
        ("write.summary.partition-limit", "2", "2")
    ]
    assert lake.table("t").metadata_location == location
    assert call(lake, "set_table_property", key="write.summary.partition-limit") == [
        ("write.summary.partition-limit", "2", None)
    ]
    assert "write.summary.partition-limit" not in lake.table("t").properties
    assert refusal(lake, "set_table_property", key="uuid", value="1")[1] == "Cannot set reserved property: uuid"
    assert "upgrade_format_version" in refusal(lake, "set_table_property", key="format-version", value="3")[1]
    assert refusal(lake, "set_table_property", key="", value="1")[1] == "Property name is empty"


def test_format_version_goes_up_only(lake: Any) -> None:
    lake.create("t", [numbers(0), numbers(10)], properties={"format-version": "1"})
    before = lake.rows("t")
    assert call(lake, "upgrade_format_version") == [(1, 2)]
    assert (lake.table("t").format_version, lake.rows("t")) == (2, before)
    assert call(lake, "upgrade_format_version") == [(2, 2)]
    lake.table("t").append(numbers(20))
    assert len(lake.rows("t")) == 15
    assert refusal(lake, "upgrade_format_version", format_version=1)[1] == "Cannot downgrade v2 table to v1"
    message = "Cannot upgrade table to unsupported format version: v9 (supported: v3)"
    assert refusal(lake, "upgrade_format_version", format_version=9)[1] == message


def test_version_three_is_set_without_an_engine(lake: Any) -> None:
    """Also of tables that Spark does not load; what it makes of one is compared in ``test_spark_catalogue``."""
    lake.create("t", [numbers(0), numbers(10)])
    before = lake.rows("t")
    assert call(lake, "upgrade_format_version", format_version=3) == [(2, 3)]
    table = lake.table("t")
    assert (table.format_version, table.metadata.next_row_id, lake.rows("t")) == (3, 0, before)
    assert call(lake, "upgrade_format_version", format_version=3) == [(3, 3)]
    assert lake.rewrite("t", {"rewrite-all": "true"})["rewritten_data_files_count"] == 2
    assert (lake.rows("t"), lake.table("t").metadata.next_row_id) == (before, len(before))


def test_savepoints(lake: Any, ids: list[int]) -> None:
    stamps = {s.snapshot_id: s.timestamp_ms for s in lake.table("t").snapshots()}
    assert call(lake, "create_savepoint", comments="it's safe") == [(True, f"savepoint-{ids[2]}", ids[2])]
    time = f"{datetime.fromtimestamp(stamps[ids[0]] / 1000, UTC):%Y%m%d%H%M%S}{stamps[ids[0]] % 1000:03d}"
    assert call(lake, "create_savepoint", commit_time=time, user="me") == [(True, f"savepoint-{ids[0]}", ids[0])]
    shown = call(lake, "show_savepoints")
    assert [row[1:5] for row in shown] == [
        (ids[2], f"savepoint-{ids[2]}", "test", "it's safe"),
        (ids[0], f"savepoint-{ids[0]}", "me", ""),
    ]
    assert shown[1][0] == time
    assert call(lake, "rollback_to_savepoint", instant_time=time) == [(True, ids[2], ids[0])]
    assert lake.rows("t") == [(i,) for i in range(5)]
    # The savepoint that is no ancestor any more can be returned to as well.
    assert call(lake, "rollback_to_savepoint", instant_time=str(ids[2])) == [(True, ids[0], ids[2])]
    assert call(lake, "delete_savepoint", instant_time=str(ids[2])) == [(True,)]
    table = lake.table("t")
    assert set(table.refs()) == {"main", f"savepoint-{ids[0]}"}
    assert [k for k in table.properties if "savepoint" in k] == [f"procession.savepoint.{ids[0]}"]
    assert refusal(lake, "delete_savepoint", instant_time=str(ids[1]))[1] == f"No savepoint is at commit {ids[1]}"
    assert refusal(lake, "create_savepoint", commit_time="20010101000000")[1] == "Commit 20010101000000 not found"
    assert refusal(lake, "rollback_to_savepoint", instant_time="x")[1] == "Commit x not found"


def test_rollback_to_instant(lake: Any, ids: list[int]) -> None:
    table = lake.table("t")
    stamps = [s.timestamp_ms for s in table.snapshots()]
    moment = datetime.fromtimestamp(stamps[1] / 1000, UTC)
    assert call(lake, "rollback_to_instant", instant_time=f"{moment:%Y%m%d%H%M%S}{stamps[1] % 1000:03d}") == [(True,)]
    assert lake.table("t").current_snapshot().snapshot_id == ids[1]
    call(lake, "set_current_snapshot", snapshot_id=ids[2])
    assert call(lake, "rollback_to_instant", instant_time=moment.isoformat()) == [(True,)]
    assert lake.table("t").current_snapshot().snapshot_id == ids[1]
    assert call(lake, "rollback_to_instant", instant_time=str(ids[0])) == [(True,)]
    assert lake.rows("t") == [(i,) for i in range(5)]
    assert "not an ancestor" in refusal(lake, "rollback_to_instant", instant_time=str(ids[2]))[1]
    assert refusal(lake, "rollback_to_instant", instant_time="yesterday")[1] == "Commit yesterday not found in Commits"
    assert "no valid snapshot" in refusal(lake, "rollback_to_instant", instant_time="20010101000000")[1]


def test_references_of_a_table_of_version_3_keep_what_only_java_knows(java_lake: Any, tmp_path: Path,
                                                                    monkeypatch: Any) -> None:  # fmt: skip
    """The new metadata file is the old one but for what changed."""
    monkeypatch.chdir(tmp_path)
    lake = java_lake(tmp_path)
    for name in ("v3_dv", "v3_default", "v3_lineage"):
        table = lake.other.load_table(f"fx.{name}")
        old = json.loads(Path(table.metadata_location).read_text())
        lake.call("create_tag", schema="fx", table_name=name, tag="v", max_ref_age_ms=5)
        table = lake.other.load_table(f"fx.{name}")
        assert table.refs()["v"].max_ref_age_ms == 5
        new = json.loads(Path(table.metadata_location).read_text())
        assert new.keys() == old.keys()
        assert new["refs"] == {**old["refs"], "v": {"snapshot-id": old["current-snapshot-id"], "type": "tag",
                                                    "max-ref-age-ms": 5}}  # fmt: skip
        assert new["metadata-log"][:-1] == old["metadata-log"]
        changed = {key for key in new if new[key] != old[key]}
        assert changed == {"refs", "metadata-log", "last-updated-ms"}


def test_a_lost_race_leaves_no_metadata_file(lake: Any, monkeypatch: Any) -> None:
    """Another writer commits between our reading and our swap: the file that lost goes, the change is made anew."""
    from coordinator.connectors.iceberg.manifests import metadata_files

    lake.create("raced", [pa.table({"id": pa.array([1], pa.int64())})])
    real, rivals = metadata_files.write_metadata, []

    def write(*arguments: Any) -> None:
        real(*arguments)
        if not rivals:
            rivals.append(lake.table("raced").append(pa.table({"id": pa.array([2], pa.int64())})))

    monkeypatch.setattr(metadata_files, "write_metadata", write)
    lake.call("create_tag", schema="db", table_name="raced", tag="t")
    assert len(rivals) == 1
    assert lake.orphans("raced") == set()
    assert set(lake.table("raced").refs()) == {"main", "t"}
    assert lake.table("raced").scan().to_arrow().num_rows == 2
