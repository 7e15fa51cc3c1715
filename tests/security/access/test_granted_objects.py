"""Grants are on what was there when they were given: what another program makes anew under the name has none."""

from __future__ import annotations

import sqlite3

from coordinator.connectors.iceberg.grants import SqlGrants
from coordinator.connectors.registry import CatalogConfig, Catalogs
from shared.spi.catalog_changes import TableCreation
from shared.spi.grants import Principal, PrivilegeGranting
from tests.execution import FakeExecution
from tests.security.access.conftest import ADMIN, PEOPLE, Ruled, root

COUNT = "SELECT count(*) FROM made"


def by_another_program(lab: Ruled, name: str = "made") -> None:
    if lab.lake.other.table_exists(f"db.{name}"):
        lab.lake.other.drop_table(f"db.{name}")
    lab.lake.create(name, [PEOPLE])


def test_a_table_made_anew_begins_without_grants(lab: Ruled) -> None:
    by_another_program(lab)
    root(lab, "ALTER TABLE made SET AUTHORIZATION bob", "GRANT SELECT ON made TO USER carol")
    assert lab.rows("bob", COUNT) == lab.rows("carol", COUNT) == [(4,)]
    by_another_program(lab)
    for user in ("bob", "carol"):
        assert "Cannot select" in lab.refused(user, COUNT)
        assert lab.rows(user, "SHOW GRANTS") == []
        assert lab.rows(user, "SELECT * FROM information_schema.table_privileges") == []
        columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'made'"
        assert lab.rows(user, columns) == []
        assert "Cannot show columns" in lab.refused(user, "DESCRIBE made")
    assert "Cannot drop" in lab.refused("bob", "DROP TABLE made")
    root(lab, "GRANT SELECT ON made TO USER carol")  # on the new one
    assert lab.rows("carol", COUNT) == [(4,)]
    assert "Cannot select" in lab.refused("bob", COUNT)


def test_renames_keep_them(lab: Ruled) -> None:
    by_another_program(lab)
    root(lab, "GRANT SELECT ON made TO USER carol", "ALTER TABLE made RENAME TO moved")
    assert lab.rows("carol", "SELECT count(*) FROM moved") == [(4,)]
    by_another_program(lab)
    assert "Cannot select" in lab.refused("carol", COUNT)
    root(lab, "DROP TABLE moved")


def test_another_programs_rename_takes_them_nowhere(lab: Ruled) -> None:
    """A grant is on a thing under a name: neither the name alone nor the thing alone is enough."""
    by_another_program(lab)
    root(lab, "GRANT SELECT ON made TO USER carol")
    lab.lake.other.rename_table("db.made", "db.moved")
    assert "Cannot select" in lab.refused("carol", "SELECT count(*) FROM moved")
    lab.lake.other.rename_table("db.moved", "db.made")
    assert lab.rows("carol", COUNT) == [(4,)]


def test_a_schema_made_anew_is_nobodys(lab: Ruled) -> None:
    root(lab, "CREATE SCHEMA mine", "ALTER SCHEMA mine SET AUTHORIZATION bob")
    assert lab.refused("bob", "CREATE TABLE mine.t (x bigint)") == ""
    lab.lake.other.drop_namespace("mine")
    lab.lake.other.create_namespace("mine")
    assert "Cannot create table" in lab.refused("bob", "CREATE TABLE mine.t (x bigint)")
    assert ("mine",) not in lab.rows("bob", "SHOW SCHEMAS FROM lab")
    assert "schema-id" not in str(lab.rows("root", "SHOW CREATE SCHEMA mine", **ADMIN))
    root(lab, "DROP SCHEMA mine")


def test_a_view_made_anew_begins_without_grants(lab: Ruled) -> None:
    root(lab, "GRANT SELECT ON people TO USER root WITH GRANT OPTION")
    root(lab, "CREATE VIEW seen AS SELECT id FROM people", "GRANT SELECT ON seen TO USER carol")
    assert len(lab.rows("carol", "SELECT * FROM seen")) == 4
    text = "SELECT view_definition FROM information_schema.views WHERE table_name = 'seen'"
    assert lab.rows("carol", text) == [("SELECT id FROM people",)]
    _drop_view(lab, "seen")
    root(lab, "CREATE VIEW other AS SELECT salary FROM people")
    _rename_view(lab, "other", "seen")
    assert "Cannot select" in lab.refused("carol", "SELECT * FROM seen")
    assert lab.rows("carol", text) in ([], [(None,)])
    root(lab, "DROP VIEW seen")


def _drop_view(lab: Ruled, name: str) -> None:
    with sqlite3.connect(lab.lake.uri.removeprefix("sqlite:///")) as database:
        database.execute("DELETE FROM iceberg_tables WHERE table_name = ?", (name,))


def _rename_view(lab: Ruled, old: str, new: str) -> None:
    with sqlite3.connect(lab.lake.uri.removeprefix("sqlite:///")) as database:
        database.execute("UPDATE iceberg_tables SET table_name = ? WHERE table_name = ?", (new, old))


def test_a_grant_that_was_planned_for_another_table_gives_nothing(lab: Ruled) -> None:
    by_another_program(lab)
    store = lab.catalogs.grants("lab")
    old = store.object_id("db", "made")
    assert old is not None
    by_another_program(lab)
    store.change(PrivilegeGranting("db", "made", ("SELECT",), Principal("USER", "carol"), False, "root", old))
    assert "Cannot select" in lab.refused("carol", COUNT)


def test_rows_of_an_older_version_are_taken_over_once(lab: Ruled) -> None:
    by_another_program(lab)
    root(lab, "CREATE SCHEMA mine", "ALTER SCHEMA mine SET AUTHORIZATION bob", "GRANT SELECT ON made TO USER carol")
    root(lab, "GRANT INSERT ON made TO USER eve")
    with sqlite3.connect(lab.lake.uri.removeprefix("sqlite:///")) as database:
        database.execute("ALTER TABLE procession_table_grants DROP COLUMN object_id")
        database.execute(
            "INSERT INTO procession_table_grants VALUES ('lab', 'db', 'gone', 'SELECT', 'USER', 'carol', 0, 'root')"
        )
        database.execute("UPDATE procession_grant_versions SET version = version + 1")
    lab.lake.other.update_namespace_properties("mine", removals={"procession.schema-id"})
    newer = Catalogs([CatalogConfig("lab", "iceberg", lab.catalogs.properties()["lab"], lab.home)])
    taken = newer.grants("lab").read().table_grants
    assert {grant.table for grant in taken} == {"", "made"}
    assert all(grant.object_id for grant in taken)
    assert lab.rows("carol", COUNT) == [(4,)]
    assert lab.refused("bob", "CREATE TABLE mine.t (x bigint)") == ""
    by_another_program(lab)
    assert "Cannot select" in lab.refused("carol", COUNT)
    assert newer.grants("lab").read().table_grants == taken  # and not again
    root(lab, "DROP SCHEMA mine")


def test_a_table_made_anew_meanwhile_is_not_given_away(lab: Ruled) -> None:
    by_another_program(lab)
    root(lab, "ALTER TABLE made SET AUTHORIZATION dan")
    planned = lab.plan("dan", "ALTER TABLE made SET AUTHORIZATION bob")
    by_another_program(lab)
    list(lab.executor.execute(planned, FakeExecution(session=lab.session("dan"))))
    assert "Cannot drop" in lab.refused("bob", "DROP TABLE made")
    assert lab.refused("root", "DROP TABLE made", **ADMIN) == ""


def test_who_replaces_a_table_does_not_come_to_own_it(lab: Ruled) -> None:
    by_another_program(lab)
    root(lab, "ALTER TABLE made SET AUTHORIZATION bob")
    grants = lab.catalogs.grants("lab")
    assert isinstance(grants, SqlGrants)
    grants.follow(TableCreation("db", "made", (), {}, replaces=True), "mallory")
    assert lab.rows("bob", COUNT) == [(4,)]
    assert "Cannot select" in lab.refused("mallory", COUNT)
    replacing = "CREATE OR REPLACE TABLE made AS SELECT 1 AS x"
    assert "Cannot drop" in lab.refused("mallory", replacing)
    assert "Cannot create table" in lab.refused("bob", replacing)  # dropping is his, creating is not
    assert lab.refused("root", replacing, **ADMIN) == ""
    root(lab, "DROP TABLE made")
