"""Statements about the session: PREPARE and its family, SET, RESET, USE, START TRANSACTION."""

from __future__ import annotations

from collections.abc import Callable

from coordinator.sql.cursor import Cursor
from coordinator.sql.parse_roles import parse_set_role
from coordinator.sql.statements import (
    Deallocate,
    Execute,
    ExecuteImmediate,
    Prepare,
    ResetSession,
    SetSession,
    StartTransaction,
    Statement,
    Use,
)
from shared.errors import ErrorCode, ErrorLocation, ProcessionError

TIME_ZONE_PROPERTY = "time_zone_id"
"""Trino's name."""


def parse_prepare(cursor: Cursor, parse: Callable[[Cursor], Statement]) -> Prepare:
    """``PREPARE name FROM statement``; the statement's text is kept as written."""
    location = cursor.location
    cursor.expect("PREPARE")
    name = cursor.name()
    cursor.expect("FROM")
    text = cursor.text_to_end()
    statement = parse(cursor)
    if isinstance(statement, Prepare | Execute | ExecuteImmediate | Deallocate):
        kind = type(statement).__name__
        message = f"Invalid statement type for prepared statement: {kind}"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=location)
    cursor.skip_to_end()
    return Prepare(name, statement, text)


def parse_execute(cursor: Cursor) -> Statement:
    """``EXECUTE name [USING …]`` and ``EXECUTE IMMEDIATE 'text' [USING …]``."""
    location = cursor.location
    cursor.expect("EXECUTE")
    if cursor.word == "IMMEDIATE" and cursor.ahead(1) not in {"USING", ""}:
        raise _after_immediate(cursor)
    if cursor.word == "IMMEDIATE" and cursor.kind_ahead(1) not in ("end", "word"):
        cursor.expect("IMMEDIATE")
        return ExecuteImmediate(cursor.text_of_string(), _using(cursor), location)
    return Execute(cursor.name(), _using(cursor), location)


def _after_immediate(cursor: Cursor) -> ProcessionError:
    cursor.expect("IMMEDIATE")
    return cursor.refuse("<string>")


def _using(cursor: Cursor) -> tuple[str, ...]:
    if cursor.at_end:
        return ()
    cursor.expect("USING")
    parameters = [cursor.expression_with_text()[1]]
    while cursor.accept(","):
        parameters.append(cursor.expression_with_text()[1])
    return tuple(parameters)


def parse_deallocate(cursor: Cursor) -> Deallocate:
    """``DEALLOCATE PREPARE name``."""
    cursor.expect("DEALLOCATE")
    cursor.expect("PREPARE")
    return Deallocate(cursor.name())


def parse_set(cursor: Cursor) -> Statement:
    """``SET SESSION [catalog.]name = value``, SET ROLE, and Trino's SET TIME ZONE, which sets a property there too."""
    location = cursor.location
    cursor.expect("SET")
    match cursor.expect("ROLE", "SESSION", "TIME"):
        case "ROLE":
            return parse_set_role(cursor, location)
        case "TIME":
            return _set_time_zone(cursor, location)
    name = _property_name(cursor)
    cursor.expect("=")
    return SetSession(name, cursor.read_expression(), location)


def _set_time_zone(cursor: Cursor, location: ErrorLocation) -> SetSession | ResetSession:
    """``ZONE LOCAL``, that of the client, or ``ZONE 'name or offset'``."""
    cursor.expect("ZONE")
    if cursor.accept("LOCAL"):
        return ResetSession((TIME_ZONE_PROPERTY,), location)
    return SetSession((TIME_ZONE_PROPERTY,), cursor.read_expression(), location)


def parse_reset(cursor: Cursor) -> ResetSession:
    """``RESET SESSION [catalog.]name``."""
    location = cursor.location
    cursor.expect("RESET")
    cursor.expect("SESSION")
    return ResetSession(_property_name(cursor), location)


def _property_name(cursor: Cursor) -> tuple[str, ...]:
    location = cursor.location
    name = cursor.qualified_name()
    if len(name) > 2:
        message = f"Invalid session property '{'.'.join(name)}'"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    return name


def parse_use(cursor: Cursor) -> Use:
    """``USE schema`` or ``USE catalog.schema``."""
    location = cursor.location
    cursor.expect("USE")
    first = cursor.name()
    if cursor.accept("."):
        return Use(first, cursor.name(), location)
    return Use(None, first, location)


def parse_start_transaction(cursor: Cursor) -> StartTransaction:
    """``START TRANSACTION [ISOLATION LEVEL …] [, READ ONLY | READ WRITE]``."""
    cursor.expect("START")
    cursor.expect("TRANSACTION")
    isolation: str | None = None
    read_only: bool | None = None
    while not cursor.at_end:
        if cursor.expect("ISOLATION", "READ") == "ISOLATION":
            cursor.expect("LEVEL")
            isolation = _isolation(cursor)
        else:
            read_only = cursor.expect("ONLY", "WRITE") == "ONLY"
        if not cursor.at_end:
            cursor.expect(",")
    return StartTransaction(isolation, read_only)


def _isolation(cursor: Cursor) -> str:
    first = cursor.expect("READ", "REPEATABLE", "SERIALIZABLE")
    if first == "SERIALIZABLE":
        return first
    second = cursor.expect("COMMITTED", "UNCOMMITTED") if first == "READ" else cursor.expect("READ")
    return f"{first} {second}"
