"""``partitioning`` and ``sorted_by`` as Iceberg's partition spec and sort order, and back.

Transforms are written as Presto does: ``c``, ``year(c)``, ``month(c)``, ``day(c)``, ``hour(c)``, ``bucket(c, n)``,
``truncate(c, n)``; Trino's ``void(c)`` is not made, only shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import NestedField

from coordinator.connectors.iceberg.failures import invalid_property
from coordinator.connectors.iceberg.opaque_types import is_variant
from coordinator.connectors.iceberg.rewrite.asked.sorted_by import parse_sorted_by

_NAME = r'([A-Za-z_][A-Za-z0-9_]*|"(?:""|[^"])*")'
_CALL = re.compile(rf"\s*(year|month|day|hour|identity)\s*\(\s*{_NAME}\s*\)\s*", re.IGNORECASE)
_COUNTED = re.compile(rf"\s*(bucket|truncate)\s*\(\s*{_NAME}\s*,\s*(\d+)\s*\)\s*", re.IGNORECASE)
_PLAIN = re.compile(rf"\s*{_NAME}\s*")
_TIME: dict[str, Callable[[], Transform[Any, Any]]] = {
    "year": YearTransform,
    "month": MonthTransform,
    "day": DayTransform,
    "hour": HourTransform,
}
_SUFFIX = {"year": "year", "month": "month", "day": "day", "hour": "hour", "bucket": "bucket", "truncate": "trunc"}


def partition_spec(schema: Schema, entries: Sequence[str]) -> PartitionSpec:
    """The spec; raises INVALID_TABLE_PROPERTY for an entry that is none, names no column or does not suit its type."""
    fields: list[PartitionField] = []
    for number, entry in enumerate(entries):
        name, transform, field_name = _parsed(entry)
        source = _column(schema, name, "Column not found")
        if is_variant(source.field_type) or not transform.can_transform(source.field_type):
            raise invalid_property(f"Unable to partition by {entry}: type {source.field_type} of column {source.name}")
        own = source.name if isinstance(transform, IdentityTransform) else f"{source.name}_{field_name}"
        if any(f.name == own or (f.source_id == source.field_id and f.transform == transform) for f in fields):
            raise invalid_property(f"Partition field is given twice: {entry}")
        fields.append(PartitionField(source.field_id, PARTITION_FIELD_ID_START + number, transform, own))
    return PartitionSpec(*fields)


def _parsed(entry: str) -> tuple[str, Transform[object, object], str]:
    counted = _COUNTED.fullmatch(entry)
    if counted is not None:
        count = int(counted[3])
        if count < 1:
            raise invalid_property(f"Invalid partition field declaration: {entry}")
        kind = counted[1].lower()
        made: Transform[object, Any] = BucketTransform(count) if kind == "bucket" else TruncateTransform(count)
        return _unquoted(counted[2]), made, _SUFFIX[kind]
    called = _CALL.fullmatch(entry)
    if called is not None:
        kind = called[1].lower()
        if kind == "identity":
            return _unquoted(called[2]), IdentityTransform(), ""
        return _unquoted(called[2]), _TIME[kind](), _SUFFIX[kind]
    plain = _PLAIN.fullmatch(entry)
    if plain is None:
        raise invalid_property(f"Invalid partition field declaration: {entry}")
    return _unquoted(plain[1]), IdentityTransform(), ""


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"').lower() if name.startswith('"') else name.lower()


def _column(schema: Schema, name: str, missing: str) -> NestedField:
    found = next((f for f in schema.fields if f.name.lower() == name), None)
    if found is None:
        raise invalid_property(f"{missing}: {name}")
    return found


def sort_order(schema: Schema, entries: Sequence[str]) -> SortOrder:
    """The order; raises INVALID_TABLE_PROPERTY. Nulls come first ascending and last descending unless told."""
    fields: list[SortField] = []
    parsed = parse_sorted_by(entries)
    if parsed.curve is not None:
        raise invalid_property(f"{parsed.curve}(...) is for rewrite_data_files; a table's order is by columns")
    for column, entry in zip(parsed.columns, entries, strict=True):
        source = _column(schema, column.name.lower(), "Sorted-by column not found")
        if is_variant(source.field_type) or not source.field_type.is_primitive:
            raise invalid_property(f"Unable to sort by {entry}: type {source.field_type}")
        nulls = re.search(r"\bNULLS\s+(FIRST|LAST)\s*$", entry, re.IGNORECASE)
        descending = column.direction == "DESC"
        last = nulls[1].upper() == "LAST" if nulls is not None else descending
        fields.append(
            SortField(
                source.field_id,
                IdentityTransform(),
                SortDirection.DESC if descending else SortDirection.ASC,
                NullOrder.NULLS_LAST if last else NullOrder.NULLS_FIRST,
            )
        )
    return SortOrder(*fields) if fields else SortOrder(order_id=0)


def partitioning_of(schema: Schema, spec: PartitionSpec) -> tuple[str, ...]:
    """The entries that would make ``spec``."""
    return tuple(_entry(schema, field) for field in spec.fields if str(field.transform) != "void")


def _entry(schema: Schema, field: PartitionField) -> str:
    name = quoted(str(schema.find_column_name(field.source_id)))
    transform = str(field.transform)
    if transform == "identity":
        return name
    counted = re.fullmatch(r"(\w+)\[(\d+)\]", transform)
    return f"{counted[1]}({name}, {counted[2]})" if counted is not None else f"{transform}({name})"


def sorted_by_of(schema: Schema, order: SortOrder) -> tuple[str, ...]:
    """The entries that would make ``order``; fields with a transform have none and are left out."""
    found = []
    for field in order.fields:
        if not isinstance(field.transform, IdentityTransform):
            continue
        name = quoted(str(schema.find_column_name(field.source_id)))
        direction = "ASC" if field.direction is SortDirection.ASC else "DESC"
        nulls = "FIRST" if field.null_order is NullOrder.NULLS_FIRST else "LAST"
        found.append(f"{name} {direction} NULLS {nulls}")
    return tuple(found)


def quoted(name: str) -> str:
    """A column's name, in quotes where it needs them."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return name
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
