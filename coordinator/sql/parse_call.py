"""``CALL name(argument, …)`` with positional and ``name => value`` arguments."""

from __future__ import annotations

from sqlglot.expressions import Expression
from sqlglot.tokens import TokenType

from coordinator.sql.call_argument import CallArgument
from coordinator.sql.queries import parse_expression
from coordinator.sql.statements import Call
from coordinator.sql.tokens import Cursor

_NESTING = {
    TokenType.L_PAREN: 1,
    TokenType.L_BRACKET: 1,
    TokenType.R_PAREN: -1,
    TokenType.R_BRACKET: -1,
}


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
    if cursor.keyword(1) == "=>":
        name = cursor.word()
        cursor.expect("=>")
    start = cursor.position
    tree = read_expression(cursor)
    return CallArgument(name, tree, tuple(cursor.tokens[start : cursor.position]), location)


def read_expression(cursor: Cursor) -> Expression:
    """The expression up to the next comma or closing parenthesis of the same level, or the end of the text."""
    end = _expression_end(cursor)
    stop = cursor.tokens[end].start if end < len(cursor.tokens) else len(cursor.text)
    expression = parse_expression(cursor.text, cursor.tokens[cursor.position : end], end=stop)
    cursor.position = end
    return expression


def read_expression_text(cursor: Cursor) -> str:
    """The same as text, once it is known to be an expression."""
    start = cursor.position
    read_expression(cursor)
    return cursor.text[cursor.tokens[start].start : cursor.tokens[cursor.position - 1].end + 1]


def _expression_end(cursor: Cursor) -> int:
    depth, end = 0, cursor.position
    while end < len(cursor.tokens):
        kind = cursor.tokens[end].token_type
        if depth == 0 and kind in {TokenType.COMMA, TokenType.R_PAREN}:
            break
        depth += _NESTING.get(kind, 0)
        end += 1
    return end
