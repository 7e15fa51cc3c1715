"""Statements about roles and privileges; ``IN catalog`` is Trino's."""

from __future__ import annotations

from coordinator.sql.cursor import Cursor
from coordinator.sql.parse_parts import object_name
from coordinator.sql.role_statements import (
    CreateRole,
    DropRole,
    Grantor,
    GrantPrivileges,
    GrantRoles,
    RevokePrivileges,
    RevokeRoles,
    RoleStatement,
    SetRole,
    ShowGrants,
    ShowRoleGrants,
    ShowRoles,
)
from shared.errors import ErrorLocation
from shared.spi.grants import Principal


def parse_create_role(cursor: Cursor, location: ErrorLocation) -> CreateRole:
    """What follows CREATE ROLE."""
    role = cursor.name()
    admin = _grantor(cursor) if cursor.accept("WITH", "ADMIN") else None
    return CreateRole(role, admin, _in_catalog(cursor), location)


def parse_drop_role(cursor: Cursor, location: ErrorLocation) -> DropRole:
    """What follows DROP ROLE."""
    return DropRole(cursor.name(), _in_catalog(cursor), location)


def parse_set_role(cursor: Cursor, location: ErrorLocation) -> SetRole:
    """What follows SET ROLE."""
    if cursor.word in ("ALL", "NONE"):
        kind = cursor.expect("ALL", "NONE")
        return SetRole(kind, None, _in_catalog(cursor), location)
    return SetRole("ROLE", cursor.name(), _in_catalog(cursor), location)


def parse_grant(cursor: Cursor) -> RoleStatement:
    """GRANT of roles, and of privileges on a table."""
    location = cursor.location
    cursor.expect("GRANT")
    privileges = _listed(cursor)
    if privileges is not None and cursor.word != "ON":
        cursor.expect("TO")
        grantees = _principals(cursor)
        option = cursor.accept("WITH", "ADMIN", "OPTION")
        roles = tuple(name.lower() for name in privileges)
        return GrantRoles(roles, grantees, option, _granted_by(cursor), _in_catalog(cursor), location)
    table = _on_table(cursor)
    cursor.expect("TO")
    grantee = parse_principal(cursor)
    option = cursor.accept("WITH", "GRANT", "OPTION")
    return GrantPrivileges(_upper(privileges), table, grantee, option, location)


def parse_revoke(cursor: Cursor) -> RoleStatement:
    """REVOKE of roles, and of privileges on a table."""
    location = cursor.location
    cursor.expect("REVOKE")
    admin_option = cursor.accept("ADMIN", "OPTION", "FOR")
    grant_option = not admin_option and cursor.accept("GRANT", "OPTION", "FOR")
    privileges = _listed(cursor)
    if privileges is not None and not grant_option and (admin_option or cursor.word != "ON"):
        cursor.expect("FROM")
        roles = tuple(name.lower() for name in privileges)
        grantees = _principals(cursor)
        return RevokeRoles(roles, grantees, admin_option, _granted_by(cursor), _in_catalog(cursor), location)
    table = _on_table(cursor)
    cursor.expect("FROM")
    return RevokePrivileges(_upper(privileges), table, parse_principal(cursor), grant_option, location)


def parse_show_roles(cursor: Cursor, location: ErrorLocation, *, current: bool) -> ShowRoles:
    """What follows SHOW [CURRENT] ROLES."""
    return ShowRoles(current, _of_catalog(cursor), location)


def parse_show_role_grants(cursor: Cursor, location: ErrorLocation) -> ShowRoleGrants:
    """What follows SHOW ROLE."""
    cursor.expect("GRANTS")
    return ShowRoleGrants(_of_catalog(cursor), location)


def parse_show_grants(cursor: Cursor, location: ErrorLocation) -> ShowGrants:
    """What follows SHOW GRANTS."""
    return ShowGrants(_on_table(cursor) if cursor.word == "ON" else (), location)


def _listed(cursor: Cursor) -> tuple[str, ...] | None:
    """Privileges or roles; None for ALL PRIVILEGES."""
    if cursor.word == "ALL" and cursor.ahead(1) == "PRIVILEGES":
        cursor.expect("ALL")
        cursor.expect("PRIVILEGES")
        return None
    names = [cursor.any_name()]
    while cursor.accept(","):
        names.append(cursor.any_name())
    return tuple(names)


def _upper(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(dict.fromkeys(name.upper() for name in names))


def _on_table(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("ON")
    if cursor.word == "TABLE" and cursor.ahead(1) not in ("TO", "FROM", "."):
        cursor.expect("TABLE")
    return object_name(cursor)


def _principals(cursor: Cursor) -> tuple[Principal, ...]:
    found = [parse_principal(cursor)]
    while cursor.accept(","):
        found.append(parse_principal(cursor))
    return tuple(dict.fromkeys(found))


def parse_principal(cursor: Cursor) -> Principal:
    """``USER x``, ``ROLE x``, or ``x``, which is a user."""
    follows = cursor.ahead(1) not in (",", "WITH", "GRANTED", "IN") and cursor.kind_ahead(1) != "end"
    if cursor.word in ("USER", "ROLE") and follows and cursor.expect("ROLE", "USER") == "ROLE":
        return Principal("ROLE", cursor.name())
    if not cursor.is_identifier():
        raise cursor.refuse("<identifier>")
    return Principal("USER", cursor.identifier().value)


def _granted_by(cursor: Cursor) -> Grantor | None:
    return _grantor(cursor) if cursor.accept("GRANTED", "BY") else None


def _grantor(cursor: Cursor) -> Grantor:
    if cursor.word in ("CURRENT_USER", "CURRENT_ROLE"):
        return Grantor(cursor.expect("CURRENT_USER", "CURRENT_ROLE"))
    return Grantor("PRINCIPAL", parse_principal(cursor))


def _in_catalog(cursor: Cursor) -> str | None:
    return cursor.name() if cursor.accept("IN") else None


def _of_catalog(cursor: Cursor) -> str | None:
    return cursor.name() if cursor.accept("FROM") or cursor.accept("IN") else None
