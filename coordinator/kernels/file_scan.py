"""The live rows of data files as record batches of a given schema: what a query reads without an executor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pyarrow as pa

from .functions.geometry import shape_of_binary
from .nested import list_of, map_of, row_of
from .rewrite import live_rows
from .row_groups_needed import Ranges, with_needed_groups
from .tasks import WriteTask

_COUNTED = pa.schema([("counted", pa.null())])
_COUNTED_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class FileScan:
    """``task`` says what is read (nothing is written); its fields become the columns of ``schema``, one each.

    ``schema`` without columns: only ``rows``, which no delete file takes away, are counted.
    """

    task: WriteTask
    schema: pa.Schema
    rows: int
    size: int = 0
    """Bytes of the columns, as stored."""
    ranges: Ranges = field(default_factory=dict)
    """What the query wants of some columns; other rows need not come."""
    first_rows: bool = False
    """Whether the query may well stop before all rows are read."""


def scan_batches(scan: FileScan) -> Iterator[Any]:
    """Raises KernelError while it is read."""
    if not len(scan.schema):
        yield from _counted(scan.rows)
        return
    for arrays, _ in live_rows(with_needed_groups(scan.task, scan.ranges), ()):
        if len(arrays[0]):
            chosen = zip(arrays[: len(scan.schema)], scan.schema, strict=True)
            columns = [_fitted(array, field.type) for array, field in chosen]
            yield pa.RecordBatch.from_arrays(columns, schema=scan.schema)


def scan_reader(scan: FileScan) -> Any:
    """The same as a reader, whose errors tell the text of the KernelError."""
    return pa.RecordBatchReader.from_batches(scan.schema if len(scan.schema) else _COUNTED, scan_batches(scan))


def _counted(rows: int) -> Iterator[Any]:
    while rows > 0:
        yield pa.RecordBatch.from_arrays([pa.nulls(min(rows, _COUNTED_ROWS))], schema=_COUNTED)
        rows -= _COUNTED_ROWS


def _fitted(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if _holds_uuids(array.type, wanted):
        return _with_texts(array, wanted)
    if _holds_shapes(array.type, wanted):
        return pa.array([_shown(value, array.type, wanted) for value in array.to_pylist()], wanted)
    return array if array.type == wanted else array.cast(wanted)


def _holds_uuids(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether some part is stored as a UUID and wanted as text."""
    if stored.num_fields and stored.num_fields == wanted.num_fields:
        return any(_holds_uuids(stored.field(i).type, wanted.field(i).type) for i in range(stored.num_fields))
    return _is_uuid(stored) and bool(pa.types.is_string(wanted))


def _is_uuid(stored: pa.DataType) -> bool:
    """Within other types the reader gives but the bytes, which are wanted as text for UUIDs alone."""
    if isinstance(stored, pa.UuidType):
        return True
    return bool(pa.types.is_fixed_size_binary(stored)) and stored.byte_width == 16


def _with_texts(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The values with texts for UUIDs; the other parts as ``wanted``."""
    stored = array.type
    if not _holds_uuids(stored, wanted):
        return _fitted(array, wanted)
    if pa.types.is_list(stored):
        return list_of(array, wanted, lambda _, child: _with_texts(child, wanted.value_type))
    if pa.types.is_map(stored):
        kinds = (wanted.key_type, wanted.item_type)
        return map_of(array, wanted, lambda i, child: _with_texts(child, kinds[i]))
    if pa.types.is_struct(stored):
        return row_of(array, wanted, lambda i, child: _with_texts(child, wanted.field(i).type))
    values = (array.storage if isinstance(array, pa.ExtensionArray) else array).to_pylist()
    return pa.array([None if value is None else str(UUID(bytes=value)) for value in values], wanted)


def _holds_shapes(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether some part is stored as well-known binary and wanted as well-known text: texts are never stored so."""
    if stored.num_fields and stored.num_fields == wanted.num_fields:
        parts = range(stored.num_fields)
        return any(_holds_shapes(stored.field(i).type, wanted.field(i).type) for i in parts)
    return bool(pa.types.is_binary(stored) and pa.types.is_string(wanted))


def _shown(value: Any, stored: pa.DataType, wanted: pa.DataType) -> Any:
    """The value with texts for geometries; maps as pairs, as Arrow takes them."""
    if value is None or not _holds_shapes(stored, wanted):
        return value
    if pa.types.is_map(stored):
        kinds = ((stored.key_type, wanted.key_type), (stored.item_type, wanted.item_type))
        return [tuple(_shown(part, *kind) for part, kind in zip(pair, kinds, strict=True)) for pair in value]
    if pa.types.is_struct(stored):
        fields = zip(stored, wanted, strict=True)
        return {field.name: _shown(value[own.name], own.type, field.type) for own, field in fields}
    if stored.num_fields:
        return [_shown(part, stored.value_type, wanted.value_type) for part in value]
    return shape_of_binary(value)
