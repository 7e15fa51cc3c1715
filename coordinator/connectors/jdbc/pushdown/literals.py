"""Constants in the remote dialect; only forms that no server setting reads differently."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.pushdown.refusal import NotPushable
from coordinator.kernels.functions.date_texts import parse_timestamp
from shared.plan.types import Type

_NUMBERS = ("tinyint", "smallint", "integer", "bigint", "decimal")


def literal(value: Any, type_: Type, dialect: Dialect) -> str:
    """The SQL of a constant; raises NotPushable for a type that has no safe literal."""
    syntax = dialect.syntax
    if value is None:
        raise NotPushable("a NULL constant")
    match type_.base:
        case base if base in _NUMBERS:
            return f"({value})" if value < 0 else f"{value}"
        case "boolean":
            return syntax.truths[0 if value else 1]
        case "double" if not math.isnan(value) and not math.isinf(value):
            return syntax.double(value)
        case "varchar" | "char":
            return text(value.rstrip(" ") if type_.base == "char" else value, dialect)
        case "date" if syntax.type_name("date") is not None:
            return syntax.date(value)
        case "timestamp":
            return syntax.timestamp(value)
        case "timestamp with time zone" if syntax.instant is not None:
            return syntax.instant(value)
        case base:
            raise NotPushable(f"a constant of type {base}")


def text(value: str, dialect: Dialect) -> str:
    """A string literal; raises NotPushable for text that the database cannot hold."""
    if "\0" in value:
        raise NotPushable("text with a NUL character")
    if not value and not dialect.semantics.empty_text:
        raise NotPushable("the empty text, which is NULL there")
    return dialect.syntax.text(value)


def utc_timestamp(value: object) -> datetime:
    """``2024-02-29 10:00:00.5 Europe/Berlin`` in UTC; raises NotPushable for what is no such text."""
    try:
        found = parse_timestamp(str(value).strip())
    except (ValueError, OverflowError) as error:
        raise NotPushable(f"the moment {value}") from error
    if found.tzinfo is None:
        raise NotPushable(f"the moment {value}")
    return found.astimezone(UTC)
