"""Kernel ``join:run``: the row groups of several part files as one file, pages copied as they are.

Only the footer and the offset indexes are written anew, since they hold absolute positions.
Source: parquet.thrift (FileMetaData, ColumnChunk, OffsetIndex).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from .errors import KernelError, reading, writing
from .footer import MAGIC, chunk_range, column_meta, columns, read_footer, row_groups
from .rewrite import open_output, read_metrics
from .schema import leaves
from .storage import resolve
from .tasks import Fragment, answer, join_task
from .thrift import I64, Reader, Struct, encode

_BLOCK = 4 << 20
_OFFSET_INDEX, _OFFSET_LENGTH, _COLUMN_INDEX, _COLUMN_LENGTH = 4, 5, 6, 7


def run(payload: bytes) -> bytes:
    """The Fragment of a JoinTask, both as JSON; raises KernelError. The parts stay: the coordinator removes them."""
    task = join_task(payload)
    location, sink = open_output(task.output, task.storage)
    try:
        with writing(location):
            footer = _join(task.parts, sink, task.storage)
            size = sink.tell()
            sink.close()
    except BaseException:
        _discard(location, sink, task.storage)
        raise
    found = read_metrics(location, size, leaves(task.fields), task.modes, task.nan_counts, task.storage)
    rows = footer[3][1]
    return answer(Fragment(task.tag, location, rows, size, rows, task.nan_counts, found))


def _join(parts: Sequence[str], sink: Any, storage: Mapping[str, str]) -> Struct:
    sink.write(MAGIC)
    merged: Struct | None = None
    indexes: list[tuple[Struct, bytes | None, Struct | None]] = []
    for part in parts:
        filesystem, path = resolve(part, storage)
        with reading(part), filesystem.open_input_file(path) as source:
            footer = read_footer(source, source.size())
            shift, end = sink.tell() - len(MAGIC), _data_end(footer)
            _copy(source, len(MAGIC), end, sink)
            for group in row_groups(footer):
                indexes += [_moved(chunk, source, shift) for chunk in columns(group)]
                if 5 in group:
                    group[5] = (I64, group[5][1] + shift)
        merged = footer if merged is None else _merged(merged, footer, part)
    assert merged is not None, "a join has parts"
    for ordinal, group in enumerate(row_groups(merged)):
        if 7 in group:
            group[7] = (group[7][0], ordinal)
    _write_indexes(indexes, sink)
    tail = encode(merged)
    sink.write(tail + struct.pack("<I", len(tail)) + MAGIC)
    return merged


def _merged(first: Struct, second: Struct, part: str) -> Struct:
    if first[2] != second[2]:
        raise KernelError("GENERIC_INTERNAL_ERROR", f"Parts of one file differ in schema: {part}")
    groups = (first[4][1][0], row_groups(first) + row_groups(second))
    return {**first, 3: (I64, first[3][1] + second[3][1]), 4: (first[4][0], groups)}


def _data_end(footer: Struct) -> int:
    return max((chunk_range(c)[1] for group in row_groups(footer) for c in columns(group)), default=len(MAGIC))


def _moved(chunk: Struct, source: Any, shift: int) -> tuple[Struct, bytes | None, Struct | None]:
    """Shift the positions of a column chunk in place; its page indexes are returned to be written later."""
    column_index = offset_index = None
    if _COLUMN_INDEX in chunk:
        column_index = source.read_at(chunk[_COLUMN_LENGTH][1], chunk[_COLUMN_INDEX][1])
    if _OFFSET_INDEX in chunk:
        offset_index = Reader(source.read_at(chunk[_OFFSET_LENGTH][1], chunk[_OFFSET_INDEX][1])).struct()
        for page in offset_index[1][1][1]:
            page[1] = (I64, page[1][1] + shift)
    if chunk[2][1] > 0:
        chunk[2] = (I64, chunk[2][1] + shift)
    meta = column_meta(chunk)
    for field in (9, 10, 11):
        if field in meta and meta[field][1] > 0:
            meta[field] = (I64, meta[field][1] + shift)
    for field in (14, 15):
        meta.pop(field, None)
    return chunk, column_index, offset_index


def _write_indexes(indexes: Sequence[tuple[Struct, bytes | None, Struct | None]], sink: Any) -> None:
    """All column indexes, then all offset indexes, as Parquet's writers lay them out."""
    for chunk, column_index, _ in indexes:
        if column_index is not None:
            chunk[_COLUMN_INDEX] = (I64, sink.tell())
            sink.write(column_index)
    for chunk, _, offset_index in indexes:
        if offset_index is not None:
            raw = encode(offset_index)
            chunk[_OFFSET_INDEX] = (I64, sink.tell())
            chunk[_OFFSET_LENGTH] = (chunk[_OFFSET_LENGTH][0], len(raw))
            sink.write(raw)


def _copy(source: Any, start: int, end: int, sink: Any) -> None:
    while start < end:
        block = source.read_at(min(_BLOCK, end - start), start)
        if not block:
            raise KernelError("ICEBERG_BAD_DATA", "a part file is shorter than its footer says")
        sink.write(block)
        start += len(block)


def _discard(location: str, sink: Any, storage: Mapping[str, str]) -> None:
    filesystem, path = resolve(location, storage)
    try:
        sink.close()
        filesystem.delete_file(path)
    except (OSError, pa.ArrowException):
        return
