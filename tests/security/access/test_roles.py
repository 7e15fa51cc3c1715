"""``iceberg.security=sql-standard``: roles and privileges in the catalog's database, as with Presto's Hive."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.security.access_control.load import load_access_policy
from shared.errors import ErrorCode, ProcessionError
from shared.properties import ConfigurationError, Property
from tests.security.access.conftest import ADMIN, Ruled, root


def error(lab: Ruled, user: str, text: str, **options: Any) -> tuple[ErrorCode, str] | None:
    try:
        lab.plan(user, text, **options)
    except ProcessionError as failure:
        return failure.code, failure.message
    return None


@pytest.mark.slow
def test_nothing_is_allowed_without_a_grant(lab: Ruled) -> None:
    assert "Cannot select from columns [id]" in lab.refused("bob", "SELECT id FROM people")
    assert "Cannot show tables of schema lab.db" in lab.refused("bob", "SHOW TABLES")
    assert lab.rows("bob", "SHOW SCHEMAS FROM lab") == [("information_schema",)]
    assert lab.rows("bob", "SELECT table_name FROM information_schema.tables WHERE table_schema = 'db'") == []
    assert lab.rows("bob", "SELECT count(*) FROM tpch.tiny.nation") == [(25,)]
    # The role counts when it is chosen, and for those who have it.
    assert lab.refused("root", "SELECT id FROM people") != ""
    assert lab.rows("root", "SELECT count(*) FROM people", **ADMIN) == [(4,)]
    assert lab.refused("bob", "SELECT 1 FROM people", **ADMIN) == "Access Denied: Cannot set role admin"
    assert lab.refused("bob", "SHOW TABLES", **ADMIN) == "Access Denied: Cannot set role admin"


@pytest.mark.parametrize(
    ("privilege", "text"),
    [
        ("SELECT", "SELECT id FROM people"),
        ("INSERT", "INSERT INTO people VALUES (9, 'x', 1, DATE '2026-01-01')"),
        ("DELETE", "DELETE FROM people"),
        ("DELETE", "TRUNCATE TABLE people"),
        ("UPDATE", "UPDATE people SET name = 'x'"),
    ],
)
def test_privileges(lab: Ruled, privilege: str, text: str) -> None:
    others = {"SELECT", "INSERT", "DELETE", "UPDATE"} - {privilege}
    root(lab, f"GRANT {', '.join(sorted(others))} ON people TO USER bob")
    assert lab.refused("bob", text).startswith("Access Denied: Cannot "), text
    root(lab, f"GRANT {privilege} ON TABLE db.people TO bob")
    assert lab.refused("bob", text) == ""
    assert lab.refused("carol", text) != ""
    root(lab, f"REVOKE {privilege} ON people FROM USER bob")
    assert lab.refused("bob", text) != ""
    assert lab.refused("bob", "DROP TABLE people") == "Access Denied: Cannot drop table lab.db.people"
    assert lab.rows("bob", "SHOW TABLES") == [("people",)]


def test_roles_in_roles(lab: Ruled) -> None:
    root(lab, "CREATE ROLE readers", "CREATE ROLE staff", "GRANT readers TO ROLE staff", "GRANT staff TO USER bob")
    root(lab, "GRANT SELECT ON people TO ROLE readers", "GRANT SELECT ON others TO ROLE staff")
    assert lab.rows("bob", "SELECT count(*) FROM people") == [(4,)]
    assert lab.rows("bob", "SHOW CURRENT ROLES") == [("public",), ("readers",), ("staff",)]
    assert lab.rows("bob", "SHOW ROLE GRANTS") == [("staff",)]
    chosen = {"roles": {"lab": "ROLE{readers}"}}
    assert lab.rows("bob", "SELECT count(*) FROM people", **chosen) == [(4,)]
    assert lab.refused("bob", "SELECT 1 FROM others", **chosen).startswith("Access Denied: Cannot select")
    assert lab.refused("bob", "SELECT 1 FROM people", roles={"lab": "NONE"}) != ""
    assert lab.rows("bob", "SELECT role_name FROM information_schema.enabled_roles", **chosen) == [
        ("public",), ("readers",),
    ]  # fmt: skip
    applicable = "SELECT grantee, grantee_type, role_name, is_grantable FROM information_schema.applicable_roles"
    assert sorted(lab.rows("bob", applicable)) == [("bob", "USER", "staff", "NO"), ("staff", "ROLE", "readers", "NO")]
    assert lab.rows("carol", applicable) == []
    assert lab.rows("root", "SELECT role_name FROM information_schema.roles", **ADMIN) == [
        ("admin",), ("public",), ("readers",), ("staff",),
    ]  # fmt: skip
    assert lab.rows("carol", "SELECT role_name FROM information_schema.roles") == [("public",)]
    cycle = error(lab, "root", "GRANT staff TO ROLE readers", **ADMIN)
    assert cycle is None  # told where it is carried out
    with pytest.raises(ProcessionError, match="has that role already"):
        root(lab, "GRANT staff TO ROLE readers")
    root(lab, "DROP ROLE readers")
    assert lab.refused("bob", "SELECT 1 FROM people") != ""
    root(lab, "CREATE ROLE readers")  # is another one
    assert lab.refused("bob", "SELECT 1 FROM people") != ""


def test_who_may_grant(lab: Ruled) -> None:
    for text, expected in {
        "CREATE ROLE x": "Cannot create role x",
        "DROP ROLE x": "Cannot drop role x",
        "GRANT x TO USER carol": "Cannot grant roles [x] to [USER carol]",
        "REVOKE x FROM ROLE y": "Cannot revoke roles [x] from [ROLE y]",
        "SET ROLE x": "Cannot set role x",
        "SHOW ROLES": "Cannot show roles from catalog lab",
        "GRANT SELECT ON people TO carol": "Cannot grant privilege SELECT on table lab.db.people",
        "REVOKE ALL PRIVILEGES ON people FROM carol": "Cannot revoke privilege SELECT on table lab.db.people",
    }.items():
        assert error(lab, "bob", text) == (ErrorCode.PERMISSION_DENIED, f"Access Denied: {expected}"), text
    root(lab, "CREATE ROLE x WITH ADMIN USER bob", "GRANT SELECT ON people TO bob WITH GRANT OPTION")
    lab.rows("bob", "GRANT x TO USER carol")
    lab.rows("bob", "GRANT SELECT ON people TO ROLE x")
    assert lab.refused("bob", "GRANT INSERT ON people TO ROLE x").startswith("Access Denied: Cannot grant privilege")
    assert lab.rows("carol", "SELECT count(*) FROM people") == [(4,)]
    assert lab.refused("carol", "GRANT x TO USER eve") != ""
    root(lab, "REVOKE GRANT OPTION FOR SELECT ON people FROM bob", "REVOKE ADMIN OPTION FOR x FROM bob")
    assert lab.refused("bob", "GRANT SELECT ON people TO ROLE x") != ""
    assert lab.refused("bob", "GRANT x TO USER eve") != ""
    assert lab.rows("bob", "SELECT count(*) FROM people") == [(4,)]


def test_who_makes_a_table_owns_it(lab: Ruled) -> None:
    assert "Cannot create schema" in lab.refused("bob", "CREATE SCHEMA mine")
    root(lab, "CREATE SCHEMA roots")
    assert lab.refused("bob", "CREATE TABLE roots.t (x bigint)") == "Access Denied: Cannot create table lab.roots.t"
    with sqlite3.connect(lab.lake.uri.removeprefix("sqlite:///")) as database:
        database.execute("UPDATE procession_table_grants SET grantee = 'bob' WHERE table_name = ''")
        database.execute("UPDATE procession_grant_versions SET version = version + 1")
    lab.rows("bob", "CREATE TABLE roots.t (x bigint)")
    assert lab.rows("bob", "SELECT * FROM roots.t") == []
    lab.rows("bob", "GRANT SELECT ON roots.t TO USER carol")
    assert lab.rows("carol", "SHOW TABLES FROM roots") == [("t",)]
    assert "Cannot drop table" in lab.refused("carol", "DROP TABLE roots.t")
    lab.rows("bob", "ALTER TABLE roots.t RENAME TO u")
    assert lab.rows("carol", "SELECT * FROM roots.u") == []
    lab.rows("bob", "DROP TABLE roots.u")
    lab.rows("bob", "CREATE TABLE roots.u (x bigint)")  # another table: nobody has been granted anything on it
    assert "Cannot select" in lab.refused("carol", "SELECT * FROM roots.u")
    lab.rows("bob", "CREATE VIEW roots.v AS SELECT x FROM u", schema="roots")
    lab.rows("bob", "GRANT SELECT ON roots.v TO USER carol")
    assert lab.rows("carol", "SELECT * FROM roots.v") == []
    lab.rows("bob", "DROP VIEW roots.v")
    lab.rows("bob", "DROP TABLE roots.u")
    lab.rows("bob", "DROP SCHEMA roots")


def test_show_grants(lab: Ruled) -> None:
    root(lab, "CREATE ROLE readers", "GRANT SELECT ON people TO ROLE readers", "GRANT readers TO USER bob")
    root(lab, "GRANT INSERT ON others TO USER carol WITH GRANT OPTION")
    first = ("root", "USER", "readers", "ROLE", "lab", "db", "people", "SELECT", "NO", None)
    second = ("root", "USER", "carol", "USER", "lab", "db", "others", "INSERT", "YES", None)
    assert lab.rows("bob", "SHOW GRANTS") == [first]
    assert lab.rows("bob", "SHOW GRANTS ON TABLE people") == [first]
    assert "Cannot show columns of table" in lab.refused("bob", "SHOW GRANTS ON others")
    assert lab.rows("carol", "SHOW GRANTS") == [second]
    assert sorted(lab.rows("root", "SHOW GRANTS", **ADMIN)) == [second, first]
    assert lab.rows("carol", "SELECT * FROM information_schema.table_privileges") == [second]


def test_set_role(lab: Ruled) -> None:
    root(lab, "CREATE ROLE readers", "GRANT readers TO USER bob")
    for text, expected in {
        "SET ROLE readers": "ROLE{readers}", "SET ROLE ALL": "ALL", "SET ROLE NONE": "NONE", "SET ROLE public": None,
    }.items():  # fmt: skip
        change = lab.plan("bob", text).session_change
        assert dict(change.set_role) == {"lab": expected or "ROLE{public}"}, text
    assert dict(lab.plan("bob", "SET ROLE readers IN lab", catalog=None, schema=None).session_change.set_role) != {}


def test_calls_are_the_admins(lab: Ruled) -> None:
    call = "CALL lab.system.rewrite_manifests('db', 'people')"
    root(lab, "GRANT ALL PRIVILEGES ON people TO USER bob")
    assert lab.refused("bob", call) == "Access Denied: Cannot execute procedure lab.system.rewrite_manifests"
    assert lab.refused("root", call, **ADMIN) == ""


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("CREATE ROLE admin", ErrorCode.SYNTAX_ERROR, "Role 'admin' already exists"),
        ('CREATE ROLE "all"', ErrorCode.ALREADY_EXISTS, "Role name cannot be one of the reserved roles"),
        ("DROP ROLE nobody", ErrorCode.SYNTAX_ERROR, "Role 'nobody' does not exist"),
        ("DROP ROLE admin", ErrorCode.NOT_SUPPORTED, "Role 'admin' cannot be dropped"),
        ("GRANT nobody TO USER bob", ErrorCode.SYNTAX_ERROR, "Role 'nobody' does not exist"),
        ("GRANT admin TO ROLE nobody", ErrorCode.SYNTAX_ERROR, "Role 'nobody' does not exist"),
        ("GRANT public TO bob", ErrorCode.NOT_SUPPORTED, "Role 'public' is everybody's"),
        ("GRANT admin TO bob GRANTED BY CURRENT_USER", ErrorCode.NOT_SUPPORTED, "GRANTED BY is not supported"),
        ("GRANT FLY ON people TO bob", ErrorCode.SYNTAX_ERROR, "Unknown privilege: 'fly'"),
        ("GRANT SELECT ON nothing TO bob", ErrorCode.SYNTAX_ERROR, "Table 'lab.db.nothing' does not exist"),
        ('GRANT SELECT ON "people$files" TO bob', ErrorCode.SYNTAX_ERROR, "does not exist"),
        ("GRANT SELECT ON people TO ROLE nobody", ErrorCode.SYNTAX_ERROR, "Role 'nobody' does not exist"),
        ("CREATE ROLE x IN tpch", ErrorCode.NOT_SUPPORTED, "This connector does not support creating roles"),
        ("SHOW ROLES FROM tpch", ErrorCode.NOT_SUPPORTED, "This connector does not support roles"),
        ("SHOW CURRENT ROLES IN tpch", ErrorCode.NOT_SUPPORTED, "This connector does not support roles"),
        ("GRANT SELECT ON tpch.tiny.nation TO bob", ErrorCode.NOT_SUPPORTED, "does not support grants"),
        ("SHOW GRANTS ON tpch.tiny.nation", ErrorCode.NOT_SUPPORTED, "does not support grants"),
        ("GRANT SELECT ON people", ErrorCode.SYNTAX_ERROR, "mismatched input '<EOF>'"),
        ("GRANT ON people TO x", ErrorCode.SYNTAX_ERROR, "mismatched input"),
        ("SHOW ROLE", ErrorCode.SYNTAX_ERROR, "mismatched input '<EOF>'"),
        ("SET ROLE", ErrorCode.SYNTAX_ERROR, "mismatched input '<EOF>'"),
    ],
)
def test_refusals(lab: Ruled, text: str, code: ErrorCode, message: str) -> None:
    found = error(lab, "root", text, **ADMIN)
    assert found is not None and found[0] is code and message in found[1], found


def test_no_catalog(lab: Ruled) -> None:
    found = error(lab, "root", "CREATE ROLE x", catalog=None, schema=None)
    assert found == (ErrorCode.SYNTAX_ERROR, "Session catalog must be set")


def test_names_that_would_be_sql(lab: Ruled) -> None:
    hostile = "x'; DROP TABLE procession_roles; --"
    root(
        lab,
        f'CREATE ROLE "{hostile}"',
        f'GRANT "{hostile}" TO USER "o\'Neil"',
        f'GRANT SELECT ON people TO ROLE "{hostile}"',
    )
    assert lab.rows("o'Neil", "SELECT count(*) FROM people") == [(4,)]
    assert lab.refused("O'NEIL", "SELECT count(*) FROM people") != ""  # names of users are as they are written


def test_another_process_sees_it_at_once(lab: Ruled, tmp_path: Path) -> None:
    other = Catalogs([CatalogConfig("lab", "iceberg", lab.catalogs.properties()["lab"], lab.home)])
    store = other.grants("lab")
    before = store.read()
    root(lab, "GRANT SELECT ON people TO USER bob")
    assert len(store.read().table_grants) == len(before.table_grants) + 1
    assert store.read() is store.read()


def test_only_a_database_keeps_them(tmp_path: Path) -> None:
    said = {"iceberg.security": "sql-standard", "iceberg.catalog.type": "rest", "iceberg.rest.uri": "http://localhost"}
    file = tmp_path / "lab.properties"
    config = CatalogConfig("lab", "iceberg", {k: Property(k, v, file, 2) for k, v in said.items()}, tmp_path)
    with pytest.raises(ConfigurationError, match="kept in the database"):
        Catalogs([config]).connector("lab")
    said = {"hive.users.in.admin.role": "root"}
    config = CatalogConfig("lab", "iceberg", {k: Property(k, v, file, 2) for k, v in said.items()}, tmp_path)
    with pytest.raises(ConfigurationError, match=r"'iceberg\.security' is not 'sql-standard'"):
        load_access_policy(tmp_path, Catalogs([config]), authenticated=False)
