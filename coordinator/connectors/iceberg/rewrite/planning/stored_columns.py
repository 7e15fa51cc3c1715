"""The columns that data files of a table hold, as the kernels take them, and which of them kernels cannot write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from pyiceberg.schema import Schema

from coordinator.connectors.iceberg.opaque_types import is_opaque

_EPOCH = date(1970, 1, 1)
_BYTES = ("variant", "geometry", "geography")
"""Types of which kernels keep the bytes."""


def stored_fields(schema: Schema) -> list[dict[str, Any]]:
    """Iceberg's JSON with default values as ``json_value`` gives them, for columns that a file may lack.

    Columns of type unknown are left out: they are always NULL, and no file holds them.
    """
    fields: list[dict[str, Any]] = json.loads(schema.model_dump_json())["fields"]
    for field in (found for top in fields for found in _below(top)):
        if field.get("initial-default") is not None:
            field["initial-default"] = json_value(schema.find_field(field["id"]).initial_default)
    return [field for field in fields if field["type"] != "unknown"]


def unwritable_column(schema: Schema) -> str | None:
    """A column that kernels cannot write, with its type; None when there is none."""
    for top in stored_fields(schema):
        for field in _below(top):
            kind = field["type"] if isinstance(field["type"], str) else field["type"]["type"]
            if kind == "unknown" or (is_opaque(schema.find_type(field["id"])) and not kind.startswith(_BYTES)):
                return f"column {schema.find_column_name(field['id'])} is of type {kind}"
    return None


def _below(field: Mapping[str, object]) -> Iterator[dict[str, Any]]:
    """A field and all fields in its type; elements, keys and values too."""
    assert isinstance(field, dict)
    yield field
    match field["type"]:
        case {"type": "struct", "fields": inner}:
            for child in inner:
                yield from _below(child)
        case {"type": "list", "element-id": number, "element": kind}:
            yield from _below({"id": number, "type": kind})
        case {"type": "map", "key-id": key_id, "key": key, "value-id": value_id, "value": value}:
            yield from _below({"id": key_id, "type": key})
            yield from _below({"id": value_id, "type": value})


def json_value(value: object) -> object:
    """A constant of a column as kernels take it: days, microseconds, text of decimals, hex of bytes."""
    match value:
        case datetime():
            utc = value.replace(tzinfo=UTC) if value.tzinfo is None else value
            return (utc - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        case date():
            return (value - _EPOCH).days
        case time():
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        case Decimal():
            return str(value)
        case UUID():
            return value.bytes.hex()
        case bytes():
            return value.hex()
        case _:
            return value
