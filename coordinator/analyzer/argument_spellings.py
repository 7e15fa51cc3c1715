"""Spellings of CALL arguments by other engines: Iceberg's procedures in Spark, and Hudi's.

Presto writes ``ARRAY['a', 'b']`` and ``map(ARRAY['k'], ARRAY['v'])``. Spark writes ``array('a', 'b')`` and
``map('k', 'v')``, Iceberg's ``sort_order`` and Hudi's lists are one text, and Hudi's options are ``'k=v,l=w'``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from sqlglot.tokens import Token, TokenType

from coordinator.kernels.functions.compare import instant
from coordinator.kernels.functions.moments import parse_timestamp
from coordinator.sql.tokens import is_string

ALIASES: Mapping[str, str] = {"where": "filter", "sort_order": "sorted_by"}
"""Iceberg's names for arguments that Presto calls otherwise."""

_ENTRY = re.compile(r"""(?:[^,("']|"[^"]*"|'[^']*'|\([^)]*\))+""")
_PLAIN = {TokenType.NUMBER, TokenType.TRUE, TokenType.FALSE}

Evaluate = Callable[[Sequence[Token], str], Any]
"""The value of an expression's tokens, coerced to a type."""


def other_spelling(kind: str, tokens: Sequence[Token], evaluate: Evaluate) -> Any:
    """The value where another engine's spelling was used; None where the expression is Presto's own."""
    if kind == "array(varchar)" and len(tokens) == 1 and is_string(tokens[0]):
        return tuple(entry.strip() for entry in _ENTRY.findall(str(tokens[0].text)))
    if kind == "map(varchar,varchar)" and len(tokens) == 1 and is_string(tokens[0]):
        return _options(str(tokens[0].text))
    if kind == "timestamp" and len(tokens) == 1 and is_string(tokens[0]):
        return _moment(str(tokens[0].text))
    if kind.startswith("array(") and _is_call(tokens, "array"):
        return tuple(evaluate(part, kind[len("array(") : -1]) for part in _arguments(tokens))
    if kind == "map(varchar,varchar)" and _is_call(tokens, "map"):
        parts = list(_arguments(tokens))
        if len(parts) % 2 == 0 and all(part and part[0].text.lower() not in ("array", "map") for part in parts):
            values = [_text(part, evaluate) for part in parts]
            return dict(zip(values[::2], values[1::2], strict=True))
    return None


def _moment(text: str) -> datetime | None:
    """Spark casts text to a timestamp, which may end with an offset or with the name of a zone."""
    for parse in (datetime.fromisoformat, parse_timestamp):
        with suppress(ValueError, OverflowError):
            found: datetime = instant(parse(text.strip()))
            return found
    return None


def _options(text: str) -> dict[str, str] | None:
    pairs = [entry.partition("=") for entry in text.split(",")]
    if not all(name.strip() and sign for name, sign, _ in pairs):
        return None
    return {name.strip(): value.strip() for name, _, value in pairs}


def _text(tokens: Sequence[Token], evaluate: Evaluate) -> Any:
    """Numbers and booleans by their text: Spark casts the values of its maps."""
    if len(tokens) == 1 and tokens[0].token_type in _PLAIN:
        return str(tokens[0].text)
    return evaluate(tokens, "varchar")


def _is_call(tokens: Sequence[Token], name: str) -> bool:
    return len(tokens) > 2 and tokens[0].text.lower() == name and tokens[1].text == "(" and tokens[-1].text == ")"


def _arguments(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Of a call, what stands between its outermost commas."""
    depth, start = 0, 2
    for number, token in enumerate(tokens[2:-1], start=2):
        sign = "" if is_string(token) else token.text
        depth += (sign in ("(", "[")) - (sign in (")", "]"))
        if sign == "," and depth == 0:
            yield tokens[start:number]
            start = number + 1
    if tokens[start:-1]:
        yield tokens[start:-1]
