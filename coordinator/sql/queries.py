"""Expressions of CALL, SET SESSION and properties through sqlglot's parser, from our own tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokens import Token, TokenType

from coordinator.sql.tokens import RESERVED, Cursor, dialect, location_of, too_large
from shared.errors import ErrorCode, ProcessionError


def parse_expression(text: str, tokens: Sequence[Token], *, end: int | None = None) -> exp.Expression:
    """The tree of one expression, without alias; ``end`` is the offset that "<EOF>" stands for in messages."""
    if not tokens:
        location = location_of(text, len(text) if end is None else end)
        found = "<EOF>" if end is None or end >= len(text) else text[end]
        message = f"mismatched input '{found}'. Expecting: <expression>"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    _refuse_semicolon(text, tokens)
    try:
        trees = dialect().parser().parse_into(exp.Condition, _any_map(tokens), text)
    except ParseError as error:
        raise _syntax_error(text, tokens, error) from error
    except RecursionError as error:
        raise too_large(location_of(text, tokens[0].start)) from error
    tree = trees[0] if len(trees) == 1 else None
    if tree is None:
        raise Cursor(text, tokens).mismatch("<expression>")
    _refuse_reserved(text, tokens, tree)
    return cast(exp.Expression, tree)


def _any_map(tokens: Sequence[Token]) -> list[Token]:
    """sqlglot knows ``map`` with two arguments; Spark's has any even number, which the binding of CALL reads."""
    found = list(tokens)
    if len(found) > 1 and found[0].text.lower() == "map" and found[1].text == "(":
        first = found[0]
        found[0] = Token(TokenType.VAR, "map__", first.line, first.col, first.start, first.end, first.comments)
    return found


def _refuse_semicolon(text: str, tokens: Sequence[Token]) -> None:
    # sqlglot would split the text into several statements; Presto's grammar has none of it.
    for index, token in enumerate(tokens):
        if token.text == ";" and token.start == token.end:
            raise Cursor(text, tokens, index).mismatch("<EOF>")


def _refuse_reserved(text: str, tokens: Sequence[Token], tree: exp.Expression) -> None:
    # sqlglot takes reserved words for names where nothing else fits: `FROM t ORDER`, `SELECT from`.
    for node in tree.find_all(exp.Identifier):
        if not node.args.get("quoted") and str(node.this).upper() in RESERVED:
            start = node.meta.get("start")
            index = next((i for i, t in enumerate(tokens) if t.start == start), None)
            if index is not None and tokens[index].text.upper() == str(node.this).upper():
                raise Cursor(text, tokens, index).mismatch("<identifier>")


def _syntax_error(text: str, tokens: Sequence[Token], error: ParseError) -> ProcessionError:
    """sqlglot reports line and end column of the token it stood at; find that token, or the end of the input."""
    details: dict[str, Any] = next((e for e in error.errors if e.get("line") is not None), {})
    line, column = details.get("line"), details.get("col")
    index = next((i for i, t in enumerate(tokens) if (t.line, t.col) == (line, column)), None)
    if index is None:
        return Cursor(text, tokens, len(tokens)).mismatch("<expression>")
    description = str(details.get("description") or "")
    wants_more = description.startswith(("Required keyword", "Expected", "Expecting"))
    if wants_more and index + 1 == len(tokens):
        missing = description.removeprefix("Expecting ") if description.startswith("Expecting ") else ""
        after = tokens[index].end + 1
        expecting = f"'{missing}'" if missing else "<expression>"
        rest = text[after:].strip()
        found = rest[0] if rest else "<EOF>"
        message = f"mismatched input '{found}'. Expecting: {expecting}"
        offset = len(text) if not rest else text.index(rest[0], after)
        return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location_of(text, offset))
    return Cursor(text, tokens, index).mismatch("<expression>" if wants_more else "<EOF>")
