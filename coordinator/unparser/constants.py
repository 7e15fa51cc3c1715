"""Presto constants as literals of an engine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any

from sqlglot import exp

from coordinator.kernels.functions.arrow_forms import field_name
from coordinator.kernels.functions.date_texts import clock_text, shown_time
from coordinator.unparser.trees import call, cast, number, text
from shared.plan.types import Type


def literal(value: Any, type_: Type, dialect: str) -> exp.Expr:
    """The tree of a value of ``shared.spi.procedure.Arguments`` form, of exactly the type ``type_``."""
    if value is None:
        return cast(exp.Null(), type_, dialect)
    if isinstance(value, bytes):  # of varbinary, and of sketches
        return call("from_hex" if dialect == "duckdb" else "unhex", text(value.hex()))
    match type_.base:
        case "boolean":
            return exp.Boolean(this=value)
        case "integer":
            return number(value) if value > -(1 << 31) else cast(text(str(value)), type_, dialect)
        case "varchar" | "char" | "json":
            return text(value)
        case "double" | "real":
            return cast(text(_float(value)), type_, dialect)
        case "decimal":
            return cast(text(f"{value:f}"), type_, dialect)
        case "array":
            items = [literal(v, type_.arguments[0], dialect) for v in value]
            return cast(exp.Array(expressions=items), type_, dialect)
        case "map":
            return cast(_map(value, type_, dialect), type_, dialect)
        case "row":
            return row([literal(v, t, dialect) for v, t in zip(value, type_.arguments, strict=True)], type_)
        case _:
            return cast(text(_text(value)), type_, dialect)


def _map(value: Mapping[object, object], type_: Type, dialect: str) -> exp.Expr:
    if not value:
        return exp.Map(keys=exp.Array(expressions=[]), values=exp.Array(expressions=[]))
    keys = exp.Array(expressions=[literal(k, type_.arguments[0], dialect) for k in value])
    values = exp.Array(expressions=[literal(v, type_.arguments[1], dialect) for v in value.values()])
    return call("map" if dialect == "duckdb" else "map_from_arrays", keys, values)


def row(values: list[exp.Expr], type_: Type) -> exp.Expr:
    """A row value with the field names of ``type_``."""
    pairs = [
        exp.PropertyEQ(this=exp.to_identifier(field_name(type_, i), quoted=True), expression=v)
        for i, v in enumerate(values)
    ]
    return exp.Struct(expressions=pairs)


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _text(value: object) -> str:
    if isinstance(value, timedelta):
        return str(value // timedelta(milliseconds=1))
    if isinstance(value, datetime):
        instant = value if value.tzinfo is None else value.astimezone(UTC)
        return instant.isoformat(sep=" ", timespec="microseconds")  # strftime's %Y writes the year 1 as "1"
    return time_text(value) if isinstance(value, time) else str(value)


def time_text(value: time) -> str:
    """``03:04:05.678``, with the offset of a time with time zone."""
    return shown_time(value) if value.tzinfo is None else clock_text(value, value.tzinfo)
