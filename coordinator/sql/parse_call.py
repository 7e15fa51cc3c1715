"""``CALL name(argument, …)`` with positional and ``name => value`` arguments."""

from __future__ import annotations

from coordinator.sql.call_argument import CallArgument
from coordinator.sql.cursor import Cursor
from coordinator.sql.statements import Call


def parse_call(cursor: Cursor) -> Call:
    """A CALL from its keyword on."""
    location = cursor.location
    cursor.expect("CALL")
    name = cursor.qualified_name()
    cursor.expect("(")
    arguments: list[CallArgument] = []
    if not cursor.accept(")"):
        arguments.append(read_argument(cursor))
        while cursor.expect(",", ")") == ",":
            arguments.append(read_argument(cursor))
    return Call(name, tuple(arguments), location)


def read_argument(cursor: Cursor) -> CallArgument:
    """One argument of a call, positional or ``name => value``."""
    location = cursor.location
    name = None
    if cursor.ahead(1) == "=>":
        name = cursor.any_name()
        cursor.expect("=>")
    value, text = cursor.expression_with_text()
    return CallArgument(name, value, text, location)
