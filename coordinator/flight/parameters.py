"""Parameters of prepared statements: Arrow values as literals of SQL."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import isinf, isnan
from uuid import UUID

import pyarrow as pa

from coordinator.flight.failures import invalid, unsupported


def literal_rows(batch: pa.RecordBatch) -> list[tuple[str, ...]]:
    """A literal for each value, row by row. Raises CallError."""
    try:
        batch.validate(full=True)  # it comes from a client
        columns = [[literal(value, column.type) for value in column.to_pylist()] for column in batch.columns]
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise invalid(f"Parameters cannot be read: {error}") from error
    return list(zip(*columns, strict=True))


def literal(value: object, arrow_type: pa.DataType) -> str:  # noqa: C901 - one case a type
    """Raises CallError for a type that has no literals."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return _floating(value, "REAL" if pa.types.is_float32(arrow_type) else "DOUBLE")
        case Decimal():
            return f"DECIMAL '{value:f}'"
        case str():
            return quoted(value)
        case bytes():
            return f"X'{value.hex()}'"
        case UUID():
            return f"UUID '{value}'"
        case datetime():
            return _timestamp(value)
        case date():
            return f"DATE '{value.isoformat()}'"
        case time():
            return f"TIME '{value:%H:%M:%S}.{value.microsecond // 1000:03d}'"
        case list() if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
            return f"ARRAY[{', '.join(literal(each, arrow_type.value_type) for each in value)}]"
        case _:
            raise unsupported(f"parameters of type {arrow_type}")


def _floating(value: float, name: str) -> str:
    if isnan(value):
        return f"CAST(nan() AS {name})"
    if isinf(value):
        return f"CAST({'-' if value < 0 else ''}infinity() AS {name})"
    return f"{name} '{value!r}'"


def _timestamp(value: datetime) -> str:
    zone = ""
    if value.tzinfo is not None:
        value, zone = value.astimezone(UTC), " UTC"
    return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S}.{value.microsecond // 1000:03d}{zone}'"


def quoted(text: str) -> str:
    """A literal of text."""
    return "'" + text.replace("'", "''") + "'"
