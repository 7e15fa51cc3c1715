"""Row groups of several Parquet files as one file, pages copied as they are, without decoding.

Only the footer and the offset indexes are written anew, since they hold absolute positions; statistics, column
indexes and bloom filters stay as they are. Source: parquet.thrift (FileMetaData, ColumnChunk, OffsetIndex).
"""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from .errors import KernelError, reading
from .footer import (
    BLOOM_LENGTH,
    BLOOM_OFFSET,
    MAGIC,
    chunk_range,
    column_meta,
    columns,
    leaf_paths,
    read_footer,
    row_groups,
    shape,
)
from .lineage_chunks import Lineage, extended, holds_lineage, lineage_file, with_lineage
from .storage import is_local, resolve
from .thrift import I64, Reader, Struct, encode

_BLOCK = 4 << 20
_REQUEST, _REQUESTS = 8 << 20, 6
"""Bytes of a request to a store, and how many are on their way."""
_OFFSET_INDEX, _OFFSET_LENGTH, _COLUMN_INDEX, _COLUMN_LENGTH = 4, 5, 6, 7
_COLUMN_ORDERS = 7


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or the row groups ``groups[0]`` up to ``groups[1]`` of it.

    With ``lineage`` the copy of a file without lineage of its rows has it.
    """

    path: str
    groups: tuple[int, int] | None = None
    lineage: Lineage | None = None


class LocalFile:
    """A file of this machine with the two calls of Arrow's that a copy needs, and its descriptor."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("rb", buffering=0)  # noqa: SIM115

    def fileno(self) -> int:
        return self._file.fileno()

    def size(self) -> int:
        return os.fstat(self.fileno()).st_size

    def read_at(self, length: int, offset: int) -> bytes:
        return os.pread(self.fileno(), length, offset)

    def close(self) -> None:
        self._file.close()


@contextmanager
def opened(location: str, storage: Mapping[str, str]) -> Iterator[Any]:
    """A file with ``read_at`` and ``size``; errors name it."""
    with reading(location):
        filesystem, path = resolve(location, storage)
        source = LocalFile(path) if is_local(location) else filesystem.open_input_file(path)
        try:
            yield source
        finally:
            source.close()


@dataclass(slots=True)
class Pieces:
    """What belongs to one column chunk and is written behind all pages."""

    chunk: Struct
    column_index: bytes | None = None
    offset_index: Struct | None = None
    bloom_filter: bytes | None = None


@dataclass(slots=True)
class _Merged:
    """The footer that grows, and the pieces to write before it."""

    footer: Struct = field(default_factory=dict)
    groups: list[Struct] = field(default_factory=list)
    pieces: list[Pieces] = field(default_factory=list)


def copy_row_groups(sources: Iterable[Source], sink: Any, storage: Mapping[str, str]) -> Struct:
    """Write the row groups of ``sources``, in order, as one file; its footer. Raises KernelError.

    The files must have one schema; the rest of the footer (writer, key-value metadata) is the first one's.
    """
    sink.write(MAGIC)
    position = len(MAGIC)
    merged = _Merged()
    for source in sources:
        with opened(source.path, storage) as file:
            footer = read_footer(file, file.size())
            lineage = None if holds_lineage(footer) else source.lineage
            _merge_schema(merged, footer if lineage is None else with_lineage(footer), source.path)
            first, last = source.groups or (0, len(row_groups(footer)))
            row = sum(group[3][1] for group in row_groups(footer)[:first])
            for group in row_groups(footer)[first:last]:
                position += _copy_group(group, file, sink, position, merged)
                if lineage is not None:
                    position += _add_lineage(group, row, lineage, sink, position, merged)
                row += group[3][1]
    groups = merged.groups
    for ordinal, group in enumerate(groups):
        if 7 in group:
            group[7] = (group[7][0], ordinal)
    kind = merged.footer[4]
    footer = {**merged.footer, 3: (I64, sum(g[3][1] for g in groups)), 4: (kind[0], (kind[1][0], groups))}
    write_pieces(merged.pieces, sink, position)
    tail = encode(footer)
    sink.write(tail + struct.pack("<I", len(tail)) + MAGIC)
    return footer


def _merge_schema(merged: _Merged, footer: Struct, path: str) -> None:
    """Take the first file's schema; columns of others get its names. Readers of Iceberg go by field ids."""
    if not merged.footer:
        merged.footer = footer
        return
    if merged.footer[2] == footer[2]:
        return
    if shape(merged.footer) != shape(footer):
        raise KernelError("GENERIC_INTERNAL_ERROR", f"Files whose row groups are copied differ in schema: {path}")
    if merged.footer.get(_COLUMN_ORDERS) != footer.get(_COLUMN_ORDERS):
        # Without orders, readers do not trust bounds that one of the writers did not vouch for.
        merged.footer.pop(_COLUMN_ORDERS, None)
    names = leaf_paths(merged.footer)
    for group in row_groups(footer):
        for chunk, name in zip(columns(group), names, strict=False):  # lineage, which comes last, is added later
            meta = column_meta(chunk)
            kind, (element, _) = meta[3]
            meta[3] = (kind, (element, name))


def _copy_group(group: Struct, file: Any, sink: Any, position: int, merged: _Merged) -> int:
    """Copy one row group to ``position``; how many bytes that were."""
    ranges = [chunk_range(chunk) for chunk in columns(group)]
    start, end = min(r[0] for r in ranges), max(r[1] for r in ranges)
    _copy(file, start, end, sink)
    merged.pieces += [moved(chunk, file, position - start) for chunk in columns(group)]
    if 5 in group:
        group[5] = (I64, group[5][1] + position - start)
    merged.groups.append(group)
    return end - start


def _add_lineage(group: Struct, row: int, lineage: Lineage, sink: object, position: int, merged: _Merged) -> int:
    """Write the two columns of a row group that was just copied; how many bytes that were."""
    raw, more = lineage_file(group, row, lineage)
    ranges = [chunk_range(chunk) for chunk in columns(more)]
    start, end = min(r[0] for r in ranges), max(r[1] for r in ranges)
    write_all(sink, raw[start:end])
    source = pa.BufferReader(raw)
    merged.pieces += [moved(chunk, source, position - start) for chunk in columns(more)]
    extended(group, more, columns(more))
    return end - start


def moved(chunk: Struct, source: Any, shift: int) -> Pieces:
    """Shift the positions of a column chunk in place; what lies outside its pages is returned to be written later."""
    pieces = Pieces(chunk)
    if _COLUMN_INDEX in chunk:
        pieces.column_index = source.read_at(chunk[_COLUMN_LENGTH][1], chunk[_COLUMN_INDEX][1])
    if _OFFSET_INDEX in chunk:
        raw = source.read_at(chunk[_OFFSET_LENGTH][1], chunk[_OFFSET_INDEX][1])
        pieces.offset_index = Reader(raw).struct()
        for page in pieces.offset_index[1][1][1]:
            page[1] = (I64, page[1][1] + shift)
    if chunk[2][1] > 0:
        chunk[2] = (I64, chunk[2][1] + shift)
    meta = column_meta(chunk)
    for number in (9, 10, 11):
        if number in meta and meta[number][1] > 0:
            meta[number] = (I64, meta[number][1] + shift)
    if BLOOM_OFFSET in meta and BLOOM_LENGTH in meta:
        pieces.bloom_filter = source.read_at(meta[BLOOM_LENGTH][1], meta[BLOOM_OFFSET][1])
    else:
        meta.pop(BLOOM_OFFSET, None)
    return pieces


def write_pieces(pieces: list[Pieces], sink: Any, position: int) -> None:
    """Bloom filters, then column indexes, then offset indexes, as Parquet's writers lay them out."""
    out = bytearray()
    for piece in pieces:
        if piece.bloom_filter is not None:
            meta = column_meta(piece.chunk)
            meta[BLOOM_OFFSET] = (I64, position + len(out))
            out += piece.bloom_filter
    for piece in pieces:
        if piece.column_index is not None:
            piece.chunk[_COLUMN_INDEX] = (I64, position + len(out))
            out += piece.column_index
    for piece in pieces:
        if piece.offset_index is not None:
            raw = encode(piece.offset_index)
            piece.chunk[_OFFSET_INDEX] = (I64, position + len(out))
            piece.chunk[_OFFSET_LENGTH] = (piece.chunk[_OFFSET_LENGTH][0], len(raw))
            out += raw
    write_all(sink, out)


def write_all(sink: Any, data: bytes | bytearray) -> None:
    view = memoryview(data)
    while view:
        # An unbuffered local file may take less than all; Arrow's streams take all and return nothing.
        view = view[sink.write(view) or len(view) :]


def _copy(source: Any, start: int, end: int, sink: Any) -> None:
    if isinstance(source, LocalFile) and hasattr(sink, "fileno"):
        start = _copy_inside_kernel(source.fileno(), start, end, sink.fileno())
    for block in _blocks(source, start, end):
        write_all(sink, block)


def _blocks(source: Any, start: int, end: int) -> Iterator[bytes]:
    """The bytes between two positions; of a store some blocks at a time, since each is a request."""
    if isinstance(source, LocalFile):
        while start < end:
            block = _read(source, start, min(_BLOCK, end - start))
            start += len(block)
            yield block
        return
    with ThreadPoolExecutor(_REQUESTS) as pool:
        running: deque[Future[bytes]] = deque()
        try:
            for place in range(start, end, _REQUEST):
                if len(running) == _REQUESTS:
                    yield running.popleft().result()
                running.append(pool.submit(_read, source, place, min(_REQUEST, end - place)))
            while running:
                yield running.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _read(source: Any, start: int, length: int) -> bytes:
    block: bytes = source.read_at(length, start)
    if not block or (len(block) < length and not isinstance(source, LocalFile)):
        raise KernelError("ICEBERG_BAD_DATA", "a file is shorter than its footer says")
    return block


def _copy_inside_kernel(source: int, start: int, end: int, sink: int) -> int:
    """Copy without passing the bytes through this process, as far as the file systems can; where it stopped."""
    if not hasattr(os, "copy_file_range"):
        return start
    while start < end:
        try:
            copied = os.copy_file_range(source, sink, end - start, offset_src=start)
        except OSError:
            # Refused between some file systems; a full disk shows again in the plain copy.
            return start
        if copied == 0:
            return start
        start += copied
    return start
