"""Columns of type variant as they are written here: each value in one piece, whatever columns it was read from.

Values that are whole already stay as they are, byte by byte. Source: parquet-format, VariantShredding.md.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import pyarrow as pa

from .errors import KernelError
from .shredded import Form, value_parts
from .variant import BadVariantError
from .variant_bytes import (
    FALSE,
    NULL,
    TRUE,
    Names,
    array_bytes,
    decimal_bytes,
    fields_of,
    object_bytes,
    primitive,
    text_bytes,
)

WHOLE = pa.struct([pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)])
"""Of Parquet's group, whose parts have no field ids."""
_NO_NAMES = b"\x01\x00\x00"


def whole_column(array: pa.Array, column: str) -> pa.Array:
    """A variant column as ``WHOLE``; NULL where the group is. Raises KernelError, which names the column."""
    if "typed_value" not in [field.name for field in array.type]:
        return _whole_already(array, column)
    present = array.is_valid()
    there = array if array.null_count == 0 else array.filter(present)  # others may have any bytes
    try:
        names = [None if m is None else Names(m) for m in there.field("metadata").to_pylist()]
        values = value_parts(there, names, _FORM)
    except (BadVariantError, KeyError, ValueError, TypeError) as error:
        raise KernelError("ICEBERG_BAD_DATA", f"Column {column} is no variant: {error}") from error
    known = iter([_NO_NAMES if n is None else n.metadata for n in names])
    found = iter([NULL if value is None else value for value in values])
    rows = present.to_pylist()
    parts = [pa.array([next(of) if valid else b"" for valid in rows], pa.binary()) for of in (known, found)]
    return pa.StructArray.from_arrays(parts, fields=list(WHOLE), mask=array.is_null())


def _whole_already(array: pa.Array, column: str) -> pa.Array:
    try:
        metadata, values = (array.field(name) for name in ("metadata", "value"))
    except KeyError as error:
        raise KernelError("ICEBERG_BAD_DATA", f"Column {column} is no variant: it has no {error}") from error
    parts = [_filled(metadata, _NO_NAMES), _filled(values, NULL)]
    return pa.StructArray.from_arrays(parts, fields=list(WHOLE), mask=array.is_null())


def _filled(array: pa.Array, nothing: bytes) -> pa.Array:
    found = array.cast(pa.binary())
    return found.fill_null(nothing) if found.null_count else found


def _leaves(typed: pa.Array) -> Sequence[bytes | None]:
    array, made = _made(typed)
    return [None if value is None else made(value) for value in array.to_pylist()]


def _made(typed: pa.Array) -> tuple[pa.Array, Callable[..., bytes]]:
    """Values that are exact in Python, and how each is written."""
    type_ = typed.type
    if isinstance(typed, pa.ExtensionArray):
        return typed.storage, lambda value: primitive(20, value)
    if pa.types.is_timestamp(type_) and (type_.unit, type_.tz is not None) in _INSTANTS:
        kind = _INSTANTS[type_.unit, type_.tz is not None]
        return typed.cast(pa.int64()), lambda value: primitive(kind, struct.pack("<q", value))
    if pa.types.is_time(type_):
        return typed.cast(pa.time64("us")).cast(pa.int64()), lambda value: primitive(17, struct.pack("<q", value))
    if pa.types.is_date(type_):
        return typed.cast(pa.date32()).cast(pa.int32()), lambda value: primitive(11, struct.pack("<i", value))
    if pa.types.is_decimal(type_):
        return typed, lambda value: decimal_bytes(value, type_.precision, type_.scale)
    for is_type, made in _LEAVES:
        if is_type(type_):
            return typed, made
    raise BadVariantError(f"a typed value of {type_} is not known")


_INSTANTS = {("us", True): 12, ("us", False): 13, ("ns", True): 18, ("ns", False): 19}


def _bytes(value: bytes) -> bytes:
    return primitive(15, struct.pack("<I", len(value)) + value)


_LEAVES: Sequence[tuple[Callable[[pa.DataType], bool], Callable[..., bytes]]] = (
    (pa.types.is_boolean, lambda value: TRUE if value else FALSE),
    (pa.types.is_int8, lambda value: primitive(3, struct.pack("<b", value))),
    (pa.types.is_int16, lambda value: primitive(4, struct.pack("<h", value))),
    (pa.types.is_int32, lambda value: primitive(5, struct.pack("<i", value))),
    (pa.types.is_int64, lambda value: primitive(6, struct.pack("<q", value))),
    (pa.types.is_float32, lambda value: primitive(14, struct.pack("<f", value))),
    (pa.types.is_float64, lambda value: primitive(7, struct.pack("<d", value))),
    (pa.types.is_string, text_bytes),
    (pa.types.is_large_string, text_bytes),
    (pa.types.is_binary, _bytes),
    (pa.types.is_large_binary, _bytes),
    (pa.types.is_fixed_size_binary, lambda value: primitive(20, value)),
)

_FORM: Form[Names, bytes] = Form(
    NULL,
    whole=lambda _names, value: value,
    fields=fields_of,
    of_fields=object_bytes,
    of_elements=array_bytes,
    leaves=_leaves,
)
