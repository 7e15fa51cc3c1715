"""What statements about roles and privileges ask for, by their words alone."""

from __future__ import annotations

from typing import assert_never

from coordinator.planner.object_names import object_name
from coordinator.planner.roles import catalog_of_roles, privileges_of
from coordinator.sql import role_statements as sql
from shared.errors import ErrorLocation
from shared.spi import accesses as of
from shared.spi.session import Session


def accesses_of_roles(statement: sql.RoleStatement, session: Session) -> tuple[of.Access, ...]:
    """In the order in which they are asked; of their own roles and privileges everybody may know."""
    match statement:
        case sql.CreateRole():
            return (of.CreateRole(catalog_of_roles(statement.catalog, session, statement.location), statement.role),)
        case sql.DropRole():
            return (of.DropRole(catalog_of_roles(statement.catalog, session, statement.location), statement.role),)
        case sql.GrantRoles():
            catalog = catalog_of_roles(statement.catalog, session, statement.location)
            return (of.GrantRoles(catalog, statement.roles, statement.grantees),)
        case sql.RevokeRoles():
            catalog = catalog_of_roles(statement.catalog, session, statement.location)
            return (of.RevokeRoles(catalog, statement.roles, statement.grantees),)
        case sql.SetRole():
            catalog = catalog_of_roles(statement.catalog, session, statement.location)
            return () if statement.role is None else (of.SetRole(catalog, statement.role),)
        case sql.GrantPrivileges():
            table = _table(statement.table, statement.location, session)
            asked = privileges_of(statement.privileges, statement.location)
            return tuple(of.GrantTablePrivilege(table, privilege) for privilege in asked)
        case sql.RevokePrivileges():
            table = _table(statement.table, statement.location, session)
            asked = privileges_of(statement.privileges, statement.location)
            return tuple(of.RevokeTablePrivilege(table, privilege) for privilege in asked)
        case sql.ShowRoles():
            catalog = catalog_of_roles(statement.catalog, session, statement.location)
            return () if statement.current else (of.ShowRoles(catalog),)
        case sql.ShowGrants():
            return (of.ShowColumns(_table(statement.table, statement.location, session)),) if statement.table else ()
        case sql.ShowRoleGrants():
            return ()
        case _:
            assert_never(statement)


def _table(parts: tuple[str, ...], location: ErrorLocation, session: Session) -> of.TableName:
    name = object_name(parts, location, session)
    return of.TableName(name.catalog, name.schema, name.name)
