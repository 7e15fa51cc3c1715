"""A user who may make tables and call procedures gets at no file of other tables by choosing where theirs lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from coordinator.security.access_control.built_in import AllowAll
from shared.errors import ErrorCode, ProcessionError
from tests.security.access.conftest import Ruled


def folder(ruled: Ruled) -> str:
    return ruled.lake.table("people").location()


@pytest.mark.parametrize("place", ["", "/data", "/metadata", "/data/deeper", "/..", "/"])
def test_a_table_in_another_ones_folder(ruled: Ruled, place: str) -> None:
    ruled.control(AllowAll())
    location = f"{folder(ruled)}{place}" if place != "/.." else folder(ruled).rpartition("/")[0]
    with pytest.raises(ProcessionError) as error:
        ruled.rows("bob", f"CREATE TABLE mine (x bigint) WITH (location = '{location}')")
    assert error.value.code is ErrorCode.PERMISSION_DENIED
    assert error.value.message == f"Access Denied: Location {location} holds files of another table"
    ruled.rows("bob", f"CREATE TABLE mine (x bigint) WITH (location = '{folder(ruled)}s')")
    ruled.rows("bob", "DROP TABLE mine")


@pytest.mark.parametrize("place", ["data", "data/deeper"])
def test_orphans_of_a_table_that_another_program_put_there(ruled: Ruled, place: str) -> None:
    """Live files of the outer table are orphans for its metadata."""
    location = f"{folder(ruled)}/{place}"
    ruled.lake.other.create_table("db.inner", ruled.lake.table("people").schema(), location=location)
    try:
        for file in Path(folder(ruled).removeprefix("file://")).rglob("*"):
            if file.is_file():
                os.utime(file, (0, 0))
        before = ruled.lake.rows("people")
        for dry_run in (True, False):
            with pytest.raises(ProcessionError, match="holds files of another table"):
                ruled.lake.call("remove_orphan_files", schema="db", table_name="inner", dry_run=dry_run)
        assert ruled.lake.rows("people") == before
    finally:
        ruled.lake.other.drop_table("db.inner")


def test_an_order_is_read_and_so_is_a_list_of_files(ruled: Ruled) -> None:
    """The order of the rows in the files would tell that of the values."""
    write = ["SELECT", "INSERT", "DELETE", "UPDATE"]
    hidden = {"table": "people", "privileges": write, "columns": [{"name": "salary", "allow": False}]}
    others = {"table": "others", "privileges": []}
    ruled.rules(tables=[hidden, others], procedures=[{"privileges": ["EXECUTE"]}])
    call = "CALL lab.system.{}(schema => 'db', table_name => 'people'{})"
    sort = ", strategy => 'sort', sort_order => 'salary DESC'"
    assert "Cannot select" in ruled.refused("bob", call.format("rewrite_data_files", sort))
    assert ruled.refused("bob", call.format("rewrite_data_files", "")) == ""
    listed = call.format("remove_orphan_files", ", file_list_view => 'db.others'")
    assert ruled.refused("bob", listed) == "Access Denied: Cannot select from table lab.db.others"
