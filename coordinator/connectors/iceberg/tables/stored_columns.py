"""Rows as engines give them, in the Arrow form that a table of Iceberg stores."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from coordinator.kernels.nested import list_of, map_of, row_of
from coordinator.values.arrow_columns import instants_of_texts, is_text, plain, uuid_bytes


def stored_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of ``batch``, by their places, as ``schema`` has them. Raises pyarrow.ArrowInvalid."""
    columns = [stored_column(array, field.type) for array, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def stored_column(array: pa.Array, target: pa.DataType) -> pa.Array:
    """A column with the values of ``target``; a UUID is 16 bytes."""
    array = plain(array)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), _storage(target))
    if pa.types.is_list(target) or pa.types.is_large_list(target):
        element = pa.list_(target.value_field.with_type(_storage(target.value_type)))
        return list_of(array, element, lambda _, child: stored_column(child, target.value_type))
    if pa.types.is_map(target):
        kinds = (target.key_type, target.item_type)
        return map_of(array, _storage(target), lambda i, child: stored_column(child, kinds[i]))
    if pa.types.is_struct(target):
        return row_of(array, _storage(target), lambda i, child: stored_column(child, target.field(i).type))
    return _scalar(array, _storage(target))


def _storage(target: pa.DataType) -> pa.DataType:
    """``target`` without extensions, and with short lists and texts."""
    if isinstance(target, pa.BaseExtensionType):
        return target.storage_type
    if pa.types.is_list(target) or pa.types.is_large_list(target):
        return pa.list_(target.value_field.with_type(_storage(target.value_type)))
    if pa.types.is_map(target):
        key, item = (f.with_type(_storage(f.type)) for f in (target.key_field, target.item_field))
        return pa.map_(key, item)
    if pa.types.is_struct(target):
        return pa.struct([field.with_type(_storage(field.type)) for field in target])
    return target


def _aligned(array: pa.Array) -> pa.Array:
    """Decimals at a place of whole 16 bytes: over others, as in messages, PyIceberg's transforms in Rust panic."""
    data = array.buffers()[1]
    return array if data is None or data.address % 16 == 0 else pa.concat_arrays([array, array.slice(0, 0)])


def _scalar(array: pa.Array, target: pa.DataType) -> pa.Array:
    if array.type.equals(target):
        return _aligned(array) if pa.types.is_decimal(target) else array
    if pa.types.is_fixed_size_binary(target) and target.byte_width == 16:
        return uuid_bytes(array)
    if pa.types.is_timestamp(target):
        return _moment(array, target)
    if pa.types.is_decimal(target) and pa.types.is_integer(array.type):
        # Arrow wants room for every value of the integer type before it narrows.
        array = pc.cast(array, pa.decimal128(38, target.scale))
    return pc.cast(array, target)


def _moment(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Instants where the target has a zone, times of no zone otherwise."""
    if target.tz is None:
        return pc.cast(pc.local_timestamp(array) if getattr(array.type, "tz", None) else array, target)
    if is_text(array.type):
        return instants_of_texts(array, target)
    if array.type.tz is None:
        array = pc.cast(array, pa.timestamp(array.type.unit, "UTC"))
    return pc.cast(array, target)
