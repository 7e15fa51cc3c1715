"""Iceberg schemas as Arrow schemas with field ids, and columns of old files brought to today's schema by field id.

A field is Iceberg's JSON: ``{"id", "name", "required", "type"}``; a type is text or an object: struct, list, map.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from . import tasks
from .errors import KernelError
from .shredded import json_column
from .unscaled import UNSCALED, integers, precision_and_scale, scaled, whole
from .unshredded import WHOLE, whole_column

FieldJson = tasks.FieldJson
Align = Callable[[pa.Array], pa.Array]
FIELD_ID = b"PARQUET:field_id"
VARIANT_JSON = "variant as json"
"""A column of type variant that is read as text; ``variant`` itself are its bytes."""
VARIANT_METADATA, VARIANT_VALUE = "metadata of variant", "value of variant"
"""The columns of a file that a column of type variant is, each with its id."""
_SPATIAL = ("geometry", "geography")

_PLAIN: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns", tz="UTC"),
    "string": pa.string(),
    "uuid": pa.uuid(),
    "binary": pa.binary(),
    VARIANT_JSON: pa.string(),
    "variant": WHOLE,
}
_FIXED = re.compile(r"fixed\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A primitive column of a file: its Parquet path, and the names that lead to it when no list or map is above."""

    path: str
    id: int
    type: str
    names: tuple[str, ...] | None


def arrow_type(iceberg: Any) -> pa.DataType:
    """The Arrow type that is written for an Iceberg type; raises KernelError for types that we cannot write."""
    if isinstance(iceberg, str):
        if iceberg in _PLAIN:
            return _PLAIN[iceberg]
        if digits := precision_and_scale(iceberg):
            return integers(digits[0]) if iceberg.startswith(UNSCALED) else pa.decimal128(*digits)
        if match := _FIXED.fullmatch(iceberg):
            return pa.binary(int(match[1]))
        if iceberg.startswith(_SPATIAL):
            return pa.binary()  # well-known binary
        raise KernelError("NOT_SUPPORTED", f"Iceberg type {iceberg} cannot be written")
    match iceberg["type"]:
        case "struct":
            return pa.struct([arrow_field(f) for f in iceberg["fields"]])
        case "list":
            return pa.list_(arrow_field(list_element(iceberg)))
        case "map":
            key, value = map_entry(iceberg)
            return pa.map_(arrow_field(key), arrow_field(value))
        case type_:
            raise KernelError("NOT_SUPPORTED", f"Iceberg type {type_} cannot be written")


def arrow_field(field: FieldJson) -> pa.Field:
    """The Arrow field of an Iceberg field, with its id."""
    metadata = {FIELD_ID: str(field["id"]).encode()}
    return pa.field(field["name"], arrow_type(field["type"]), nullable=not field["required"], metadata=metadata)


def list_element(iceberg: Mapping[str, Any]) -> dict[str, Any]:
    """The element of a list type, as a field."""
    required = iceberg["element-required"]
    return {"id": iceberg["element-id"], "name": "element", "required": required, "type": iceberg["element"]}


def map_entry(iceberg: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Key and value of a map type, as fields."""
    key = {"id": iceberg["key-id"], "name": "key", "required": True, "type": iceberg["key"]}
    required = iceberg["value-required"]
    return key, {"id": iceberg["value-id"], "name": "value", "required": required, "type": iceberg["value"]}


def leaves(fields: Sequence[FieldJson]) -> list[Leaf]:
    """The primitive columns in the order of a Parquet file's column chunks."""
    return [leaf for field in fields for leaf in _leaves(field, "", ())]


def _leaves(field: FieldJson, prefix: str, above: tuple[str, ...] | None) -> Iterator[Leaf]:
    path = prefix + field["name"]
    names = None if above is None else (*above, field["name"])
    iceberg = field["type"]
    if iceberg == "variant":
        yield Leaf(f"{path}.metadata", field["id"], VARIANT_METADATA, names)
        yield Leaf(f"{path}.value", field["id"], VARIANT_VALUE, names)
    elif isinstance(iceberg, str):
        yield Leaf(path, field["id"], iceberg, names)
    elif iceberg["type"] == "struct":
        for child in iceberg["fields"]:
            yield from _leaves(child, f"{path}.", names)
    elif iceberg["type"] == "list":
        yield from _leaves(list_element(iceberg), f"{path}.list.", None)
    else:
        for child in map_entry(iceberg):
            yield from _leaves(child, f"{path}.key_value.", None)


def is_unordered(leaf_type: str) -> bool:
    """Whether the values of a leaf have no least and greatest one."""
    return leaf_type in (VARIANT_METADATA, VARIANT_VALUE) or leaf_type.startswith(_SPATIAL)


def parts(iceberg: object) -> Sequence[FieldJson]:
    """The fields that a type is made of; none for one without parts."""
    if not isinstance(iceberg, Mapping):
        return ()
    if iceberg["type"] == "struct":
        inner: Sequence[FieldJson] = iceberg["fields"]
        return inner
    return (list_element(iceberg),) if iceberg["type"] == "list" else map_entry(iceberg)


def field_id(field: pa.Field) -> int | None:
    """The field id that a Parquet file gives an Arrow field."""
    metadata = field.metadata or {}
    return int(metadata[FIELD_ID]) if FIELD_ID in metadata else None


def aligner(source: pa.Field, target: FieldJson) -> Align | None:
    """How a file's array of Arrow field ``source`` becomes ``target``; None when it is that already."""
    wanted = arrow_type(target["type"])
    iceberg = target["type"]
    name = target["name"]
    if iceberg == VARIANT_JSON and pa.types.is_struct(source.type):
        return lambda array: json_column(array, name)
    if iceberg == "variant" and pa.types.is_struct(source.type):
        return None if source.type == wanted else lambda array: whole_column(array, name)
    if isinstance(iceberg, str):
        if iceberg.startswith(UNSCALED) and source.type != wanted:
            return lambda array: whole(array, wanted)
        return _primitive(source.type, wanted)
    type_ = iceberg["type"]
    if type_ == "struct" and pa.types.is_struct(source.type):
        return _struct(source.type, iceberg["fields"], wanted)
    if type_ == "list" and is_list(source.type):
        inner = aligner(source.type.value_field, list_element(iceberg))
        return lambda array: _relist(array, wanted, inner)
    if type_ == "map" and pa.types.is_map(source.type):
        key, value = map_entry(iceberg)
        align_key, align_value = aligner(source.type.key_field, key), aligner(source.type.item_field, value)
        return lambda array: _remap(array, wanted, align_key, align_value)
    raise KernelError("ICEBERG_BAD_DATA", f"Column {name} is {source.type} in the file and {type_} in the table")


def is_list(type_: pa.DataType) -> bool:
    """Whether an Arrow type holds lists of one element type, in any of Arrow's layouts for offsets."""
    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_))


def _primitive(source: Any, wanted: pa.DataType) -> Align | None:
    if source == wanted:
        return None
    if pa.types.is_dictionary(source):
        return None if source.value_type == wanted else lambda array: _cast(array.dictionary_decode(), wanted)
    return lambda array: _cast(array, wanted)


def _cast(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    if isinstance(wanted, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(wanted, storage.cast(wanted.storage_type))
    if pa.types.is_timestamp(storage.type) and pa.types.is_timestamp(wanted) and storage.type.tz != wanted.tz:
        # Iceberg reads the stored instant as it is; Arrow would shift it between zones.
        storage = storage.cast(pa.int64(), safe=False).cast(pa.timestamp(storage.type.unit, tz=wanted.tz))
    return storage.cast(wanted, safe=not pa.types.is_timestamp(wanted))


def _struct(source: Any, fields: Sequence[FieldJson], wanted: pa.DataType) -> Align | None:
    found = {field_id(source.field(i)): i for i in range(source.num_fields)}
    steps: list[tuple[int | None, Align | None]] = []
    for field in fields:
        index = found.get(field["id"])
        steps.append((index, None if index is None else aligner(source.field(index), field)))
    if source.equals(wanted):
        return None

    def align(array: pa.Array) -> pa.Array:
        # Parquet's writer wants values in required fields of rows that are NULL too, which flatten() takes away.
        children = [array.field(i) for i in range(array.type.num_fields)]
        columns = [
            constant(fields[i].get("initial-default"), fields[i], len(array))
            if index is None
            else (step(children[index]) if step else children[index])
            for i, (index, step) in enumerate(steps)
        ]
        if not columns:
            return pa.array([{}] * len(array), type=wanted)
        return pa.StructArray.from_arrays(columns, fields=list(wanted), mask=array.is_null())

    return align


def _relist(array: pa.Array, wanted: pa.DataType, inner: Align | None) -> pa.Array:
    values = array.flatten()
    offsets = _offsets(array)
    return pa.ListArray.from_arrays(offsets, inner(values) if inner else values, type=wanted, mask=_mask(array))


def _remap(array: pa.Array, wanted: pa.DataType, align_key: Align | None, align_value: Align | None) -> pa.Array:
    # keys and items ignore a slice's offset, and null maps may hide entries: rebuild from a compact copy.
    compact = pa.concat_arrays([array]) if array.offset else array
    first, last = compact.offsets[0].as_py(), compact.offsets[-1].as_py()
    keys, items = compact.keys.slice(first, last - first), compact.items.slice(first, last - first)
    offsets = pc.subtract(compact.offsets, first).cast(pa.int32())
    if align_key:
        keys = align_key(keys)
    if align_value:
        items = align_value(items)
    return pa.MapArray.from_arrays(offsets, keys, items, type=wanted, mask=_mask(compact))


def _offsets(array: pa.Array) -> pa.Array:
    """Offsets into ``array.flatten()``, which leaves out what null lists hide."""
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])


def _mask(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def constant(value: Any, field: FieldJson, length: int) -> pa.Array:
    """``length`` copies of a JSON value: integers for dates and times, text for decimals, hex for binary types."""
    wanted = arrow_type(field["type"])
    if value is None:
        return _nulls(length, wanted)
    if isinstance(field["type"], str) and field["type"].startswith(UNSCALED):
        return whole(constant(value, scaled(field), length), wanted)
    storage = wanted.storage_type if isinstance(wanted, pa.BaseExtensionType) else wanted
    if pa.types.is_binary(storage) or pa.types.is_fixed_size_binary(storage):
        scalar = pa.scalar(bytes.fromhex(value), storage)
    elif pa.types.is_temporal(storage):
        width = pa.int32() if storage.bit_width == 32 else pa.int64()
        scalar = pa.scalar(value, width).cast(storage)
    elif pa.types.is_decimal(storage):
        scalar = pa.scalar(value, pa.string()).cast(storage)
    else:
        scalar = pa.scalar(value, storage)
    array = pa.repeat(scalar, length)
    return pa.ExtensionArray.from_storage(wanted, array) if isinstance(wanted, pa.BaseExtensionType) else array


def _nulls(length: int, type_: pa.DataType) -> pa.Array:
    """With values in required fields of what is NULL: Parquet's writer wants them there."""
    if not pa.types.is_struct(type_) or not type_.num_fields:
        return pa.nulls(length, type_)
    return pa.StructArray.from_arrays(_fields(length, type_), fields=list(type_), mask=pa.repeat(True, length))


def _fields(length: int, type_: pa.DataType) -> list[pa.Array]:
    return [_nulls(length, f.type) if f.nullable else _anything(length, f.type) for f in type_]


def _anything(length: int, type_: pa.DataType) -> pa.Array:
    """Values that nobody sees."""
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, _anything(length, type_.storage_type))
    if pa.types.is_struct(type_):
        return pa.StructArray.from_arrays(_fields(length, type_), fields=list(type_))
    if pa.types.is_list(type_) or pa.types.is_map(type_):
        return pa.array([[]] * length, type_)
    if pa.types.is_fixed_size_binary(type_):
        return pa.array([bytes(type_.byte_width)] * length, type_)
    if pa.types.is_binary(type_) or pa.types.is_string(type_):
        return pa.array([""] * length, type_)
    if pa.types.is_decimal(type_):
        return pa.array([Decimal(0)] * length, type_)
    zero = pa.int32() if type_.bit_width <= 32 else pa.int64()
    return pa.repeat(pa.scalar(0, zero), length).cast(type_)
