"""The order of rows that a sorting rewrite asks of the kernels (``kernels/keys.py`` and ``curves.py``)."""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import IcebergType, PrimitiveType

from coordinator.connectors.iceberg.rewrite.asked.options import RewriteOptions
from coordinator.connectors.iceberg.rewrite.asked.sorted_by import SortedBy, resolved
from coordinator.kernels.sort_tasks import KeyColumn, RowOrder
from shared.spi.procedure import ArgumentError

_TIMES: dict[type, str] = {YearTransform: "year", MonthTransform: "month", DayTransform: "day", HourTransform: "hour"}
_NANOSECONDS = ("timestamp_ns", "timestamptz_ns")
_UNSORTED = ("unknown", "variant", "geometry", "geography")
STRANGE_TYPES = (*_UNSORTED, *_NANOSECONDS)
"""Beginnings of types that our kernels do not divide by; by nanoseconds as they are they sort."""


@dataclass(frozen=True, slots=True)
class Ordering:
    """``order`` is what kernels take; ``sort_order_id`` is given to files when the order is the table's own."""

    order: RowOrder
    sort_order_id: int | None = None


def row_order(table: Table, sorted_by: SortedBy | None, options: RewriteOptions) -> Ordering | str:
    """The order that a call asks for, or why our kernels cannot sort so; raises ProcessionError for wrong columns."""
    if sorted_by is None:
        return _of_table(table)
    columns = resolved(sorted_by, table)
    schema = table.schema()
    found = []
    for column in columns.columns:
        field = schema.find_field(column.name)
        if reason := _unsortable(field.field_type, column.name):
            return reason
        key = KeyColumn(field.field_id, descending=column.direction == "DESC", nulls_first=column.nulls == "FIRST")
        found.append(key if sorted_by.curve is None else KeyColumn(field.field_id, prefix=options.var_length))
    if sorted_by.curve is None:
        exact = not table.sort_order().is_unsorted and len(found) == len(table.sort_order().fields)
        return Ordering(RowOrder(found), table.sort_order().order_id if exact else None)
    bits = None if options.max_output_size is None else 8 * options.max_output_size
    return Ordering(RowOrder(found, sorted_by.curve, bits))


def _of_table(table: Table) -> Ordering | str:
    order, schema = table.sort_order(), table.schema()
    if order.is_unsorted:
        name = ".".join(table.name())
        raise ArgumentError(
            "strategy",
            f"Cannot sort data without a valid sort order: table {name} is unsorted and sorted_by is not given",
        )
    found = []
    for field in order.fields:
        column = _column(field, schema)
        if isinstance(column, str):
            return column
        found.append(column)
    return Ordering(RowOrder(found), order.order_id)


def _column(field: SortField, schema: Schema) -> KeyColumn | str:
    source = next((f for f in schema.fields if f.field_id == field.source_id), None)
    if source is None:
        return "the table's sort order names a nested column"
    if reason := _unsortable(source.field_type, source.name):
        return reason
    transform = _transform(field)
    if transform is None or (transform != "identity" and str(source.field_type).startswith(_NANOSECONDS)):
        return f"the table's sort order has {field.transform} of {source.name}"
    return KeyColumn(
        source.field_id,
        transform,
        descending=field.direction == SortDirection.DESC,
        nulls_first=field.null_order == NullOrder.NULLS_FIRST,
    )


def _transform(field: SortField) -> str | None:
    transform = field.transform
    if isinstance(transform, IdentityTransform):
        return "identity"
    if isinstance(transform, (TruncateTransform, BucketTransform)):
        return str(transform)
    return _TIMES.get(type(transform))


def _unsortable(type_: IcebergType, name: str) -> str | None:
    if not isinstance(type_, PrimitiveType) or str(type_).startswith(_UNSORTED):
        return f"column {name} is of type {type_}"
    return None
