"""Sizes of types as ``information_schema.columns``, SHOW COLUMNS and JDBC tell them.

Source: Presto 0.296, ``ColumnJdbcTable``; numbers of ``java.sql.Types``.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.plan.types import UNBOUNDED_LENGTH, Type, parse_type

_PRECISIONS = {"bigint": 19, "integer": 10, "smallint": 5, "tinyint": 3, "double": 53, "real": 24}
_JAVA_OBJECT = 2000
_JDBC_TYPES = {
    "boolean": 16,
    "bigint": -5,
    "integer": 4,
    "smallint": 5,
    "tinyint": -6,
    "real": 7,
    "double": 8,
    "decimal": 3,
    "varchar": 12,
    "char": 1,
    "varbinary": -3,
    "time": 92,
    "time with time zone": 2013,
    "timestamp": 93,
    "timestamp with time zone": 2014,
    "date": 91,
    "array": 2003,
}
_TEMPORAL_SIZES = {"time": 8, "time with time zone": 14, "date": 14, "timestamp": 23, "timestamp with time zone": 29}
_EXACT = ("bigint", "integer", "smallint", "tinyint", "decimal")


@dataclass(frozen=True, slots=True)
class JdbcSizes:
    """Columns of ``system.jdbc.columns``; None where JDBC knows no value for the type."""

    data_type: int
    column_size: int | None
    decimal_digits: int | None
    radix: int | None
    char_octet_length: int | None


def precision_scale_length(type_text: str) -> tuple[int | None, int | None, int | None]:
    """Precision of numbers, scale of decimals, length of bounded texts."""
    type_ = parse_type(type_text)
    if type_.base == "decimal":
        precision, scale = type_.numbers
        return precision, scale, None
    length = _length(type_)
    return _PRECISIONS.get(type_.base), None, None if length == UNBOUNDED_LENGTH else length


def jdbc_sizes(type_text: str) -> JdbcSizes:
    """What JDBC's metadata says of a type."""
    type_ = parse_type(type_text)
    length = UNBOUNDED_LENGTH if type_.base == "varbinary" else _length(type_)
    precision = type_.numbers[0] if type_.base == "decimal" else _PRECISIONS.get(type_.base)
    radix = 10 if type_.base in _EXACT else 2 if type_.base in ("real", "double") else None
    return JdbcSizes(
        data_type=_JDBC_TYPES.get(type_.base, _JAVA_OBJECT),
        column_size=next((v for v in (precision, length, _TEMPORAL_SIZES.get(type_.base)) if v is not None), None),
        decimal_digits=type_.numbers[1] if type_.base == "decimal" else None,
        radix=radix,
        char_octet_length=length,
    )


def _length(type_: Type) -> int | None:
    if type_.base == "varchar":
        return type_.numbers[0] if type_.numbers else UNBOUNDED_LENGTH
    return type_.numbers[0] if type_.base == "char" and type_.numbers else None
