"""ALTER SCHEMA, TABLE and VIEW … SET AUTHORIZATION. Texts: Trino's ``SetTableAuthorizationTask`` and siblings.

A view that runs as its owner runs as the new one, so only who may act as that user gives it to them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from coordinator.connectors.registry import Catalogs
from coordinator.planner.ddl import change_statement
from coordinator.planner.guard import current_guard
from coordinator.planner.object_names import (
    ObjectName,
    connector_of,
    existing_table,
    missing_table,
    object_name,
    refuse_reference,
    schema_name,
)
from coordinator.sql.ddl_statements import SetAuthorization
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.accesses import TableName
from shared.spi.catalog_changes import OwnerChange
from shared.spi.connector import ViewMetadata
from shared.spi.grants import Principal
from shared.spi.session import Session

_UPDATE_TYPE = "SET AUTHORIZATION"


def plan_set_authorization(statement: SetAuthorization, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError: there is no such object or role, or nothing keeps its owner."""
    match statement.kind:
        case "SCHEMA":
            return _of_schema(statement, session, catalogs)
        case "TABLE":
            return _of_table(statement, session, catalogs)
        case "VIEW":
            return _of_view(statement, session, catalogs)
        case _:
            assert_never(statement.kind)


def _of_schema(statement: SetAuthorization, session: Session, catalogs: Catalogs) -> PlannedStatement:
    catalog, schema = schema_name(statement.name, statement.location, session)
    if not connector_of(catalog, statement.location, catalogs).schema_exists(schema):
        message = f"Schema '{catalog}.{schema}' does not exist"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    _check_kept(catalog, "schema", catalogs)
    _check_role(statement.principal, catalog, statement.location, catalogs)
    return _change(catalog, OwnerChange(schema, "", statement.principal), catalogs)


def _of_table(statement: SetAuthorization, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name = object_name(statement.name, statement.location, session)
    found = existing_table(name, statement.location, catalogs)
    if {"$", "@"} & set(name.name):  # parts of a table, which belong to whom it belongs
        raise missing_table(name, statement.location)
    refuse_reference(name, found)
    _check_kept(name.catalog, "table", catalogs)
    _check_role(statement.principal, name.catalog, statement.location, catalogs)
    return _change(name.catalog, OwnerChange(name.schema, name.name, statement.principal), catalogs)


def _of_view(statement: SetAuthorization, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name = object_name(statement.name, statement.location, session)
    connector_of(name.catalog, statement.location, catalogs)
    view = catalogs.view(name.catalog, name.schema, name.name)
    if view is None:
        message = f"View '{name}' does not exist"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    if catalogs.capabilities(name.catalog).changes is None:
        raise _unsupported("view")
    if statement.principal.kind == "ROLE" and catalogs.capabilities(name.catalog).grants is None:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, "This connector does not support roles")
    _check_role(statement.principal, name.catalog, statement.location, catalogs)
    owned = _owned_view(name, view, statement, session)
    return _change(name.catalog, OwnerChange(name.schema, name.name, statement.principal, owned), catalogs)


def _change(catalog: str, change: OwnerChange, catalogs: Catalogs) -> PlannedStatement:
    grants = catalogs.capabilities(catalog).grants
    object_id = None if grants is None else grants.object_id(change.schema, change.name)
    return change_statement(catalog, replace(change, object_id=object_id), _UPDATE_TYPE)


def _owned_view(name: ObjectName, view: ViewMetadata, statement: SetAuthorization, session: Session) -> ViewMetadata:
    """The view with the text that was looked at, so that no other one runs as the new owner."""
    if view.dialect != "presto":
        message = f"View '{name}' is {view.dialect}'s, whose owner only that engine sets"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=statement.location)
    owner = statement.principal
    if view.security == "INVOKER":
        return view if owner.kind == "ROLE" else replace(view, owner=owner.name)
    if owner.kind == "ROLE":
        message = f"View '{name}' runs as its owner, which cannot be a role"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=statement.location)
    if view.owner != owner.name:
        current_guard(session).ask_to_run_as(TableName(name.catalog, name.schema, name.name), owner.name)
    return replace(view, owner=owner.name)


def _check_kept(catalog: str, kind: str, catalogs: Catalogs) -> None:
    if catalogs.capabilities(catalog).grants is None:
        raise _unsupported(kind)


def _unsupported(kind: str) -> ProcessionError:
    message = f"This connector does not support setting an owner on a {kind}"
    return ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def _check_role(principal: Principal, catalog: str, location: ErrorLocation, catalogs: Catalogs) -> None:
    if principal.kind == "ROLE" and principal.name not in catalogs.grants(catalog).read().roles:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Role '{principal.name}' does not exist", location=location)
