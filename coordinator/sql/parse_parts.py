"""Pieces that several statements share: IF EXISTS, properties, column definitions, runs of tokens of an expression."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokens import Token, TokenType

from coordinator.sql.ddl_statements import ColumnDefinition, Name, PropertyAssignment
from coordinator.sql.old_grammar.queries import check_query
from coordinator.sql.queries import parse_expression
from coordinator.sql.tokens import Cursor
from shared.errors import ErrorCode, ProcessionError

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}
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
    return cursor.string() if cursor.accept("COMMENT") else None


def optional_properties(cursor: Cursor) -> tuple[PropertyAssignment, ...]:
    """``WITH (name = expression, …)`` when it comes next."""
    if cursor.keyword() == "WITH" and cursor.keyword(1) == "(":
        cursor.expect("WITH")
        return properties(cursor)
    return ()


def properties(cursor: Cursor) -> tuple[PropertyAssignment, ...]:
    """``(name = expression, …)``; raises SYNTAX_ERROR for a name given twice."""
    cursor.expect("(")
    found: list[PropertyAssignment] = []
    while True:
        made = property_assignment(cursor)
        if any(p.name == made.name for p in found):
            message = f"Duplicate property: {made.name}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=made.location)
        found.append(made)
        if cursor.expect(",", ")") == ")":
            return tuple(found)


def property_assignment(cursor: Cursor) -> PropertyAssignment:
    """``name = expression``."""
    location = cursor.location
    name = ".".join(cursor.qualified_name())
    cursor.settle()
    cursor.expect("=")
    return PropertyAssignment(name, expression_tokens(cursor), location)


def column_definition(cursor: Cursor) -> ColumnDefinition:
    """``name type [NOT NULL] [COMMENT 'text'] [WITH (…)]``."""
    location = cursor.location
    name = cursor.identifier()
    type_text = column_type(cursor)
    nullable = not cursor.accept("NOT", "NULL")
    comment = optional_comment(cursor)
    return ColumnDefinition(name, type_text, location, nullable, comment, optional_properties(cursor))


def column_type(cursor: Cursor) -> str:
    """The text of the type that comes next."""
    start = cursor.position
    if cursor.current is None:
        raise cursor.mismatch("<type>")
    depth = 0
    while cursor.current is not None:
        word = cursor.keyword()
        zone = word == "WITH" and cursor.keyword(1) == "TIME"
        if depth == 0 and (word in {",", ")", "NOT", "COMMENT"} or (word == "WITH" and not zone)):
            break
        depth += {"(": 1, ")": -1}.get(word, 0)
        cursor.position += 1
    if cursor.position == start:
        raise cursor.mismatch("<type>")
    return text_of(cursor, cursor.tokens[start : cursor.position])


def text_of(cursor: Cursor, tokens: Sequence[Token]) -> str:
    """The text of a run of tokens as written."""
    return cursor.text[tokens[0].start : tokens[-1].end + 1] if tokens else ""


def expression_tokens(cursor: Cursor, *stops: str) -> tuple[Token, ...]:
    """The expression that comes next, checked: up to a comma, a closing parenthesis or a stop word of this level."""
    tokens = run_of_tokens(cursor, ",", *stops)
    end = cursor.tokens[cursor.position].start if cursor.current is not None else len(cursor.text)
    parse_expression(cursor.text, tokens, end=end)
    return tokens


def run_of_tokens(cursor: Cursor, *stops: str) -> tuple[Token, ...]:
    """The tokens up to a stop word or a closing parenthesis of this level, or the end."""
    start, depth = cursor.position, 0
    while cursor.current is not None:
        kind = cursor.current.token_type
        if depth == 0 and (kind in _CLOSING or cursor.keyword() in stops):
            break
        depth += 1 if kind in _OPENING else -1 if kind in _CLOSING else 0
        cursor.position += 1
    return tuple(cursor.tokens[start : cursor.position])


def query_to_end(cursor: Cursor) -> tuple[Token, ...]:
    """The query from here to the end of the text, checked."""
    tokens = tuple(cursor.tokens[cursor.position :])
    if not tokens:
        raise cursor.mismatch("<query>")
    check_query(cursor.text, tokens)
    cursor.position = len(cursor.tokens)
    return tokens
