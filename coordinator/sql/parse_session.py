"""Statements about the session: PREPARE and its family, SET, RESET, USE, START TRANSACTION."""

from __future__ import annotations

from collections.abc import Callable

from coordinator.sql.parse_call import read_expression_text
from coordinator.sql.queries import parse_expression
from coordinator.sql.statements import (
    Deallocate,
    Execute,
    ExecuteImmediate,
    OtherStatement,
    Prepare,
    ResetSession,
    SetSession,
    StartTransaction,
    Statement,
    Use,
)
from coordinator.sql.tokens import Cursor
from shared.errors import ErrorCode, ProcessionError


def parse_prepare(cursor: Cursor, parse: Callable[[Cursor], Statement]) -> Prepare:
    """``PREPARE name FROM statement``; the statement's text is kept as written."""
    location = cursor.location
    cursor.expect("PREPARE")
    name = cursor.identifier()
    cursor.expect("FROM")
    token = cursor.current
    text = "" if token is None else cursor.text[token.start :].strip()
    statement = parse(cursor)
    if isinstance(statement, Prepare | Execute | ExecuteImmediate | Deallocate):
        kind = type(statement).__name__
        message = f"Invalid statement type for prepared statement: {kind}"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=location)
    cursor.position = len(cursor.tokens)
    return Prepare(name, statement, text)


def parse_execute(cursor: Cursor) -> Statement:
    """``EXECUTE name [USING …]`` and ``EXECUTE IMMEDIATE 'text' [USING …]``."""
    location = cursor.location
    cursor.expect("EXECUTE")
    if cursor.keyword() == "IMMEDIATE" and cursor.keyword(1) not in {"USING", ""}:
        raise _after_immediate(cursor)
    if cursor.keyword() == "IMMEDIATE" and cursor.position + 1 < len(cursor.tokens) and cursor.keyword(1) == "":
        cursor.expect("IMMEDIATE")
        return ExecuteImmediate(cursor.string(), _using(cursor), location)
    return Execute(cursor.identifier(), _using(cursor), location)


def _after_immediate(cursor: Cursor) -> ProcessionError:
    cursor.expect("IMMEDIATE")
    return cursor.mismatch("<string>")


def _using(cursor: Cursor) -> tuple[str, ...]:
    if cursor.current is None:
        return ()
    cursor.expect("USING")
    parameters = [read_expression_text(cursor)]
    while cursor.accept(","):
        parameters.append(read_expression_text(cursor))
    return tuple(parameters)


def parse_deallocate(cursor: Cursor) -> Deallocate:
    """``DEALLOCATE PREPARE name``."""
    cursor.expect("DEALLOCATE")
    cursor.expect("PREPARE")
    return Deallocate(cursor.identifier())


def parse_set(cursor: Cursor) -> Statement:
    """``SET SESSION [catalog.]name = value``; SET ROLE and SET TIME ZONE are known by kind only."""
    location = cursor.location
    cursor.expect("SET")
    if cursor.expect("ROLE", "SESSION", "TIME") != "SESSION":
        cursor.position = len(cursor.tokens)
        return OtherStatement("SET ROLE" if "ROLE" in cursor.text.upper() else "SET TIME ZONE", location)
    name = _property_name(cursor)
    cursor.expect("=")
    tokens = cursor.tokens[cursor.position :]
    parse_expression(cursor.text, tokens)
    cursor.position = len(cursor.tokens)
    return SetSession(name, tuple(tokens), location)


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
    first = cursor.identifier()
    if cursor.accept("."):
        return Use(first, cursor.identifier(), location)
    return Use(None, first, location)


def parse_start_transaction(cursor: Cursor) -> StartTransaction:
    """``START TRANSACTION [ISOLATION LEVEL …] [, READ ONLY | READ WRITE]``."""
    cursor.expect("START")
    cursor.expect("TRANSACTION")
    isolation: str | None = None
    read_only: bool | None = None
    while cursor.current is not None:
        if cursor.expect("ISOLATION", "READ") == "ISOLATION":
            cursor.expect("LEVEL")
            isolation = _isolation(cursor)
        else:
            read_only = cursor.expect("ONLY", "WRITE") == "ONLY"
        if cursor.current is not None:
            cursor.expect(",")
    return StartTransaction(isolation, read_only)


def _isolation(cursor: Cursor) -> str:
    first = cursor.expect("READ", "REPEATABLE", "SERIALIZABLE")
    if first == "SERIALIZABLE":
        return first
    second = cursor.expect("COMMITTED", "UNCOMMITTED") if first == "READ" else cursor.expect("READ")
    return f"{first} {second}"
