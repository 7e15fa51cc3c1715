"""No statement and no call puts one table over the files of another, and dropping one never takes another's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.connectors.iceberg.locations import holds, within
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import NewColumn, SchemaCreation, TableCreation, TableRemoval

ROWS = pa.table({"id": pa.array(range(10), pa.int64())})


@pytest.fixture
def home(lake: Any) -> str:
    """The folder of the table ``t``, beside which there is ``mine``."""
    lake.create("mine", [ROWS])
    location: str = lake.create("t", [ROWS]).location()
    return location


def refused(lake: Any, procedure: str, **given: Any) -> None:
    with pytest.raises(ProcessionError, match="holds files of another table") as failure:
        lake.call(procedure, **{"schema": "db", "table_name": "mine", **given})
    assert failure.value.code is ErrorCode.PERMISSION_DENIED
    assert "db.t " not in failure.value.message


@pytest.mark.parametrize("part", ["", "/", "/data", "/metadata", "/not/yet"])
@pytest.mark.parametrize("scheme", ["file://", "file:", ""])
def test_calls_take_no_folder_of_another_table(lake: Any, home: str, part: str, scheme: str) -> None:
    folder = scheme + home.removeprefix("file://") + part
    before = lake.files("t")
    refused(lake, "register_table", table_name="x", metadata_location=folder)
    refused(lake, "register_table", table_name="x", metadata_file=lake.table("t").metadata_location)
    refused(lake, "add_files", source_table=f"`parquet`.`{folder}`")
    refused(lake, "snapshot", table_name="x", source_table=f"`parquet`.`{folder}`")
    refused(lake, "migrate", table_name="x", source_table=f"`parquet`.`{folder}`")
    refused(lake, "set_table_property", key="write.data.path", value=folder)
    refused(lake, "export_metadata", location=folder)
    refused(lake, "rewrite_table_path", source_prefix="a", target_prefix="b", staging_location=folder)
    assert lake.files("t") == before
    assert lake.connector.tables("db") == ["mine", "t"]


@pytest.mark.parametrize("part", ["", "/data", "/not/yet"])
def test_statements_take_no_folder_of_another_table(lake: Any, home: str, part: str) -> None:
    columns = (NewColumn("id", "bigint"),)
    for change in (
        TableCreation("db", "x", columns, {"location": home + part}),
        TableCreation("db", "x", columns, {"write.data.path": home + part}),
        SchemaCreation("other", {"location": home + part}),
    ):
        for carried_out in (lake.connector.validate, lake.change):
            with pytest.raises(ProcessionError, match="holds files of another table"):
                carried_out(change)
    assert lake.connector.tables("db") == ["mine", "t"]
    assert not lake.connector.schema_exists("other")


def test_a_folder_around_other_tables_is_theirs(lake: Any, home: str) -> None:
    above = home.rpartition("/")[0]
    with pytest.raises(ProcessionError, match="holds files of another table"):
        lake.change(TableCreation("db", "x", (NewColumn("id", "bigint"),), {"location": above}))


def test_a_folder_with_files_is_no_new_table_s(lake: Any, home: str) -> None:
    lake.call("unregister_table", schema="db", table_name="t")
    new = TableCreation("db", "x", (NewColumn("id", "bigint"),), {"location": home})
    with pytest.raises(ProcessionError, match="Cannot create a table on a non-empty location") as failure:
        lake.change(new)
    assert failure.value.code is ErrorCode.ICEBERG_FILESYSTEM_ERROR
    empty = f"{home}-empty"
    lake.change(TableCreation("db", "x", (NewColumn("id", "bigint"),), {"location": empty}))
    again = TableCreation("db", "x", (NewColumn("id", "bigint"),), {"location": empty}, if_not_exists=True)
    lake.change(again)
    with pytest.raises(ProcessionError) as failure:
        lake.change(TableCreation("db", "x", (NewColumn("id", "bigint"),), {"location": empty}))
    assert failure.value.code is ErrorCode.ALREADY_EXISTS


def test_what_another_program_registered_twice_is_dropped_once(lake: Any, home: str) -> None:
    before, files = lake.rows("t"), lake.files("t")
    lake.other.register_table("db.twin", lake.table("t").metadata_location)
    lake.change(TableRemoval("db", "twin"))
    assert not lake.other.table_exists("db.twin")
    assert lake.files("t") == files
    assert lake.rows("t") == before
    lake.change(TableRemoval("db", "t"))
    assert [file for file in Path(home.removeprefix("file://")).rglob("*") if file.is_file()] == []


def test_files_that_lie_in_another_table_s_folder_stay_when_theirs_is_dropped(lake: Any, home: str) -> None:
    """As a table of another program's ``add_files`` has them."""
    inside = Path(home.removeprefix("file://")) / "data" / "added.parquet"
    pq.write_table(ROWS, inside)
    lake.table("mine").add_files([f"file://{inside}"])
    own = lake.table("mine").metadata_location.removeprefix("file://")
    lake.change(TableRemoval("db", "mine"))
    assert inside.is_file()
    assert not Path(own).exists()


def test_metadata_that_is_kept_apart_holds_no_folder(lake: Any, home: str) -> None:
    """Of several tables in one folder: only what it says is its own is."""
    apart = f"{home.rpartition('/')[0]}/metadata"
    for name in ("a", "b"):
        lake.other.create_table(f"db.{name}", ROWS.schema, properties={"write.metadata.path": apart}).append(ROWS)
    lake.change(TableCreation("db", "x", (NewColumn("id", "bigint"),), {"location": f"{home}-x"}))
    lake.change(TableRemoval("db", "a"))
    assert lake.rows("b") == lake.rows("mine")
    assert not any(f"{home.rpartition('/')[0]}/a/" in str(file) for file in lake.home.rglob("*.parquet"))
    refused(lake, "register_table", table_name="y", metadata_location=apart)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("s3://a/b", "s3a://a/b/c", True),
        ("s3://a/b/", "s3://a/bc", False),
        ("s3://a/b", "s3://x/b", False),
        ("s3://a", "s3://a/b", True),
        ("file:/a/b", "/a/b/c.parquet", True),
    ],
)
def test_folders_hold_by_whole_names(one: str, other: str, expected: bool) -> None:
    assert holds(one, other) is expected
    assert not holds(other, one)
    assert within([one])(f"{other}/file") is expected
    assert not within([])(f"{other}/file")
