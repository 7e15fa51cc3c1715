"""Constants in the remote dialect; only forms that no server setting reads differently."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.pushdown.refusal import NotPushable
from shared.plan.types import Type

_NUMBERS = ("tinyint", "smallint", "integer", "bigint", "decimal")


def literal(value: Any, kind: Type, dialect: Dialect) -> str:
    """The SQL of a constant; raises NotPushable for a type that has no safe literal."""
    if value is None:
        raise NotPushable("a NULL constant")
    match kind.base:
        case base if base in _NUMBERS:
            return f"({value})" if value < 0 else f"{value}"
        case "boolean":
            return "TRUE" if value else "FALSE"
        case "double":
            return _double(value, dialect)
        case "varchar" | "char":
            return text(value.rstrip(" ") if kind.base == "char" else value, dialect)
        case "date":
            return f"DATE '{value.isoformat()}'"
        case "timestamp":
            return f"TIMESTAMP '{_moment(value)}'"
        case "timestamp with time zone" if dialect.sqlglot == "postgres":
            return f"TIMESTAMP WITH TIME ZONE '{value.isoformat()}'"
        case base:
            raise NotPushable(f"a constant of type {base}")


def text(value: str, dialect: Dialect) -> str:
    """A string literal."""
    if "\0" in value:
        raise NotPushable("text with a NUL character")
    doubled = value.replace("'", "''")
    if dialect.sqlglot == "mysql":
        # Backslashes escape there, unless a mode says otherwise: code points say it in both.
        return f"CONVERT(X'{value.encode().hex()}' USING utf8mb4)"
    return f"'{doubled}'"


def _double(value: float, dialect: Dialect) -> str:
    if math.isnan(value) or math.isinf(value):
        raise NotPushable("a NaN or infinite constant")
    if dialect.sqlglot == "mysql":
        # An exponent makes a double of it; without one it is a decimal.
        return f"{value!r}" if "e" in f"{value!r}" else f"{value!r}e0"
    return f"CAST({value!r} AS double precision)"


def _moment(value: datetime) -> str:
    return value.isoformat(sep=" ")
