"""Statements about roles, privileges and owners: what is asked of a connector, what is shown and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coordinator.vocabulary.planned_statement import SessionChange
from shared.spi.catalog_changes import OwnerChange
from shared.spi.grants import (
    Principal,
    PrivilegeGranting,
    PrivilegeRevoking,
    RoleCreation,
    RoleGranting,
    RoleRemoval,
    RoleRevoking,
)
from tests.planner.editable_catalogs import ASKED, CHEAP, changed, planned

EVE, READERS = Principal("USER", "eve"), Principal("ROLE", "readers")
ALL = ("SELECT", "INSERT", "DELETE", "UPDATE")
ORDERS = ("db", "orders")
SHOWN = (
    ("ann", "USER", "readers", "ROLE", "iceberg", "db", "orders", "SELECT", "NO", None),
    ("ann", "USER", "test", "USER", "iceberg", "db", "orders", "DELETE", "YES", None),
)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("CREATE ROLE Auditors", RoleCreation("auditors")),
        ("CREATE ROLE auditors WITH ADMIN CURRENT_USER", RoleCreation("auditors", Principal("USER", "test"))),
        ('CREATE ROLE auditors WITH ADMIN USER "Ann"', RoleCreation("auditors", Principal("USER", "Ann"))),
        ("DROP ROLE writers", RoleRemoval("writers")),
        (
            "GRANT writers, readers TO USER eve, ROLE readers WITH ADMIN OPTION",
            RoleGranting(("writers", "readers"), (EVE, READERS), True),
        ),
        ("REVOKE ADMIN OPTION FOR writers FROM eve", RoleRevoking(("writers",), (EVE,), True)),
        (
            "GRANT SELECT, INSERT ON orders TO eve WITH GRANT OPTION",
            PrivilegeGranting(*ORDERS, ("SELECT", "INSERT"), EVE, True, "test", "id of db.orders"),
        ),
        (
            "GRANT ALL PRIVILEGES ON TABLE orders TO ROLE readers",
            PrivilegeGranting(*ORDERS, ALL, READERS, False, "test", "id of db.orders"),
        ),
        ("REVOKE GRANT OPTION FOR SELECT ON orders FROM eve", PrivilegeRevoking(*ORDERS, ("SELECT",), EVE, True)),
        ("REVOKE ALL PRIVILEGES ON orders FROM ROLE readers", PrivilegeRevoking(*ORDERS, ALL, READERS, False)),
        ("ALTER SCHEMA db SET AUTHORIZATION eve", OwnerChange("db", "", EVE, None, "id of db")),
        (
            "ALTER TABLE orders SET AUTHORIZATION ROLE readers",
            OwnerChange(*ORDERS, READERS, None, "id of db.orders"),
        ),
        (
            "ALTER VIEW cheap SET AUTHORIZATION eve",
            OwnerChange("db", "cheap", EVE, replace(CHEAP, owner="eve"), "id of db.cheap"),
        ),
        (
            "ALTER VIEW asked SET AUTHORIZATION ROLE readers",
            OwnerChange("db", "asked", READERS, ASKED, "id of db.asked"),
        ),
        ("SHOW ROLES", (("readers",), ("writers",))),
        ("SHOW CURRENT ROLES", (("public",), ("readers",), ("writers",))),
        ("SHOW ROLE GRANTS", (("writers",),)),
        ("SHOW GRANTS ON orders", SHOWN),
        ("SHOW GRANTS ON cheap", ()),
        ("SHOW GRANTS", SHOWN),
    ],
)
def test_what_is_asked_for_or_shown(text: str, change: object) -> None:
    """A grant on another table that had the name is not shown, nor what concerns somebody else."""
    assert changed(text) == change


@pytest.mark.parametrize(("text", "role"), [("writers", "ROLE{writers}"), ("ALL", "ALL"), ("NONE", "NONE")])
def test_set_role(text: str, role: str) -> None:
    found = planned(f"SET ROLE {text}")
    assert not isinstance(found, str)
    assert found.session_change == SessionChange(set_role={"iceberg": role})


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("CREATE ROLE Writers", "SYNTAX_ERROR: line 1:1: Role 'writers' already exists"),
        (
            'CREATE ROLE "none"',
            "ALREADY_EXISTS: line 1:1: Role name cannot be one of the reserved roles: [all, default, none]",
        ),
        (
            "CREATE ROLE a WITH ADMIN CURRENT_ROLE",
            "NOT_SUPPORTED: line 1:1: WITH ADMIN CURRENT_ROLE is not supported",
        ),
        ("CREATE ROLE a IN lake", "NOT_SUPPORTED: This connector does not support creating roles"),
        ("DROP ROLE nope", "SYNTAX_ERROR: line 1:1: Role 'nope' does not exist"),
        ("GRANT nope TO eve", "SYNTAX_ERROR: line 1:1: Role 'nope' does not exist"),
        ("GRANT writers TO ROLE nope", "SYNTAX_ERROR: line 1:1: Role 'nope' does not exist"),
        ("GRANT writers TO eve GRANTED BY CURRENT_USER", "NOT_SUPPORTED: line 1:1: GRANTED BY is not supported"),
        ("SET ROLE nope", "SYNTAX_ERROR: line 1:1: Role 'nope' does not exist"),
        ("GRANT FLY ON orders TO eve", "SYNTAX_ERROR: line 1:1: Unknown privilege: 'fly'"),
        ("GRANT SELECT ON none TO eve", "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.none' does not exist"),
        (
            'GRANT SELECT ON "orders$files" TO eve',
            "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.orders$files' does not exist",
        ),
        ("GRANT SELECT ON cheap TO ROLE nope", "SYNTAX_ERROR: line 1:1: Role 'nope' does not exist"),
        ("REVOKE SELECT ON lake.db.orders FROM eve", "NOT_SUPPORTED: This connector does not support revokes"),
        ("SHOW GRANTS ON none", "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.none' does not exist"),
        ("SHOW ROLES FROM lake", "NOT_SUPPORTED: This connector does not support roles"),
        ("ALTER SCHEMA none SET AUTHORIZATION eve", "SYNTAX_ERROR: line 1:1: Schema 'iceberg.none' does not exist"),
        (
            "ALTER SCHEMA lake.db SET AUTHORIZATION eve",
            "NOT_SUPPORTED: This connector does not support setting an owner on a schema",
        ),
        ("ALTER TABLE orders SET AUTHORIZATION ROLE nope", "SYNTAX_ERROR: line 1:1: Role 'nope' does not exist"),
        ("ALTER TABLE none SET AUTHORIZATION eve", "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.none' does not exist"),
        (
            "ALTER VIEW cheap SET AUTHORIZATION ROLE readers",
            "NOT_SUPPORTED: line 1:1: View 'iceberg.db.cheap' runs as its owner, which cannot be a role",
        ),
        (
            "ALTER VIEW foreign SET AUTHORIZATION eve",
            "NOT_SUPPORTED: line 1:1: View 'iceberg.db.foreign' is spark's, whose owner only that engine sets",
        ),
        ("ALTER VIEW none SET AUTHORIZATION eve", "SYNTAX_ERROR: line 1:1: View 'iceberg.db.none' does not exist"),
    ],
)
def test_what_is_refused(text: str, error: str) -> None:
    assert planned(text) == error
