"""CREATE and DROP TEMPORARY FUNCTION."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from coordinator.sql.cursor import Cursor
from coordinator.sql.function_statements import CreateTemporaryFunction, DropTemporaryFunction, ParameterDeclaration
from coordinator.sql.parse_parts import column_type, if_exists, optional_comment
from shared.errors import ErrorCode, ErrorLocation, ProcessionError

Item = TypeVar("Item")
_CHARACTERISTICS = ("LANGUAGE", "DETERMINISTIC", "RETURNS", "CALLED")
_BODIES = ("RETURN", "EXTERNAL")


def parse_create_function(cursor: Cursor, location: ErrorLocation, *, or_replace: bool) -> CreateTemporaryFunction:
    """From the word FUNCTION on."""
    cursor.expect("FUNCTION")
    name = cursor.qualified_name()
    parameters = _listed(cursor, _parameter)
    cursor.expect("RETURNS")
    place = cursor.location
    result = column_type(cursor, *_CHARACTERISTICS, *_BODIES)
    comment = optional_comment(cursor) or ""
    deterministic, null_on_null = _characteristics(cursor)
    if cursor.expect(*_BODIES) == "EXTERNAL":
        message = "External functions are not supported"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=location)
    body, text = cursor.expression_with_text()
    if or_replace:
        message = "REPLACE is not supported for temporary functions"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    return CreateTemporaryFunction(
        name, parameters, result, place, comment, deterministic, null_on_null, body, text, location
    )


def parse_drop_function(cursor: Cursor, location: ErrorLocation) -> DropTemporaryFunction:
    """From the word FUNCTION on."""
    cursor.expect("FUNCTION")
    exists = if_exists(cursor)
    name = cursor.qualified_name()
    types = _listed(cursor, column_type) if cursor.word == "(" else None
    return DropTemporaryFunction(name, types, exists, location)


def _parameter(cursor: Cursor) -> ParameterDeclaration:
    location = cursor.location
    return ParameterDeclaration(cursor.name(), column_type(cursor), location)


def _listed(cursor: Cursor, read: Callable[[Cursor], Item]) -> tuple[Item, ...]:
    """``(item, …)``, or nothing between the parentheses."""
    cursor.expect("(")
    if cursor.accept(")"):
        return ()
    found = [read(cursor)]
    while cursor.expect(",", ")") == ",":
        found.append(read(cursor))
    return tuple(found)


def _characteristics(cursor: Cursor) -> tuple[bool, bool]:
    """Whether DETERMINISTIC and RETURNS NULL ON NULL INPUT were said; raises SYNTAX_ERROR for one said twice."""
    said: dict[str, bool] = {}
    while True:
        location = cursor.location
        if cursor.accept("LANGUAGE"):
            what, value = "language", _is_sql(cursor, location)
        elif cursor.accept("DETERMINISTIC"):
            what, value = "determinism", True
        elif cursor.accept("NOT", "DETERMINISTIC"):
            what, value = "determinism", False
        elif cursor.accept("RETURNS", "NULL", "ON", "NULL", "INPUT"):
            what, value = "null-call", True
        elif cursor.accept("CALLED", "ON", "NULL", "INPUT"):
            what, value = "null-call", False
        else:
            return said.get("determinism", False), said.get("null-call", False)
        if what in said:
            message = f"Duplicate {what} clause"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
        said[what] = value


def _is_sql(cursor: Cursor, location: ErrorLocation) -> bool:
    language = cursor.name()
    if language != "sql":
        message = f"Functions in {language.upper()} are not supported"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=location)
    return True
