"""Text to sqlglot trees that keep what Presto's grammar says.

sqlglot renames functions, reorders their arguments, shifts subscripts, drops the text of types and the position of most
nodes. So the tokens are rewritten before it parses: every call becomes an unknown function named ``fn$<name>``, casts
and typed literals carry their type as text, and the special call forms (EXTRACT, SUBSTRING … FROM, POSITION … IN, TRIM)
become plain calls. What sqlglot accepts and Presto does not is refused here or by the analyzer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.trino import Trino
from sqlglot.errors import ParseError
from sqlglot.tokens import Token

from coordinator.analyzer.token_rewriter import ARRAY, FUNCTION_PREFIX, REWRITTEN, Rewriter, closing, syntax
from coordinator.sql.tokens import location_of, tokenize, too_large
from shared.errors import ProcessionError


@cache
def _dialect() -> Any:
    dialect = Trino()
    # Subscripts stay as written, from 1.
    dialect.INDEX_OFFSET = 0
    return dialect


def parse_query(text: str, tokens: Sequence[Token] | None = None) -> Any:
    """The tree of the one query in ``text``; ``tokens`` may be a part of its tokens. Raises a located SYNTAX_ERROR."""
    tokens = list(tokens) if tokens is not None else query_tokens(text)
    return _run(text, tokens, lambda parser, rewritten: parser.parse(rewritten, text))


def parse_expression(text: str, tokens: Sequence[Token] | None = None) -> Any:
    """The tree of ``text``, or of a part of its ``tokens``, as one expression."""
    tokens = tokenize(text) if tokens is None else list(tokens)
    if not tokens:
        raise syntax(text, len(text), "mismatched input '<EOF>'. Expecting: <expression>")
    return _run(text, tokens, lambda parser, rewritten: parser.parse_into(exp.Condition, rewritten, text))


def query_tokens(text: str) -> list[Token]:
    """The tokens of the query inside a statement: without a leading EXPLAIN […] or PREPARE name FROM."""
    tokens = tokenize(text)
    position = 0
    words = [t.text.lower() for t in tokens[:5]]
    if words[:1] == ["prepare"]:
        position = 3
    while words[:1] == ["explain"] and position < len(tokens):
        word = tokens[position].text.lower()
        following = tokens[position + 1].text.lower() if position + 1 < len(tokens) else ""
        if word in ("explain", "analyze", "verbose"):
            position += 1
        elif word == "(" and following in ("type", "format"):
            position += closing(tokens, position) + 1
        else:
            break
    return tokens[position:]


def _run(text: str, tokens: Sequence[Token], parse: Any) -> Any:
    rewriter = Rewriter(text, tokens)
    rewritten = rewriter.rewrite()
    try:
        trees = parse(_dialect().parser(), rewritten)
    except ParseError as error:
        raise _parse_error(text, tokens, error) from error
    except RecursionError as error:
        raise too_large(location_of(text, tokens[0].start)) from error
    if len(trees) != 1 or trees[0] is None:
        raise syntax(text, tokens[0].start if tokens else 0, "mismatched input. Expecting: <query>")
    tree = _with_arrays(trees[0]) if rewriter.arrays else trees[0]
    tree.meta[REWRITTEN] = True
    return tree


def _with_arrays(tree: Any) -> Any:
    """The tree with the calls that stand for ``ARRAY[…]`` as arrays again."""
    for node in [n for n in tree.find_all(exp.Anonymous) if function_name(n) == ARRAY]:
        made = exp.Array(expressions=node.expressions)
        if node is tree:
            return made
        node.replace(made)
    return tree


def _parse_error(text: str, tokens: Sequence[Token], error: ParseError) -> ProcessionError:
    details: dict[str, Any] = next((e for e in error.errors if e.get("line") is not None), {})
    at = (details.get("line"), details.get("col"))
    token = next((t for t in tokens if (t.line, t.col) == at), None)
    if token is None or (token is tokens[-1] and "Expecting" in str(details.get("description"))):
        return syntax(text, len(text), "mismatched input '<EOF>'. Expecting: <expression>")
    return syntax(text, token.start, f"mismatched input '{text[token.start : token.end + 1]}'")


def function_name(node: Any) -> str | None:
    """The lower-case name of a rewritten call, or None for any other node."""
    if not isinstance(node, exp.Anonymous):
        return None
    name = node.this
    text = str(name.this if isinstance(name, exp.Identifier) else name)
    return text.removeprefix(FUNCTION_PREFIX).lower() if text.startswith(FUNCTION_PREFIX) else text.lower()
