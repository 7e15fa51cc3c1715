"""SET and RESET SESSION, USE, PREPARE and DEALLOCATE, transactions: statements that change the client's session."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from coordinator.analyzer.constants import evaluate_constant, typed_constant
from coordinator.connectors.registry import Catalogs
from coordinator.kernels.functions.zones import zone_name, zone_of
from coordinator.sql.parse_session import TIME_ZONE_PROPERTY
from coordinator.sql.statements import (
    Commit,
    Deallocate,
    Prepare,
    ResetSession,
    Rollback,
    SetSession,
    StartTransaction,
    Use,
)
from coordinator.vocabulary.foreign_properties import PRESTO_ONLY
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, ReturnRows, SessionChange
from coordinator.vocabulary.session_properties import PropertiesByName, SessionProperty, check_value
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.protocol.headers import url_encode
from shared.spi.plan_checker import PrestoWarning
from shared.spi.session import Session

LONGEST_HEADER = 60_000
"""Bytes of a name and a text. Python's HTTP client reads 65,536 of a header, and others less."""
_WITHOUT_EFFECT = (4, "SEMANTIC_WARNING")
_MOST_MINUTES = 14 * 60
_VALUE_TYPES = {"duration": "varchar", "data size": "varchar"}


def session_statement(change: SessionChange, update_type: str) -> PlannedStatement:
    """A statement whose result is ``true`` and whose effect is in the response's headers."""
    return PlannedStatement(
        query_type="CONTROL",
        columns=(Column("result", "boolean"),),
        work=ReturnRows(((True,),)),
        update_type=update_type,
        session_change=change,
    )


def plan_set_session(
    statement: SetSession, session: Session, catalogs: Catalogs, properties: PropertiesByName
) -> PlannedStatement:
    """Raises ProcessionError for an undeclared property or a value that is not of its type."""
    if statement.name[-1] in PRESTO_ONLY and len(statement.name) == 1:
        return _without_meaning(statement, session)
    declared = _property(statement.name, statement.location, catalogs, properties)
    if declared.name == TIME_ZONE_PROPERTY and len(statement.name) == 1:
        offset = _offset(statement, session)
        if offset is not None:
            return session_statement(SessionChange(set_session={TIME_ZONE_PROPERTY: offset}), "SET SESSION")
    expected = _VALUE_TYPES.get(declared.type, declared.type)
    value = evaluate_constant(statement.value, expected, session)
    if value is None:
        message = f"Session property value must not be null: {'.'.join(statement.name)}"
        raise ProcessionError(ErrorCode.INVALID_SESSION_PROPERTY, message)
    rendered = str(value).lower() if isinstance(value, bool) else str(value)
    check_value(declared, rendered)
    if declared.name == TIME_ZONE_PROPERTY and rendered:
        rendered = _known_zone(rendered)
    size = len(url_encode(rendered))
    if size > LONGEST_HEADER:
        most = f"it takes {size} bytes, and {LONGEST_HEADER} are possible"
        message = f"Value of {declared.name} is too long for the header in which clients keep it: {most}"
        raise ProcessionError(ErrorCode.INVALID_SESSION_PROPERTY, message)
    return session_statement(SessionChange(set_session={".".join(statement.name): rendered}), "SET SESSION")


def _offset(statement: SetSession, session: Session) -> str | None:
    """``+02:00`` for INTERVAL '2' HOUR, within Trino's bounds; None for what is no interval."""
    type_, value = typed_constant(statement.value, session)
    if type_.base != "interval day to second" or not isinstance(value, timedelta):
        return None
    minutes, rest = divmod(value, timedelta(minutes=1))
    if rest:
        message = "Invalid time zone offset interval: interval contains seconds"
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, message)
    if abs(minutes) > _MOST_MINUTES:
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, f"Invalid offset minutes {minutes}")
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else "UTC"


def _known_zone(name: str) -> str:
    """A zone as headers have it, ``+05:00`` for ``+5``; raises as an unknown one in a header does.

    Every later statement of the session would fail by it, RESET SESSION too.
    """
    try:
        return zone_name(zone_of(name))
    except ValueError as error:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Time zone not supported: {name}") from error


def _without_meaning(statement: SetSession, session: Session) -> PlannedStatement:
    """A property of Presto's that nothing here reads: taken, with a warning."""
    (name,) = statement.name
    _, value = typed_constant(statement.value, session)
    if value is None:
        message = f"Session property value must not be null: {name}"
        raise ProcessionError(ErrorCode.INVALID_SESSION_PROPERTY, message)
    rendered = str(value).lower() if isinstance(value, bool) else str(value)
    planned = session_statement(SessionChange(set_session={name: rendered}), "SET SESSION")
    text = f"Session property {name} of Presto has no effect here"
    return replace(planned, warnings=(PrestoWarning(*_WITHOUT_EFFECT, text),))


def plan_reset_session(statement: ResetSession, catalogs: Catalogs, properties: PropertiesByName) -> PlannedStatement:
    if statement.name[-1] not in PRESTO_ONLY or len(statement.name) > 1:
        _property(statement.name, statement.location, catalogs, properties)
    return session_statement(SessionChange(clear_session=(".".join(statement.name),)), "RESET SESSION")


def _property(
    name: tuple[str, ...], location: ErrorLocation, catalogs: Catalogs, properties: PropertiesByName
) -> SessionProperty:
    if len(name) == 1:
        declared = properties.get(name[0])
    else:
        if name[0] not in catalogs.names():
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Catalog {name[0]} does not exist", location=location)
        # A connector that has session properties declares them by a method of this name; none is required.
        of_connector: Callable[[], Any] = getattr(catalogs.connector(name[0]), "session_properties", tuple)
        declared = next((p for p in of_connector() if p.name == name[1]), None)
    if declared is None:
        message = f"Session property {'.'.join(name)} does not exist"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    return declared


def plan_use(statement: Use, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError when the catalog or schema does not exist, in Presto's words for USE."""
    catalog = statement.catalog or session.catalog
    if catalog is None:
        message = "Catalog must be specified when session catalog is not set"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    if catalog not in catalogs.names():
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Catalog does not exist: {catalog}")
    if not catalogs.schema_exists(catalog, statement.schema):
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Schema does not exist: {catalog}.{statement.schema}")
    return session_statement(SessionChange(set_catalog=catalog, set_schema=statement.schema), "USE")


def plan_prepare(statement: Prepare) -> PlannedStatement:
    """Raises QUERY_TEXT_TOO_LARGE for what a client cannot keep."""
    size = len(url_encode(statement.name)) + len(url_encode(statement.text))
    if size > LONGEST_HEADER:
        most = f"it takes {size} bytes, and {LONGEST_HEADER} are possible"
        message = f"Prepared statement {statement.name} is too long for the header in which clients keep it: {most}"
        raise ProcessionError(ErrorCode.QUERY_TEXT_TOO_LARGE, message)
    return session_statement(SessionChange(added_prepare={statement.name: statement.text}), "PREPARE")


def plan_deallocate(statement: Deallocate, session: Session) -> PlannedStatement:
    prepared_text(statement.name, session)
    return session_statement(SessionChange(deallocated_prepare=(statement.name,)), "DEALLOCATE")


def prepared_text(name: str, session: Session) -> str:
    """The text of a prepared statement; raises NOT_FOUND."""
    for known, text in session.prepared_statements.items():
        if known.lower() == name:
            return text
    raise ProcessionError(ErrorCode.NOT_FOUND, f"Prepared statement not found: {name}")


def plan_transaction(statement: StartTransaction | Commit | Rollback, session: Session) -> PlannedStatement:
    """Transactions hold no state here: statements commit by themselves, and clients send these around single ones."""
    if isinstance(statement, StartTransaction):
        if not session.client_transaction_support:
            raise ProcessionError(ErrorCode.INCOMPATIBLE_CLIENT, "Client does not support transactions")
        if session.transaction_id is not None:
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, "Nested transactions not supported")
        return session_statement(SessionChange(started_transaction_id=str(uuid.uuid4())), "START TRANSACTION")
    if session.transaction_id is None:
        raise ProcessionError(ErrorCode.NOT_IN_TRANSACTION, "No transaction in progress")
    kind = "COMMIT" if isinstance(statement, Commit) else "ROLLBACK"
    return session_statement(SessionChange(clear_transaction_id=True), kind)
