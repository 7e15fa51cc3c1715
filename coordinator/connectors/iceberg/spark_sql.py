"""Texts for Spark's SQL parser: names, strings and file filters. Nothing that a user wrote is spliced in unencoded.

Two traps besides quotes: a backslash starts an escape inside a string, and ``${…}`` anywhere in a statement is
replaced by settings and environment variables of the server (``spark.sql.variable.substitute``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    BoundEqualTo,
    BoundGreaterThan,
    BoundGreaterThanOrEqual,
    BoundIn,
    BoundIsNull,
    BoundLessThan,
    BoundLessThanOrEqual,
    BoundNotEqualTo,
    BoundNotIn,
    BoundNotNull,
    Or,
)
from pyiceberg.expressions.visitors import bind
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from shared.errors import ErrorCode, ProcessionError

_OPERATORS: Mapping[type[object], str] = {
    BoundEqualTo: "=",
    BoundNotEqualTo: "<>",
    BoundLessThan: "<",
    BoundLessThanOrEqual: "<=",
    BoundGreaterThan: ">",
    BoundGreaterThanOrEqual: ">=",
}
_LONGEST_LIST = 1000


def quoted_string(text: str) -> str:
    """A string literal; quotes, backslashes, dollars and control characters as ``\\uXXXX``.

    >>> quoted_string("it's $5")
    "'it\\\\u0027s \\\\u00245'"
    """
    return "'" + "".join(_escaped(c) for c in text) + "'"


def _escaped(character: str) -> str:
    if character in "'\"\\$`" or ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0:
        return f"\\u{ord(character):04x}"
    return character


def quoted_name(name: str) -> str:
    """An identifier in backticks; raises ProcessionError NOT_SUPPORTED for one that Spark would change.

    >>> quoted_name("a`b")
    '`a``b`'
    """
    if "${" in name or not name:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Spark cannot be given the name '{name}'")
    return "`" + name.replace("`", "``") + "`"


def quoted_path(names: Iterable[str]) -> str:
    """A dotted name, each part quoted."""
    return ".".join(quoted_name(name) for name in names)


def string_map(entries: Mapping[str, str]) -> str:
    """``map('k', 'v', …)``; entries must not be empty."""
    return f"map({', '.join(quoted_string(text) for pair in entries.items() for text in pair)})"


def where_clause(predicate: BooleanExpression, schema: Schema) -> str | None:
    """``predicate`` as Spark SQL that is true for at least the same rows; None when that is every row.

    Takes what ``filters.iceberg_predicate`` makes: negations are inside the comparisons. Comparisons with values that
    Spark cannot compare in a file filter (time, uuid, binary, nanoseconds) count as true, as in our own selection.
    """
    text = _text(bind(schema, predicate, case_sensitive=True))
    return None if text == "TRUE" else text


def _text(predicate: BooleanExpression) -> str:
    match predicate:
        case AlwaysFalse():
            return "FALSE"
        case And():
            return _joined("AND", "TRUE", "FALSE", (_text(predicate.left), _text(predicate.right)))
        case Or():
            return _joined("OR", "FALSE", "TRUE", (_text(predicate.left), _text(predicate.right)))
        case BoundIsNull():
            return f"{_column(predicate)} IS NULL"
        case BoundNotNull():
            return f"{_column(predicate)} IS NOT NULL"
        case BoundIn() | BoundNotIn():
            return _membership(predicate)
        case _ if type(predicate) in _OPERATORS:
            return _comparison(predicate)
        case AlwaysTrue() | _:
            return "TRUE"


def _joined(operator: str, neutral: str, absorbing: str, parts: tuple[str, str]) -> str:
    left = [part for part in parts if part != neutral]
    if absorbing in left:
        return absorbing
    return f"({f' {operator} '.join(left)})" if len(left) == 2 else (left[0] if left else neutral)


def _comparison(predicate: Any) -> str:
    value = _value(predicate.literal.value, predicate.term.ref().field.field_type)
    return "TRUE" if value is None else f"{_column(predicate)} {_OPERATORS[type(predicate)]} {value}"


def _membership(predicate: Any) -> str:
    kind = predicate.term.ref().field.field_type
    values = [_value(literal.value, kind) for literal in predicate.literals]
    present = sorted(value for value in values if value is not None)
    if len(present) < len(values) or len(present) > _LONGEST_LIST:
        return "TRUE"
    word = "IN" if isinstance(predicate, BoundIn) else "NOT IN"
    return f"{_column(predicate)} {word} ({', '.join(present)})"


def _column(predicate: Any) -> str:
    return quoted_name(predicate.term.ref().field.name)


def _value(value: Any, type_: IcebergType) -> str | None:
    """The literal of a bound value (dates in days, timestamps in microseconds since 1970); None when there is none."""
    match type_:
        case BooleanType():
            return "TRUE" if value else "FALSE"
        case IntegerType():
            return str(value)
        case LongType():
            return f"{value}L"
        case FloatType() | DoubleType():
            name = "FLOAT" if isinstance(type_, FloatType) else "DOUBLE"
            return None if math.isnan(value) else f"CAST('{value!r}' AS {name})"
        case DecimalType():
            return f"CAST('{value:f}' AS DECIMAL({type_.precision},{type_.scale}))"
        case StringType():
            return quoted_string(value)
        case DateType():
            instant = _timestamp(timedelta(days=value))
            return None if instant is None else f"DATE '{instant.date().isoformat()}'"
        case TimestampType() | TimestamptzType():
            instant = _timestamp(timedelta(microseconds=value))
            text = None if instant is None else instant.isoformat(sep=" ", timespec="microseconds")
            if text is None:
                return None
            return f"TIMESTAMP_NTZ '{text}'" if isinstance(type_, TimestampType) else f"TIMESTAMP_LTZ '{text}+00:00'"
        case _:
            return None


def _timestamp(since_1970: timedelta) -> datetime | None:
    try:
        return datetime(1970, 1, 1) + since_1970
    except OverflowError:
        return None
