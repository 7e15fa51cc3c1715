"""Pieces that several statements share: IF EXISTS, properties, column definitions, types."""

from __future__ import annotations

from coordinator.sql.cursor import Cursor
from coordinator.sql.ddl_statements import ColumnDefinition, Name, PropertyAssignment
from shared.errors import ErrorCode, ProcessionError

_MOST_PARTS = 3


def if_exists(cursor: Cursor) -> bool:
    """Steps over ``IF EXISTS`` when it comes next."""
    return cursor.accept("IF", "EXISTS")


def if_not_exists(cursor: Cursor) -> bool:
    """Steps over ``IF NOT EXISTS`` when it comes next."""
    return cursor.accept("IF", "NOT", "EXISTS")


def object_name(cursor: Cursor) -> Name:
    """A qualified name of at most three parts; raises SYNTAX_ERROR in Presto's words for more."""
    location = cursor.location
    name = cursor.qualified_name()
    if len(name) > _MOST_PARTS:
        message = f"Too many dots in table name: {'.'.join(name)}"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    return name


def optional_comment(cursor: Cursor) -> str | None:
    """``COMMENT 'text'`` when it comes next."""
    return cursor.text_of_string() if cursor.accept("COMMENT") else None


def optional_properties(cursor: Cursor) -> tuple[PropertyAssignment, ...]:
    """``WITH (name = expression, …)`` when it comes next."""
    if cursor.word == "WITH" and cursor.ahead(1) == "(":
        cursor.expect("WITH")
        return properties(cursor)
    return ()


def properties(cursor: Cursor) -> tuple[PropertyAssignment, ...]:
    """``(name = expression, …)``; raises SYNTAX_ERROR for a name given twice."""
    cursor.expect("(")
    found: dict[str, PropertyAssignment] = {}
    while True:
        made = property_assignment(cursor)
        if made.name in found:
            message = f"Duplicate property: {made.name}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=made.location)
        found[made.name] = made
        if cursor.expect(",", ")") == ")":
            return tuple(found.values())


def listed_properties(cursor: Cursor) -> tuple[PropertyAssignment, ...]:
    """Presto's list in parentheses, or Trino's without."""
    if cursor.word == "(":
        return properties(cursor)
    found = [property_assignment(cursor)]
    while cursor.accept(","):
        found.append(property_assignment(cursor))
    return tuple(found)


def property_assignment(cursor: Cursor) -> PropertyAssignment:
    """``name = expression``, or Trino's ``name = DEFAULT``."""
    location = cursor.location
    name = ".".join(cursor.qualified_name())
    cursor.expect("=")
    if cursor.word == "DEFAULT" and cursor.ahead(1) in {",", ")", ""}:
        cursor.expect("DEFAULT")
        return PropertyAssignment(name, None, "DEFAULT", location)
    value, text = cursor.expression_with_text()
    return PropertyAssignment(name, value, text, location)


def column_definition(cursor: Cursor) -> ColumnDefinition:
    """``name type [NOT NULL] [COMMENT 'text'] [WITH (…)]``."""
    location = cursor.location
    name = cursor.name()
    if cursor.word == ".":
        raise cursor.refuse("<type>")
    type_text = column_type(cursor)
    nullable = not cursor.accept("NOT", "NULL")
    comment = optional_comment(cursor)
    return ColumnDefinition(name, type_text, location, nullable, comment, optional_properties(cursor))


def column_type(cursor: Cursor, *ends: str) -> str:
    """The text of the type that comes next; ``ends`` are further words that no type goes beyond."""
    start = cursor.position
    if cursor.at_end:
        raise cursor.refuse("<type>")
    depth = 0
    while not cursor.at_end:
        word = cursor.word
        zone = word == "WITH" and cursor.ahead(1) == "TIME"
        if depth == 0 and (word in {",", ")", "NOT", "COMMENT", *ends} or (word == "WITH" and not zone)):
            break
        depth += {"(": 1, ")": -1}.get(word, 0)
        cursor.position += 1
    if cursor.position == start:
        raise cursor.refuse("<type>")
    return cursor.source(start)
