"""Literals with a type before them: DATE, TIMESTAMP, DECIMAL, JSON and others."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from coordinator.analyzer.context import Context
from coordinator.analyzer.literals import parse_decimal
from coordinator.expressions.builders import (
    constant,
    function_call,
    operator,
)
from coordinator.expressions.kernel_values import cast_constant
from coordinator.expressions.types import (
    DAY_SECOND,
    TIME,
    TIME_TZ,
    TIMESTAMP,
    TIMESTAMP_TZ,
    VARCHAR,
    decimal,
    read_type,
    varchar,
)
from coordinator.kernels.functions.date_texts import parse_time, parse_timestamp
from shared.plan.expressions import RowExpression
from shared.plan.types import Type


def typed_literal(name: str, text: str, context: Context) -> RowExpression:
    """``TYPE 'text'``; raises ValueError or ProcessionError for a text that is none of the type."""
    if name == "decimal":
        value, precision, scale = parse_decimal(text)
        return constant(value, decimal(precision, scale))
    if name == "timestamp":
        return timestamp_literal(text)
    target = read_type(name)
    if name == "char":
        target = Type("char", (max(1, len(text)),))
    if name == "time":
        parsed = parse_time(text)
        if parsed.tzinfo is not None and not isinstance(parsed.tzinfo, timezone):
            # A constant block keeps no region, so the text keeps it.
            named = constant(text, varchar(len(text)))
            return function_call("$operator$cast", (named,), TIME_TZ, display="CAST")
        return constant(parsed, TIME if parsed.tzinfo is None else TIME_TZ)
    source = constant(text, varchar(len(text)))
    if name == "json":
        return function_call("json_parse", (source,), target)
    if name == "varbinary":
        return function_call("to_utf8", (source,), target)
    return constant(cast_constant(text, VARCHAR, target, context.zone), target)


def timestamp_in_region(instant: datetime, region: str) -> RowExpression:
    """An instant whose clock is that of a region; a literal alone would mean the first of two equal hours."""
    literal = timestamp_literal(f"{instant:%Y-%m-%d %H:%M:%S}.{instant.microsecond // 1000:03d} {region}")
    later = _offset(instant.replace(fold=0)) - _offset(instant)
    return literal if not later else operator("+", (literal, constant(later, DAY_SECOND)), TIMESTAMP_TZ)


def _offset(instant: datetime) -> timedelta:
    return instant.utcoffset() or timedelta()


def timestamp_literal(text: str) -> RowExpression:
    parsed = parse_timestamp(text)
    if parsed.tzinfo is None:
        return constant(parsed, TIMESTAMP)
    if isinstance(parsed.tzinfo, timezone):
        return constant(parsed, TIMESTAMP_TZ)
    # A constant block keeps no region, so the text keeps it.
    source = constant(text, varchar(len(text)))
    return function_call("$operator$cast", (source,), TIMESTAMP_TZ, display="CAST")
