"""Columns that Spark's Iceberg has no type for: it neither reads nor writes a table that has one."""

from __future__ import annotations

from pyiceberg.schema import index_by_id
from pyiceberg.table import Table
from pyiceberg.types import (
    IcebergType,
    ListType,
    MapType,
    StructType,
    TimestampNanoType,
    TimestamptzNanoType,
    TimeType,
)

from coordinator.connectors.iceberg.opaque_types import is_opaque


def times_of(table: Table) -> tuple[str, ...]:
    """The dotted names of columns of type time, also inside arrays, maps and rows."""
    schema = table.schema()
    if not any(_holds_time(field.field_type) for field in schema.fields):  # as in most tables
        return ()
    numbers = sorted(n for n, field in index_by_id(schema).items() if isinstance(field.field_type, TimeType))
    return tuple(str(schema.find_column_name(number)) for number in numbers)


def _holds_time(kind: IcebergType) -> bool:
    match kind:
        case StructType():
            return any(_holds_time(field.field_type) for field in kind.fields)
        case ListType():
            return _holds_time(kind.element_type)
        case MapType():
            return _holds_time(kind.key_type) or _holds_time(kind.value_type)
        case _:
            return isinstance(kind, TimeType)


def unknown_to_spark(table: Table) -> str:
    """The columns beside those of type time for which Spark does not load the table, with their types; or nothing."""
    found = []
    for number, field in sorted(index_by_id(table.schema()).items()):
        kind = field.field_type
        opaque = is_opaque(kind) and str(kind) != "variant"
        if opaque or isinstance(kind, TimestampNanoType | TimestamptzNanoType):
            found.append(f"{kind} (column {table.schema().find_column_name(number)})")
    return ", ".join(found)
