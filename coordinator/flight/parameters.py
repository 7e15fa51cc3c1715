"""Parameters of prepared statements: Arrow values as literals of SQL."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import isinf, isnan
from uuid import UUID

import pyarrow as pa

from coordinator.flight.failures import invalid, unsupported

_MOST_ITEMS = 100_000
"""Of all arrays and maps in a column, on each level."""
_MOST_LEVELS = 10
_PLAIN = (
    pa.types.is_null,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_timestamp,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)


def literal_rows(batch: pa.RecordBatch, *, most_rows: int, most_characters: int) -> list[tuple[str, ...]]:
    """A literal for each value, row by row. Raises CallError.

    A few bytes of Arrow may stand for many rows, and for many copies of a long text: both are counted as they come.
    """
    if batch.num_rows > most_rows:
        raise invalid(f"More than {most_rows} rows of parameters")
    rows: list[tuple[str, ...]] = []
    size = 0
    try:
        batch.validate(full=True)  # it comes from a client
        columns = [_readable(column) for column in batch.columns]
        for number in range(batch.num_rows):
            row = tuple(literal(column[number].as_py(), column.type) for column in columns)
            size += sum(map(len, row))
            if size > most_characters:
                raise invalid(f"Parameters of more than {most_characters} characters")
            rows.append(row)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise invalid(f"Parameters cannot be read: {error}") from error
    return rows


def _readable(column: pa.Array, level: int = 0) -> pa.Array:
    """Raises CallError for types whose values may be more than their bytes, and for those without literals."""
    if level > _MOST_LEVELS:
        raise invalid(f"Parameters of more than {_MOST_LEVELS} levels")
    if isinstance(column, pa.ExtensionArray) and isinstance(column.type, pa.UuidType):
        return column
    parts = _parts(column)
    if not parts and not any(is_one(column.type) for is_one in _PLAIN):
        raise unsupported(f"parameters of type {column.type}")
    for part in parts:
        if len(part) > _MOST_ITEMS:
            raise invalid(f"Parameters with more than {_MOST_ITEMS} items of arrays or maps")
        _readable(part, level + 1)
    return column


def _parts(column: pa.Array) -> list[pa.Array]:
    """What values of a nested type consist of; none of one that is not nested."""
    arrow_type = column.type
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
        return [column.values]
    if pa.types.is_map(arrow_type):
        return [column.keys, column.items]
    if pa.types.is_struct(arrow_type):
        return [column.field(index) for index in range(arrow_type.num_fields)]
    return []


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
        case list() if pa.types.is_map(arrow_type):
            keys = ", ".join(literal(key, arrow_type.key_type) for key, _ in value)
            return f"MAP(ARRAY[{keys}], ARRAY[{', '.join(literal(item, arrow_type.item_type) for _, item in value)}])"
        case list():
            return f"ARRAY[{', '.join(literal(each, arrow_type.value_type) for each in value)}]"
        case dict():
            fields = (arrow_type.field(index) for index in range(arrow_type.num_fields))
            return f"ROW({', '.join(literal(value[field.name], field.type) for field in fields)})"
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
