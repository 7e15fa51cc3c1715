"""Columns that Spark's Iceberg has no type for: it neither reads nor writes a table that has one."""

from __future__ import annotations

from pyiceberg.schema import index_by_id
from pyiceberg.table import Table
from pyiceberg.types import TimeType


def times_of(table: Table) -> tuple[str, ...]:
    """The dotted names of columns of type time, also inside arrays, maps and rows."""
    schema = table.schema()
    numbers = sorted(n for n, field in index_by_id(schema).items() if isinstance(field.field_type, TimeType))
    return tuple(str(schema.find_column_name(number)) for number in numbers)
