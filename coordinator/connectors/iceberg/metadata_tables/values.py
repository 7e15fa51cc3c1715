"""Values in Iceberg's metadata as Python values that Arrow takes, and as texts."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from pyiceberg.transforms import IdentityTransform, Transform
from pyiceberg.types import (
    DateType,
    IcebergType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from coordinator.connectors.iceberg.bounds import bound_value
from coordinator.connectors.iceberg.partitions import shown_value

_IDENTITY: Transform[object, object] = IdentityTransform()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def bound_text(
    type_: IcebergType, encoded: bytes | None, transform: Transform[object, object] = _IDENTITY
) -> str | None:
    """A bound of a column, or of its transformed values, as people write it; Presto gives these texts.

    None where there is none, or none that the type can have.
    """
    value = bound_value(transform.result_type(type_), encoded)
    try:
        return None if value is None else shown_value(transform, type_, value)
    except (ValueError, OverflowError):
        return None


def bound_shown(type_: IcebergType, value: object) -> object:
    """A bound as what Arrow takes; None for a day or moment that nothing here can hold."""
    try:
        return python_value(type_, value)
    except OverflowError:
        return None


def bigint(count: int | None) -> int | None:
    """A count or a sum of counts; None for one that no bigint holds, which only broken metadata give."""
    return None if count is None or not -(2**63) <= count < 2**63 else count


def python_value(type_: IcebergType, value: Any) -> object:
    """A value as Iceberg counts it (days, microseconds, bytes) as what Arrow takes for the Presto type."""
    if value is None:
        return None
    match type_:
        case DateType():
            return value if isinstance(value, date) else _day(value)
        case TimeType():
            return value if isinstance(value, time) else (_EPOCH + timedelta(microseconds=value)).time()
        case TimestampType() | TimestamptzType():
            return _timestamp(value, zoned=isinstance(type_, TimestamptzType))
        case TimestampNanoType() | TimestamptzNanoType():
            return _timestamp(value // 1000, zoned=isinstance(type_, TimestamptzNanoType))
        case UUIDType():
            return str(value)
        case _:
            return value


def _day(days: int) -> date | int:
    """A day; behind the year 9999, which Python's dates do not know, its number, which Arrow takes as well."""
    try:
        return (_EPOCH + timedelta(days=days)).date()
    except OverflowError:
        return days


def _timestamp(value: datetime | int, *, zoned: bool) -> datetime | int:
    """A moment; behind the year 9999 its microseconds, as with days."""
    if isinstance(value, int):
        try:
            value = _EPOCH + timedelta(microseconds=value)
        except OverflowError:
            return value
    return value if zoned else value.replace(tzinfo=None)
