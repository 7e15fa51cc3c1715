"""Columns that Spark's Iceberg has no type for: it neither reads nor writes a table that has one."""

from __future__ import annotations

from collections.abc import Callable

from pyiceberg.schema import Schema, index_by_id
from pyiceberg.table import Table
from pyiceberg.types import IcebergType, TimestampNanoType, TimestamptzNanoType, TimeType

from coordinator.connectors.iceberg.opaque_types import is_opaque, is_variant, within
from coordinator.connectors.iceberg.per_schema import per_schema


def times_of(table: Table) -> tuple[str, ...]:
    """The dotted names of columns of type time, also inside arrays, maps and rows."""
    return _times_of(table.schema())


@per_schema
def _times_of(schema: Schema) -> tuple[str, ...]:
    if not _holds(schema, _is_time):  # as in most tables
        return ()
    numbers = sorted(n for n, field in index_by_id(schema).items() if _is_time(field.field_type))
    return tuple(str(schema.find_column_name(number)) for number in numbers)


def unknown_to_spark(table: Table) -> str:
    """The columns beside those of type time for which Spark does not load the table, with their types; or nothing."""
    return _unknown_to_spark(table.schema())


@per_schema
def _unknown_to_spark(schema: Schema) -> str:
    if not _holds(schema, is_unknown):
        return ""
    found = (
        f"{field.field_type} (column {schema.find_column_name(number)})"
        for number, field in sorted(index_by_id(schema).items())
        if is_unknown(field.field_type)
    )
    return ", ".join(found)


def _holds(schema: Schema, wanted: Callable[[IcebergType], bool]) -> bool:
    return any(wanted(type_) for field in schema.fields for type_ in within(field.field_type))


def _is_time(type_: IcebergType) -> bool:
    return isinstance(type_, TimeType)


def is_unknown(type_: IcebergType) -> bool:
    """Whether Spark loads no table with such a column; times of day apart, which are told apart everywhere."""
    opaque = is_opaque(type_) and not is_variant(type_)
    return opaque or isinstance(type_, TimestampNanoType | TimestamptzNanoType)
