"""Names of tables in arguments mean to the access control what they mean to the procedure, and errors tell no names."""

from __future__ import annotations

import pytest

from coordinator.connectors.iceberg.procedures.source_tables import names_of
from shared.errors import ErrorCode, ProcessionError
from tests.security.access.conftest import Ruled

EXECUTE = [{"privileges": ["EXECUTE"]}]
WRITE = ["SELECT", "INSERT", "DELETE", "UPDATE", "OWNERSHIP"]
CALL = "CALL lab.system.{}(schema => 'db', table_name => 'people', {})"


@pytest.fixture
def owning(ruled: Ruled) -> Ruled:
    """``bob`` may do everything in ``db``, and nothing elsewhere."""
    ruled.rules(tables=[{"user": "bob", "schema": "db", "privileges": WRITE}], procedures=EXECUTE)
    return ruled


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        (CALL.format("commits_compare", "other_table => 'deep.db.others'"), "lab.deep.db.others"),
        (CALL.format("commits_compare", "other_table => 'LAB.deep.db.others'"), "lab.deep.db.others"),
        (CALL.format("remove_orphan_files", "file_list_view => 'deep.db.others'"), "lab.deep.db.others"),
        (CALL.format("remove_orphan_files", "file_list_view => 'tpch.db.others'"), "lab.tpch.db.others"),
        (CALL.format("add_files", "source_table => 'hidden.gold'"), "spark_catalog.hidden.gold"),
        (CALL.format("add_files", "source_table => '`spark_catalog`.hidden.gold'"), "spark_catalog.hidden.gold"),
        (CALL.format("add_files", "source_table => 'gold'"), "spark_catalog.default.gold"),
    ],
)
def test_a_name_of_several_parts_is_asked_about_as_it_is_read(owning: Ruled, call: str, asked: str) -> None:
    """``deep.db`` is a schema inside another one, not ``db``."""
    assert owning.refused("bob", call) == f"Access Denied: Cannot select from table {asked}"


def test_a_name_that_stays_in_the_own_schema(owning: Ruled) -> None:
    for name in ("others", "db.others", "lab.db.others", "Lab.db.others"):
        call = CALL.format("commits_compare", f"other_table => '{name}'")
        assert owning.rows("bob", call)[0][-1].endswith("of db.others")


def test_points_in_backquotes_divide_no_name() -> None:
    assert names_of("`spark_catalog.hidden`.gold") == ("spark_catalog.hidden", "gold")
    assert names_of("spark_catalog.hidden.`gold`") == ("spark_catalog", "hidden", "gold")


def test_spark_is_not_asked_for_a_table_of_another_catalog(ruled: Ruled) -> None:
    """For it, ``other.db.t`` would be one; what may be listed there is a temporary view."""
    ruled.rules(tables=[{"privileges": WRITE}], procedures=EXECUTE)
    for name in ("tpch.tiny.orders", "`tpch`.`tiny`.`orders`", "global_temp.v"):
        with pytest.raises(ProcessionError, match="does not exist") as failure:
            ruled.rows("bob", CALL.format("remove_orphan_files", f"file_list_view => '{name}'"))
        assert failure.value.code is ErrorCode.NOT_FOUND


def test_whose_files_a_folder_holds_is_not_told(owning: Ruled) -> None:
    owning.lake.other.create_table("hidden.gold", owning.lake.table("people").schema())
    folder = owning.lake.table("people").location().rpartition("/db/")[0] + "/hidden"
    try:
        with pytest.raises(ProcessionError) as failure:
            owning.rows("bob", CALL.format("remove_orphan_files", f"location => '{folder}'"))
        assert failure.value.message == f"Location {folder} holds files of another table"
    finally:
        owning.lake.other.drop_table("hidden.gold")


def test_catalogs_are_made_by_whose_rules_name_them(ruled: Ruled) -> None:
    """Also by who may not name all: a catalog that is to be made is in nobody's list. Hidden ones stay hidden."""
    ruled.rules(
        catalogs=[{"user": "carol", "catalog": "new.*", "allow": "all"}],
        system_information=[{"user": "carol|dave", "allow": ["read", "write"]}],
    )
    assert ruled.refused("carol", "CREATE CATALOG newest USING tpch") == ""
    for user, name in (("carol", "other"), ("carol", "lab"), ("dave", "newest")):
        refused = ruled.refused(user, f"CREATE CATALOG {name} USING tpch")
        assert refused == f"Access Denied: Cannot create catalog {name}"
    for name in ("lab", "none"):
        for text in (f"DROP CATALOG {name}", f"DROP CATALOG IF EXISTS {name}"):
            assert ruled.refused("carol", text) == f"Access Denied: Cannot access catalog {name}"
