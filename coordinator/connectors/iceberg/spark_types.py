"""Columns that Spark's Iceberg has no type for: it neither reads nor writes a table that has one."""

from __future__ import annotations

from pyiceberg.schema import index_by_id
from pyiceberg.table import Table
from pyiceberg.types import TimestampNanoType, TimestamptzNanoType, TimeType

from coordinator.connectors.iceberg.opaque_types import is_opaque


def times_of(table: Table) -> tuple[str, ...]:
    """The dotted names of columns of type time, also inside arrays, maps and rows."""
    schema = table.schema()
    numbers = sorted(n for n, field in index_by_id(schema).items() if isinstance(field.field_type, TimeType))
    return tuple(str(schema.find_column_name(number)) for number in numbers)


def unknown_to_spark(table: Table) -> str:
    """The columns beside those of type time for which Spark does not load the table, with their types; or nothing."""
    found = []
    for number, field in sorted(index_by_id(table.schema()).items()):
        kind = field.field_type
        opaque = is_opaque(kind) and str(kind) != "variant"
        if opaque or isinstance(kind, TimestampNanoType | TimestamptzNanoType):
            found.append(f"{kind} (column {table.schema().find_column_name(number)})")
    return ", ".join(found)
