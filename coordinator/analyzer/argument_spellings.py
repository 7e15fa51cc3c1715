"""Spellings of CALL arguments by other engines: Iceberg's procedures in Spark, and Hudi's.

Presto writes ``ARRAY['a', 'b']`` and ``map(ARRAY['k'], ARRAY['v'])``. Spark writes ``array('a', 'b')`` and
``map('k', 'v')``, Iceberg's ``sort_order`` and Hudi's lists are one text, and Hudi's options are ``'k=v,l=w'``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TypeGuard

from coordinator.kernels.functions.compare import instant
from coordinator.kernels.functions.date_texts import parse_timestamp
from coordinator.sql.tree.expressions import (
    ArrayConstructor,
    BooleanLiteral,
    DecimalLiteral,
    DoubleLiteral,
    Expression,
    FunctionCall,
    LongLiteral,
    StringLiteral,
)

ALIASES: Mapping[str, str] = {
    "where": "filter",
    "sort_order": "sorted_by",
    "schema_name": "schema",
    "table_location": "metadata_location",
    "metadata_file_name": "metadata_file",
}
"""Iceberg's and Trino's names for arguments that Presto calls otherwise."""

_ENTRY = re.compile(r"""(?:[^,("']|"[^"]*"|'[^']*'|\([^)]*\))+""")
_TEXT_MAP = "map(varchar,varchar)"

Evaluate = Callable[[Expression, str], object]
"""The value of an expression, coerced to a type."""


def other_spelling(type_: str, value: Expression, evaluate: Evaluate) -> object:
    """The value where another engine's spelling was used; None where the expression is Presto's own."""
    if isinstance(value, StringLiteral):
        return _of_text(type_, value.value)
    if type_.startswith("array(") and _is_call(value, "array"):
        return tuple(evaluate(part, type_[len("array(") : -1]) for part in value.arguments)
    if type_ == _TEXT_MAP and _is_call(value, "map"):
        parts = value.arguments
        if len(parts) % 2 == 0 and not any(_is_collection(part) for part in parts):
            values = [_text(part, evaluate) for part in parts]
            return dict(zip(values[::2], values[1::2], strict=True))
    return None


def _of_text(type_: str, text: str) -> tuple[str, ...] | dict[str, str] | datetime | None:
    match type_:
        case "array(varchar)":
            return tuple(entry.strip() for entry in _ENTRY.findall(text))
        case "map(varchar,varchar)":
            return _options(text)
        case "timestamp":
            return _timestamp(text)
        case _:
            return None


def _timestamp(text: str) -> datetime | None:
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


def _text(value: Expression, evaluate: Evaluate) -> object:
    """Numbers and booleans by their text: Spark casts the values of its maps."""
    match value:
        case LongLiteral(value=number):
            return str(number)
        case DecimalLiteral(value=text) | DoubleLiteral(value=text):
            return text
        case BooleanLiteral(value=truth):
            return "true" if truth else "false"
        case _:
            return evaluate(value, "varchar")


def _is_call(value: Expression, name: str) -> TypeGuard[FunctionCall]:
    return isinstance(value, FunctionCall) and tuple(part.value.lower() for part in value.name) == (name,)


def _is_collection(value: Expression) -> bool:
    return isinstance(value, ArrayConstructor) or _is_call(value, "array") or _is_call(value, "map")
