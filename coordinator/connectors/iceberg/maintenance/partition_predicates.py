"""Partitions as filters in Presto's SQL, so that a rewrite can be asked for some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, HourTransform, IdentityTransform, MonthTransform, YearTransform
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from coordinator.sql.formatter import string_literal

_EPOCH = datetime(1970, 1, 1)


def partition_predicate(spec: PartitionSpec, schema: Schema, values: tuple[object, ...]) -> str | None:
    """The filter of one partition; None where a transform, a type or a nested column has none."""
    parts = [_part(field, schema, value) for field, value in zip(spec.fields, values, strict=True)]
    if not parts or any(part is None for part in parts):
        return None
    return " AND ".join(part for part in parts if part is not None)


def _part(field: PartitionField, schema: Schema, value: object) -> str | None:
    try:
        kind, name = schema.find_type(field.source_id), schema.find_column_name(field.source_id)
    except ValueError:  # the source column was dropped
        return None
    if name is None or schema.find_field(field.source_id) not in schema.fields:
        return None
    column = '"' + name.replace('"', '""') + '"'
    if value is None:
        return f"{column} IS NULL"
    if isinstance(field.transform, IdentityTransform):
        literal = _LITERALS.get(type(kind))
        return None if literal is None else f"{column} = {literal(value)}"
    if type(field.transform) not in _RANGES or type(kind) not in (DateType, TimestampType, TimestamptzType):
        return None
    lower, upper = _RANGES[type(field.transform)](value)
    form = _MOMENT[type(kind)]
    return f"{column} >= {form(lower)} AND {column} < {form(upper)}"


def _days(value: Any) -> int:
    return (value - _EPOCH.date()).days if isinstance(value, date) else int(value)


def _months(first: int, count: int) -> tuple[datetime, datetime]:
    start, end = first * count, (first + 1) * count
    return datetime(1970 + start // 12, start % 12 + 1, 1), datetime(1970 + end // 12, end % 12 + 1, 1)


def _date_text(instant: datetime) -> str:
    return f"DATE '{instant:%Y-%m-%d}'"


_LITERALS: Mapping[type, Callable[[Any], str]] = {
    IntegerType: lambda value: str(int(value)),
    LongType: lambda value: f"BIGINT '{int(value)}'",
    BooleanType: lambda value: "true" if value else "false",
    DecimalType: lambda value: f"DECIMAL '{Decimal(value):f}'",
    StringType: lambda value: string_literal(str(value)),
    DateType: lambda value: _date_text(_EPOCH + timedelta(days=_days(value))),
}
_RANGES: Mapping[type, Callable[[Any], tuple[datetime, datetime]]] = {
    YearTransform: lambda value: _months(int(value), 12),
    MonthTransform: lambda value: _months(int(value), 1),
    DayTransform: lambda value: (_EPOCH + timedelta(days=_days(value)), _EPOCH + timedelta(days=_days(value) + 1)),
    HourTransform: lambda value: (_EPOCH + timedelta(hours=int(value)), _EPOCH + timedelta(hours=int(value) + 1)),
}
_MOMENT: Mapping[type, Callable[[datetime], str]] = {
    DateType: _date_text,
    TimestampType: lambda instant: f"TIMESTAMP '{instant:%Y-%m-%d %H:%M:%S}'",
    TimestamptzType: lambda instant: f"TIMESTAMP '{instant:%Y-%m-%d %H:%M:%S} UTC'",
}
