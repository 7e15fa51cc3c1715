"""Types of rows that clients send, as Presto's; and batches of them in the form in which engines are given a type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coordinator.flight.failures import invalid, unsupported
from coordinator.flight.sent_maps import check_keys
from coordinator.values.arrow_types import source_type
from shared.errors import ErrorCode, ProcessionError
from shared.plan.types import Field, Type

UNKNOWN = "unknown"
"""The type of a column that holds nothing but NULL."""
_MOST_LEVELS = 10
_MOST_DECODED = 256 << 20
"""Bytes of a batch once its texts stand in each row: a dictionary or a view says a long one often in a few bytes."""
_PLAIN: dict[pa.DataType, str] = {
    pa.bool_(): "boolean", pa.int8(): "tinyint", pa.int16(): "smallint", pa.int32(): "integer", pa.int64(): "bigint",
    pa.uint8(): "smallint", pa.uint16(): "integer", pa.uint32(): "bigint",
    pa.float16(): "real", pa.float32(): "real", pa.float64(): "double", pa.date32(): "date", pa.date64(): "date",
    pa.string(): "varchar", pa.large_string(): "varchar", pa.string_view(): "varchar",
    pa.binary(): "varbinary", pa.large_binary(): "varbinary", pa.binary_view(): "varbinary",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SentColumn:
    """A column as the statement names it, in small letters, with its Presto type as text."""

    name: str
    type: str


def sent_columns(schema: pa.Schema) -> tuple[SentColumn, ...]:
    """Raises CallError: no column, two of one name, a type that no table has."""
    columns = tuple(SentColumn(field.name.lower(), _column_type(field)) for field in schema)
    names = [column.name for column in columns]
    if "" in names:
        raise invalid(f"Column {names.index('') + 1} has no name")
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise invalid(f"Column name '{twice}' specified more than once")
    if all(column.type == UNKNOWN for column in columns):
        raise invalid("The rows have no column with a type")
    return columns


def stored_schema(columns: Sequence[SentColumn]) -> pa.Schema:
    """What engines are given: all but columns without a type."""
    return pa.schema([(column.name, source_type(column.type)) for column in columns if column.type != UNKNOWN])


def stored_batch(batch: pa.RecordBatch, columns: Sequence[SentColumn]) -> pa.RecordBatch:
    """Raises ProcessionError for values that do not fit, and for a batch that becomes too large."""
    if sum(map(_decoded_bytes, batch.columns)) > _MOST_DECODED:
        raise _unreadable(f"a batch takes more than {_MOST_DECODED >> 20} MB once decoded; send smaller ones")
    made, schema = [], stored_schema(columns)
    for column, found in zip(columns, batch.columns, strict=True):
        if column.type == UNKNOWN:
            continue
        try:
            made.append(_stored(found, schema.field(column.name).type))
            check_keys(made[-1])
        except (pa.ArrowException, ValueError, OverflowError) as error:
            raise _unreadable(f"column {column.name}: {error}") from error
    return pa.RecordBatch.from_arrays(made, schema=schema)


def _unreadable(reason: str) -> ProcessionError:
    return ProcessionError(ErrorCode.GENERIC_USER_ERROR, f"The rows cannot be read: {reason}")


def _column_type(field: pa.Field) -> str:
    if pa.types.is_null(field.type):
        return UNKNOWN
    if isinstance(field.type, pa.UuidType):
        return "uuid"
    # What another extension of Arrow's means is not known here; its values are those of what it is stored as.
    found = _presto_type(_storage(field.type), 0)
    if found is None:
        raise unsupported(f"columns of type {field.type} ({field.name})")
    return str(found)


def _storage(arrow_type: pa.DataType) -> pa.DataType:
    return arrow_type.storage_type if isinstance(arrow_type, pa.BaseExtensionType) else arrow_type


def _presto_type(arrow_type: pa.DataType, level: int) -> Type | None:
    """None for types that no table has, or whose values are more than their bytes."""
    if level > _MOST_LEVELS:
        return None
    if (plain := _PLAIN.get(arrow_type)) is not None:
        return Type(plain)
    if pa.types.is_uint64(arrow_type):
        return Type("decimal", (20, 0))
    if pa.types.is_decimal(arrow_type):
        fits = 0 <= arrow_type.scale <= arrow_type.precision <= 38
        return Type("decimal", (arrow_type.precision, arrow_type.scale)) if fits else None
    if pa.types.is_timestamp(arrow_type):
        return Type("timestamp" if arrow_type.tz is None else "timestamp with time zone")
    if pa.types.is_fixed_size_binary(arrow_type):
        return Type("varbinary") if arrow_type.byte_width else None
    if pa.types.is_dictionary(arrow_type):
        value = _presto_type(arrow_type.value_type, level + 1)
        return None if value is None or value.arguments or pa.types.is_dictionary(arrow_type.value_type) else value
    return _nested_type(arrow_type, level + 1)


def _nested_type(arrow_type: pa.DataType, level: int) -> Type | None:
    is_fixed = pa.types.is_fixed_size_list(arrow_type)
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type) or (is_fixed and arrow_type.list_size):
        item = _presto_type(arrow_type.value_type, level)
        return None if item is None else Type("array", (item,))
    if pa.types.is_map(arrow_type):
        key, value = _presto_type(arrow_type.key_type, level), _presto_type(arrow_type.item_type, level)
        return None if key is None or value is None else Type("map", (key, value))
    if not pa.types.is_struct(arrow_type) or not arrow_type.num_fields:
        return None
    fields = []
    for field in arrow_type:
        found = _presto_type(field.type, level)
        if found is None or not field.name:
            return None
        fields.append(Field(field.name, found, delimited=True))
    # Engines tell the fields of a row apart without regard to capitals.
    return Type("row", tuple(fields)) if len({field.name.lower() for field in arrow_type}) == len(fields) else None


def _stored(array: pa.Array, target: pa.DataType) -> pa.Array:
    if isinstance(array.type, pa.UuidType):
        return pa.array([None if value is None else str(value) for value in array.to_pylist()], target)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(target) and array.type.unit == "ns":
        # Digits that tables do not hold are cut off, before 1970 too.
        if array.type.tz is not None:
            array = pc.cast(array, pa.timestamp("ns", "UTC"))
        return pc.cast(pc.floor_temporal(array, unit="microsecond"), target, safe=False)
    return array if array.type.equals(target) else pc.cast(array, target)


def _decoded_bytes(array: pa.Array) -> int:
    """What its texts and numbers take when each row has its own."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _dictionary_bytes(cast(pa.DictionaryArray, array))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return _view_bytes(array)
    if pa.types.is_struct(kind):
        return sum(_decoded_bytes(array.field(i)) for i in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _decoded_bytes(array.keys) + _decoded_bytes(array.items)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _decoded_bytes(array.values)
    return int(array.nbytes)


def _dictionary_bytes(array: pa.DictionaryArray) -> int:
    words, kind = array.dictionary, array.dictionary.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        lengths: pa.Array = pa.array(_view_lengths(words))
    elif kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        lengths = pc.binary_length(words)
    elif pa.types.is_fixed_size_binary(kind):
        return int(kind.byte_width) * len(array)
    else:
        return 16 * len(array)
    total = pc.sum(pc.cast(pc.take(lengths, array.indices), pa.int64())).as_py()
    return 8 * len(array) + (total or 0)


def _view_bytes(array: pa.Array) -> int:
    lengths = _view_lengths(array)
    return 8 * len(array) + int(lengths.sum())


def _view_lengths(array: pa.Array) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Of the texts, by the first four of the sixteen bytes of each view; 0 for NULL."""
    if not len(array):
        return np.zeros(0, np.int64)
    views = np.frombuffer(cast(bytes, array.buffers()[1]), np.int32)[
        4 * array.offset : 4 * (array.offset + len(array)) : 4
    ]
    valid = pc.is_valid(array).to_numpy(zero_copy_only=False)
    return np.where(valid, views, 0).astype(np.int64)
