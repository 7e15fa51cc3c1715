"""Until when the rows of a partition can be: the end of its range of time."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from pyiceberg.partitioning import PartitionField
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform, HourTransform, IdentityTransform, MonthTransform, YearTransform
from pyiceberg.types import DateType, StringType, TimestampType, TimestamptzType

_EPOCH = datetime(1970, 1, 1)
_TIMES = (DateType, TimestampType, TimestamptzType)
_TRANSFORMS = (IdentityTransform, YearTransform, MonthTransform, DayTransform, HourTransform)


def time_fields(table: Table) -> dict[int, dict[int, PartitionField]]:
    """By spec id, the positions of partition fields that tell a time, with these fields."""
    found: dict[int, dict[int, PartitionField]] = {}
    for spec_id, spec in table.specs().items():
        fields = {i: field for i, field in enumerate(spec.fields) if tells_time(table, field)}
        found[spec_id] = fields
    return found


def tells_time(table: Table, field: PartitionField) -> bool:
    """Whether the field divides time; text that is a date does so by identity."""
    if not isinstance(field.transform, _TRANSFORMS):
        return False
    try:
        kind = table.schema().find_type(field.source_id)
    except ValueError:
        return False
    text = isinstance(kind, StringType) and isinstance(field.transform, IdentityTransform)
    return isinstance(kind, _TIMES) or text


def has_zone(table: Table, field: PartitionField) -> bool:
    """Whether the values that the field divides are moments, not what a clock shows somewhere."""
    return isinstance(table.schema().find_type(field.source_id), TimestamptzType)


def end_of(table: Table, field: PartitionField, value: Any) -> datetime | None:
    """The first moment behind the partition, by the column's own clock; None when its value is null or no date."""
    if value is None:
        return None
    match field.transform:
        case YearTransform():
            return datetime(1970 + int(value) + 1, 1, 1)
        case MonthTransform():
            months = int(value) + 1
            return datetime(1970 + months // 12, months % 12 + 1, 1)
        case DayTransform():
            return _EPOCH + timedelta(days=_days(value) + 1)
        case HourTransform():
            return _EPOCH + timedelta(hours=int(value) + 1)
        case _:
            return _end_of_value(table, field, value)


def _end_of_value(table: Table, field: PartitionField, value: Any) -> datetime | None:
    match table.schema().find_type(field.source_id):
        case DateType():
            return _EPOCH + timedelta(days=_days(value) + 1)
        case StringType():
            try:
                return datetime.combine(date.fromisoformat(str(value)), datetime.min.time()) + timedelta(days=1)
            except ValueError:
                return None
        case _:
            return _EPOCH + timedelta(microseconds=int(value) + 1)


def _days(value: Any) -> int:
    return (value - _EPOCH.date()).days if isinstance(value, date) else int(value)
