"""Statements about roles and privileges. Source of texts: Presto's ``CreateRoleTask``, ``GrantTask`` and siblings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from coordinator.connectors.registry import Catalogs
from coordinator.planner.ddl import change_statement
from coordinator.planner.object_names import ObjectName, connector_of, object_name
from coordinator.planner.session_statements import session_statement
from coordinator.planner.show import rows_statement
from coordinator.security.access_control.enabled_roles import enabled_roles, role_text
from coordinator.security.access_control.shown_grants import GRANT_COLUMNS, shown_grants, standing
from coordinator.sql import role_statements as sql
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, SessionChange
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.access_control import identity_of_session
from shared.spi.grants import (
    ADMIN_ROLE,
    PRIVILEGES,
    PUBLIC_ROLE,
    GrantStore,
    Principal,
    PrivilegeGranting,
    PrivilegeRevoking,
    RoleCreation,
    RoleGranting,
    RoleRemoval,
    RoleRevoking,
)
from shared.spi.session import Session

_RESERVED = ("all", "default", "none")


def catalog_of_roles(catalog: str | None, session: Session, location: ErrorLocation) -> str:
    """The catalog whose roles are meant; raises ProcessionError when none is."""
    found = catalog or session.catalog
    if found is None:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, "Session catalog must be set", location=location)
    return found.lower()


def privileges_of(privileges: tuple[str, ...] | None, location: ErrorLocation) -> tuple[str, ...]:
    """Those that can be granted; raises ProcessionError for others."""
    for privilege in privileges or ():
        if privilege not in PRIVILEGES:
            message = f"Unknown privilege: '{privilege.lower()}'"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    return PRIVILEGES if privileges is None else privileges


def plan_of_roles(statement: sql.RoleStatement, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError."""
    match statement:
        case sql.CreateRole() | sql.DropRole():
            return _create_or_drop(statement, session, catalogs)
        case sql.GrantRoles() | sql.RevokeRoles():
            return _grant_roles(statement, session, catalogs)
        case sql.SetRole():
            return _set_role(statement, session, catalogs)
        case sql.GrantPrivileges() | sql.RevokePrivileges():
            return _grant(statement, session, catalogs)
        case sql.ShowRoles() | sql.ShowRoleGrants():
            return _show_roles(statement, session, catalogs)
        case sql.ShowGrants():
            return _show_grants(statement, session, catalogs)
        case _:
            assert_never(statement)


def _store(catalog: str, location: ErrorLocation, catalogs: Catalogs, words: str) -> GrantStore:
    connector_of(catalog, location, catalogs)
    found = catalogs.capabilities(catalog).grants
    if found is None:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"This connector does not support {words}")
    return found


def _create_or_drop(statement: sql.CreateRole | sql.DropRole, session: Session, catalogs: Catalogs) -> PlannedStatement:
    catalog, role, location = (
        catalog_of_roles(statement.catalog, session, statement.location), statement.role, statement.location,
    )  # fmt: skip
    words = "creating roles" if isinstance(statement, sql.CreateRole) else "dropping roles"
    roles = _store(catalog, location, catalogs, words).read().roles
    if isinstance(statement, sql.DropRole):
        _check_known((role,), (), roles, location)
        if role in (ADMIN_ROLE, PUBLIC_ROLE):
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Role '{role}' cannot be dropped", location=location)
        return change_statement(catalog, RoleRemoval(role), "DROP ROLE")
    if role in _RESERVED:
        message = f"Role name cannot be one of the reserved roles: [{', '.join(_RESERVED)}]"
        raise ProcessionError(ErrorCode.ALREADY_EXISTS, message, location=location)
    if role in roles:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Role '{role}' already exists", location=location)
    return change_statement(catalog, RoleCreation(role, _grantor(statement.admin, session, location)), "CREATE ROLE")


def _grant_roles(statement: sql.GrantRoles | sql.RevokeRoles, session: Session, catalogs: Catalogs) -> PlannedStatement:
    catalog = catalog_of_roles(statement.catalog, session, statement.location)
    known = _store(catalog, statement.location, catalogs, "roles").read().roles
    if statement.grantor is not None:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, "GRANTED BY is not supported", location=statement.location)
    _check_known(statement.roles, statement.grantees, known, statement.location)
    if PUBLIC_ROLE in statement.roles:
        message = f"Role '{PUBLIC_ROLE}' is everybody's"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=statement.location)
    if isinstance(statement, sql.GrantRoles):
        return change_statement(
            catalog, RoleGranting(statement.roles, statement.grantees, statement.admin_option), "GRANT ROLE"
        )
    return change_statement(
        catalog, RoleRevoking(statement.roles, statement.grantees, statement.admin_option_only), "REVOKE ROLE"
    )


def _set_role(statement: sql.SetRole, session: Session, catalogs: Catalogs) -> PlannedStatement:
    catalog = catalog_of_roles(statement.catalog, session, statement.location)
    roles = _store(catalog, statement.location, catalogs, "roles").read().roles
    if statement.role is not None:
        _check_known((statement.role,), (), roles, statement.location)
    return session_statement(SessionChange(set_role={catalog: role_text(statement.kind, statement.role)}), "SET ROLE")


def _grant(
    statement: sql.GrantPrivileges | sql.RevokePrivileges, session: Session, catalogs: Catalogs
) -> PlannedStatement:
    location = statement.location
    name = object_name(statement.table, location, session)
    words = "grants" if isinstance(statement, sql.GrantPrivileges) else "revokes"
    store = _store(name.catalog, location, catalogs, words)
    roles = store.read().roles
    privileges = privileges_of(statement.privileges, location)
    _check_exists(name, location, catalogs)
    _check_known((), (statement.grantee,), roles, location)
    if isinstance(statement, sql.GrantPrivileges):
        granted = PrivilegeGranting(
            name.schema, name.name, privileges, statement.grantee, statement.grant_option, session.user,
            store.object_id(name.schema, name.name) or "",
        )  # fmt: skip
        return change_statement(name.catalog, granted, "GRANT")
    revoked = PrivilegeRevoking(name.schema, name.name, privileges, statement.grantee, statement.grant_option_only)
    return change_statement(name.catalog, revoked, "REVOKE")


def _check_exists(name: ObjectName, location: ErrorLocation, catalogs: Catalogs) -> None:
    # A name with a sign in it (t$files, t@7) stands for a part of a table, whose privileges are the table's.
    there = not {"$", "@"} & set(name.name) and (
        catalogs.table(name.catalog, name.schema, name.name) or catalogs.view(name.catalog, name.schema, name.name)
    )
    if not there:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Table '{name}' does not exist", location=location)


def _check_known(
    roles: Iterable[str], principals: Iterable[Principal], known: frozenset[str], location: ErrorLocation
) -> None:
    for role in (*roles, *(each.name for each in principals if each.kind == "ROLE")):
        if role not in known:
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Role '{role}' does not exist", location=location)


def _grantor(grantor: sql.Grantor | None, session: Session, location: ErrorLocation) -> Principal | None:
    if grantor is None or grantor.principal is not None:
        return None if grantor is None else grantor.principal
    if grantor.kind == "CURRENT_ROLE":
        message = "WITH ADMIN CURRENT_ROLE is not supported"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=location)
    return Principal("USER", session.user)


def _show_roles(
    statement: sql.ShowRoles | sql.ShowRoleGrants, session: Session, catalogs: Catalogs
) -> PlannedStatement:
    catalog = catalog_of_roles(statement.catalog, session, statement.location)
    grants = _store(catalog, statement.location, catalogs, "roles").read()
    if isinstance(statement, sql.ShowRoleGrants):
        user = Principal("USER", session.user)
        return _names("Role Grants", {grant.role for grant in grants.role_grants if grant.grantee == user})
    shown = enabled_roles(grants, identity_of_session(session), catalog) if statement.current else grants.roles
    return _names("Role", shown)


def _names(column: str, names: Iterable[str]) -> PlannedStatement:
    return rows_statement((Column(column, "varchar"),), [(name,) for name in sorted(names)])


def _show_grants(statement: sql.ShowGrants, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name = object_name(statement.table, statement.location, session) if statement.table else None
    catalog = catalog_of_roles(None if name is None else name.catalog, session, statement.location)
    store = _store(catalog, statement.location, catalogs, "grants")
    grants = standing(store.read(), store.object_id)
    rows: Sequence[Sequence[object]] = shown_grants(grants, identity_of_session(session), catalog)
    if name is not None:
        _check_exists(name, statement.location, catalogs)
        rows = [row for row in rows if (row[5], row[6]) == (name.schema, name.name)]
    return rows_statement([Column(column, "varchar") for column in GRANT_COLUMNS], rows)
