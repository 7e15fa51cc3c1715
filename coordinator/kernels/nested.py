"""Nested columns of Arrow from one form into another, part by part."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

Convert = Callable[[int, pa.Array], pa.Array]
"""A part of a nested column by its number (of a map 0 and 1), with its values, in its new form."""


def list_of(array: pa.Array, target: pa.DataType, convert: Convert) -> pa.Array:
    """``array`` of lists as lists of ``target``'s element."""
    if not pa.types.is_list(array.type):
        array = pc.cast(array, pa.list_(array.type.value_type))
    return _rebuilt(array, target, convert(0, array.values))


def map_of(array: pa.Array, target: pa.DataType, convert: Convert) -> pa.Array:
    """``array`` of maps as maps of ``target``'s key and value."""
    columns = [convert(0, array.keys), convert(1, array.items)]
    entries = pa.StructArray.from_arrays(columns, fields=[target.key_field, target.item_field])
    return _rebuilt(array, target, entries)


def row_of(array: pa.Array, target: pa.DataType, convert: Convert) -> pa.Array:
    """``array`` of rows as rows of ``target``'s fields, by their places."""
    columns = [convert(i, array.field(i)) for i in range(target.num_fields)]
    return pa.StructArray.from_arrays(columns, fields=list(target), mask=array.is_null()) if columns else array


def _rebuilt(array: pa.Array, target: pa.DataType, child: pa.Array) -> pa.Array:
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], array.null_count, array.offset, [child])
