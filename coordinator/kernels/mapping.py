"""Field ids for files that carry none (imported from Hive), by the table's name mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from .errors import KernelError
from .schema import FIELD_ID, field_id, is_list

NameMapping = Sequence[Mapping[str, Any]]


def with_ids(schema: pa.Schema, mapping: NameMapping | None, path: str) -> pa.Schema:
    """The Arrow schema of a file with field ids; raises KernelError when neither file nor table gives them."""
    if any(_has_id(field) for field in schema):
        return schema
    if mapping is None:
        raise KernelError("ICEBERG_BAD_DATA", f"File has no field ids and its table no name mapping: {path}")
    return pa.schema([_named(field, mapping) for field in schema])


def _has_id(field: pa.Field) -> bool:
    return field_id(field) is not None or any(_has_id(child) for child in _children(field.type))


def _children(type_: pa.DataType) -> list[pa.Field]:
    if pa.types.is_struct(type_):
        return [type_.field(i) for i in range(type_.num_fields)]
    if is_list(type_):
        return [type_.value_field]
    return [type_.key_field, type_.item_field] if pa.types.is_map(type_) else []


def _named(field: pa.Field, mapping: NameMapping) -> pa.Field:
    entry = next((item for item in mapping if field.name in item["names"]), None)
    if entry is None or "field-id" not in entry:
        return field
    return _with(field, entry, field.name)


def _with(field: pa.Field, entry: Mapping[str, Any], name: str) -> pa.Field:
    type_, inner = field.type, entry.get("fields", [])
    if pa.types.is_struct(type_):
        type_ = pa.struct([_named(child, inner) for child in _children(type_)])
    elif is_list(type_):
        type_ = pa.list_(_renamed(type_.value_field, inner, "element"))
    elif pa.types.is_map(type_):
        type_ = pa.map_(_renamed(type_.key_field, inner, "key"), _renamed(type_.item_field, inner, "value"))
    return pa.field(name, type_, field.nullable, metadata={FIELD_ID: str(entry["field-id"]).encode()})


def _renamed(field: pa.Field, mapping: NameMapping, name: str) -> pa.Field:
    """An element, key or value: its mapping entry goes by Iceberg's name, whatever the file calls it."""
    entry = next((item for item in mapping if name in item["names"]), None)
    return field if entry is None or "field-id" not in entry else _with(field, entry, field.name)
