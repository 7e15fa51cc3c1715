"""``CALL name(argument, …)`` with positional and ``name => value`` arguments."""

from __future__ import annotations

from sqlglot.expressions import Expression
from sqlglot.tokens import TokenType

from coordinator.sql.queries import parse_expression
from coordinator.sql.statements import Call, CallArgument
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
        arguments.append(_argument(cursor))
        while cursor.expect(",", ")") == ",":
            arguments.append(_argument(cursor))
    return Call(name, tuple(arguments), location)


def _argument(cursor: Cursor) -> CallArgument:
    location = cursor.location
    name = None
    if cursor.keyword(1) == "=>":
        name = cursor.word()
        cursor.expect("=>")
    return CallArgument(name, read_expression(cursor), location)


def read_expression(cursor: Cursor) -> Expression:
    """The expression up to the next comma or closing parenthesis of the same level, or the end of the text."""
    depth, end = 0, cursor.position
    while end < len(cursor.tokens):
        token = cursor.tokens[end]
        if depth == 0 and token.token_type in {TokenType.COMMA, TokenType.R_PAREN}:
            break
        depth += _NESTING.get(token.token_type, 0)
        end += 1
    tokens = cursor.tokens[cursor.position : end]
    stop = cursor.tokens[end].start if end < len(cursor.tokens) else len(cursor.text)
    expression = parse_expression(cursor.text, tokens, end=stop)
    cursor.position = end
    return expression
