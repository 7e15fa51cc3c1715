"""The columns that a scan reads, as the kernels take them, and what keeps a scan from being read here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import (
    IcebergType,
    ListType,
    MapType,
    StructType,
    TimestampNanoType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from coordinator.connectors.iceberg.handles import schema_of_json
from coordinator.connectors.iceberg.opaque_types import is_spatial, is_variant, within
from coordinator.connectors.iceberg.rewrite.planning.stored_columns import stored_fields
from coordinator.connectors.iceberg.types import PLAIN_TYPES, presto_type
from coordinator.kernels.lineage import DELETED, FILE, LAST_UPDATED, POSITION, ROW_ID, SEQUENCE
from coordinator.kernels.schema import VARIANT_JSON
from shared.plan.types import Type

_PLAIN: tuple[type[IcebergType], ...] = (*PLAIN_TYPES, TimestamptzType, TimeType, UUIDType)
_AS_OTHERS = (TimestampNanoType, TimestamptzNanoType)
_READ = {"variant": VARIANT_JSON, "timestamp_ns": "timestamp", "timestamptz_ns": "timestamptz"}
"""Types whose values are read as those of another: nanoseconds are cut to microseconds."""
_LINEAGE = {"_row_id": ROW_ID, "_last_updated_sequence_number": LAST_UPDATED}
PATHS = ("$path", "_file")
_MADE_UP: Mapping[str, tuple[int, str, str]] = {
    **dict.fromkeys(PATHS, (FILE, "string", "varchar")),
    "_pos": (POSITION, "long", "bigint"),
    "$data_sequence_number": (SEQUENCE, "long", "bigint"),
    "$deleted": (DELETED, "boolean", "boolean"),
}
"""Columns that are in no file."""


@dataclass(frozen=True, slots=True)
class ScanColumn:
    """``field`` is Iceberg's JSON; ``leaves`` are the ids under which manifests tell the column's bytes.

    ``as_stored``: the type in ``field`` is the column's own.
    """

    name: str
    type: Type
    field: Mapping[str, Any]
    leaves: tuple[int, ...]
    as_stored: bool = True
    holds_variant: bool = False
    """At some depth; manifests tell nothing of its bytes."""


def scan_columns(
    connector_handle: Mapping[str, object], names: Iterable[str], format_version: int
) -> list[ScanColumn] | str:
    """The named columns of a table handle, each once; or why they are not read here."""
    known = _columns_of_json(str(connector_handle["tableSchemaJson"]))
    found = []
    for name in dict.fromkeys(names):
        if (column := known.get(name)) is not None:
            if isinstance(column, str):
                return column
            found.append(column)
        elif name in _LINEAGE and format_version >= 3:
            lineage = {"id": _LINEAGE[name], "name": name, "required": False, "type": "long"}
            found.append(ScanColumn(name, Type("bigint"), lineage, (_LINEAGE[name],)))
        elif name in _MADE_UP:
            number, stored, shown = _MADE_UP[name]
            made = {"id": number, "name": name, "required": False, "type": stored}
            found.append(ScanColumn(name, Type(shown), made, ()))
        else:
            return f"it reads {name}"
    return found


@lru_cache(maxsize=256)
def _columns_of_json(text: str) -> Mapping[str, ScanColumn | str]:
    """Each column of a schema as it is read, or why it is not; statements ask for the same tables again and again."""
    schema = schema_of_json(text)
    found: dict[str, ScanColumn | str] = {}
    for field in stored_fields(schema):
        name, type_ = str(field["name"]), schema.find_type(int(field["id"]))
        found[name] = _column(field, type_) if readable(type_) else f"column {name} is of type {type_}"
    return found


def cheapest_column(schema: Schema, sizes: Mapping[int, int]) -> ScanColumn | None:
    """The column with the fewest bytes, for what only counts rows; None when none can be read here."""
    columns = [_column(f, k) for f in stored_fields(schema) if readable(k := schema.find_type(int(f["id"])))]
    return min(columns, key=lambda c: sum(sizes.get(leaf, 0) for leaf in c.leaves), default=None)


def _column(field: Mapping[str, Any], type_: IcebergType) -> ScanColumn:
    leaves = tuple(_leaves(int(field["id"]), type_))
    varied = any(is_variant(part) for part in within(type_))
    decoded = varied or any(is_spatial(part) or type(part) in _AS_OTHERS for part in within(type_))
    read = _as_read(field["type"]) if decoded else None
    made = {**field, "required": False} if read is None else {**field, "required": False, "type": read}
    return ScanColumn(str(field["name"]), presto_type(type_), made, leaves, read is None, varied)


def _as_read(stored: object) -> object:
    """A type of Iceberg's JSON as kernels read it, at any depth: geometries as binary, variants as JSON."""
    if isinstance(stored, str):
        return "binary" if stored.startswith(("geometry", "geography")) else _READ.get(stored, stored)
    if isinstance(stored, list):
        return [_as_read(part) for part in stored]
    if isinstance(stored, dict):
        below = ("type", "fields", "element", "key", "value")
        return {name: _as_read(part) if name in below else part for name, part in stored.items()}
    return stored


def readable(type_: IcebergType) -> bool:
    """Whether the embedded engine gets the values of this type as Presto has them."""
    match type_:
        case StructType():
            return bool(type_.fields) and all(readable(field.field_type) for field in type_.fields)
        case ListType():
            return readable(type_.element_type)
        case MapType():
            return readable(type_.key_type) and readable(type_.value_type)
        case _:
            if is_spatial(type_) or is_variant(type_):
                return True
            return isinstance(type_, (*_PLAIN, *_AS_OTHERS))


def _leaves(number: int, type_: IcebergType) -> Iterator[int]:
    match type_:
        case StructType():
            for field in type_.fields:
                yield from _leaves(field.field_id, field.field_type)
        case ListType():
            yield from _leaves(type_.element_id, type_.element_type)
        case MapType():
            yield from _leaves(type_.key_id, type_.key_type)
            yield from _leaves(type_.value_id, type_.value_type)
        case _:
            yield number


def leaf_ids(columns: Sequence[ScanColumn]) -> frozenset[int]:
    """The ids of all leaves."""
    return frozenset(leaf for column in columns for leaf in column.leaves)
