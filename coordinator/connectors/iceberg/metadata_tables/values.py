"""Values in Iceberg's metadata as Python values that Arrow takes, and as texts."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    DateType,
    IcebergType,
    PrimitiveType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def bound(kind: IcebergType, encoded: bytes | None) -> Any:
    """The value of a lower or upper bound as Iceberg counts it; None where there is none."""
    if encoded is None or not isinstance(kind, PrimitiveType):
        return None
    return from_bytes(kind, encoded)


def bound_text(kind: IcebergType, encoded: bytes) -> str:
    """The bound as people write it; Presto gives these texts."""
    return IdentityTransform().to_human_string(kind, bound(kind, encoded))


def python_value(kind: IcebergType, value: Any) -> Any:
    """A value as Iceberg counts it (days, microseconds, bytes) as what Arrow takes for the Presto type."""
    if value is None:
        return None
    match kind:
        case DateType():
            return value if isinstance(value, date) else (_EPOCH + timedelta(days=value)).date()
        case TimeType():
            return value if isinstance(value, time) else (_EPOCH + timedelta(microseconds=value)).time()
        case TimestampType() | TimestamptzType():
            return _moment(value, zoned=isinstance(kind, TimestamptzType))
        case TimestampNanoType() | TimestamptzNanoType():
            return _moment(value // 1000, zoned=isinstance(kind, TimestamptzNanoType))
        case UUIDType():
            return str(value)
        case _:
            return value


def _moment(value: Any, *, zoned: bool) -> datetime:
    moment = value if isinstance(value, datetime) else _EPOCH + timedelta(microseconds=value)
    return moment if zoned else moment.replace(tzinfo=None)
