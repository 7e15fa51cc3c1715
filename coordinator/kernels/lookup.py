"""Chosen rows of data files as columns of the table's schema: the second pass of late materialization.

Positions come from a first pass over the same snapshot, which left out deleted rows: deletes are not read again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from . import wire
from .decoded import Decoded, chunk_bytes, of_group
from .errors import KernelError, reading
from .footer import read_footer
from .mapping import with_ids
from .page_headers import walked
from .pages import (
    Column,
    FileIndex,
    Piece,
    Rows,
    choose,
    decode,
    dictionaries_missed,
    index_range,
    pages_of,
    with_dictionaries,
)
from .ranges import RangeReader, Traffic
from .schema import FieldJson, aligner, constant, field_id
from .tasks import FileRows, LookUpTask
from .thrift import Struct

_THREADS = 8
_WALKED_ROWS = 100
"""Of one row group: more are likely to be on every page of a file without offset indexes."""
_BYTES_AT_ONCE = 64 << 20
"""What is read before it is decoded; row groups beyond it come next."""
_DECODED_AT_ONCE = 4 * _BYTES_AT_ONCE
"""The same of what compresses better than usual."""


def with_rows(task: LookUpTask, files: Sequence[tuple[str, Rows]], number: int = 0) -> LookUpTask:
    """The same columns of these rows."""
    listed = [FileRows(path, rows.astype("<i8").tobytes()) for path, rows in files]
    return replace(task, files=listed, number=number)


def _rows_of(file: FileRows) -> Rows:
    return np.frombuffer(file.positions, "<i8")


def look_up(raw: bytes) -> bytes:
    """Kernel: the rows as an Arrow stream, in the task's order; the schema's metadata has its number and traffic."""
    task, traffic = wire.decode(LookUpTask, raw), Traffic()
    table = read_rows(task, traffic)
    metadata = {b"number": str(task.number), b"requests": str(traffic.requests), b"bytes": str(traffic.bytes)}
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.with_metadata(metadata)) as writer:
        writer.write_table(table.replace_schema_metadata(metadata))
    return bytes(sink.getvalue())


class TooWideError(Exception):
    """Rows that are more bytes than the caller takes at once."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Neighbouring rows of one file: bytes of the rows themselves, and of the pages that are decoded for them."""

    path: str
    rows: Rows
    size: int
    pages: int


def portions(task: LookUpTask, traffic: Traffic) -> list[Portion]:
    """The rows of a task, in its order, by the pages that hold them, as far as footers tell. Raises KernelError."""
    with ThreadPoolExecutor(_THREADS) as files, ThreadPoolExecutor(_THREADS) as requests:

        def of_file(file: FileRows) -> list[Portion]:
            path, rows = file.path, _rows_of(file)
            with RangeReader(path, task.storage, requests, traffic) as source, reading(path):
                index = _open(source, path)
                return [p for found in _wanted_groups(index, task, path, rows, source) for p in _by_page(path, *found)]

        return [portion for found in files.map(of_file, task.files) for portion in found]


def _wanted_groups(
    index: FileIndex, task: LookUpTask, path: str, rows: Rows, source: RangeReader
) -> Iterator[tuple[Decoded, Rows, int]]:
    """The decoded size of each row group with wanted rows, these rows, and the number of its first row."""
    found = _columns_by_id(index, task, path)
    leaves = [leaf for field in task.fields if field["id"] in found for leaf in found[field["id"]].leaves]
    groups = np.searchsorted(index.starts, rows, side="right") - 1
    for group in np.unique(groups).tolist():
        decoded = of_group(index.groups[group], leaves)
        if not source.seeks and any(index_range(index.groups[group][1][1][1][leaf]) is None for leaf in leaves):
            decoded = replace(decoded, page=decoded.size)  # nothing tells where its pages are
        yield decoded, rows[groups == group], int(index.starts[group])


def _by_page(path: str, decoded: Decoded, rows: Rows, start: int) -> list[Portion]:
    of_page = max(1, round(decoded.rows * decoded.page / max(1, decoded.size)))
    cuts = np.flatnonzero(np.diff((rows - start) // of_page)) + 1
    width = decoded.size / max(1, decoded.rows)
    return [Portion(path, part, round(width * len(part)), decoded.page) for part in np.split(rows, cuts)]


class _Budget:
    """Bytes that may still be decoded for one caller; files are opened side by side."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self._lock = threading.Lock()

    def take(self, groups: Iterator[tuple[Decoded, Rows, int]]) -> None:
        """Raises TooWideError."""
        found = [(d, len(rows)) for d, rows, _ in groups]
        with self._lock:
            self._left -= sum(d.size * count // max(1, d.rows) for d, count in found)
            if self._left < 0 or any(d.page > self._most for d, _ in found):
                raise TooWideError


def read_rows(task: LookUpTask, traffic: Traffic, most_bytes: int | None = None) -> pa.Table:
    """The rows of a task as an Arrow table with one column a field, in the task's order.

    Raises KernelError, and TooWideError when footers tell of more than ``most_bytes``.
    """
    budget = None if most_bytes is None else _Budget(most_bytes)
    with (
        ThreadPoolExecutor(_THREADS) as files,
        ThreadPoolExecutor(_THREADS) as requests,
        ThreadPoolExecutor(os.cpu_count()) as decoders,
    ):

        def read(file: FileRows) -> list[list[pa.Array]]:
            return list(_read_file(task, file.path, _rows_of(file), _Pools(requests, decoders), traffic, budget))

        batches = [arrays for file in files.map(read, task.files) for arrays in file]
    if not batches:
        batches = [[_plain(constant(None, field, 0)) for field in task.fields]]
    columns = [pa.chunked_array([c for part in parts for c in _chunks(part)]) for parts in zip(*batches, strict=True)]
    return pa.table(columns, names=[str(f["id"]) for f in task.fields])


def _chunks(array: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return list(array.chunks) if isinstance(array, pa.ChunkedArray) else [array]


@dataclass(frozen=True, slots=True)
class _Pools:
    """Threads that files share: their requests go out side by side, and their columns are decoded so."""

    requests: ThreadPoolExecutor
    decoders: ThreadPoolExecutor


def _read_file(
    task: LookUpTask, path: str, rows: Rows, pools: _Pools, traffic: Traffic, budget: _Budget | None
) -> Iterator[list[pa.Array]]:
    """One list of arrays, one a field, for each run of row groups."""
    with RangeReader(path, task.storage, pools.requests, traffic) as source, reading(path):
        index = _open(source, path)
        if len(rows) and int(rows[-1]) >= int(index.starts[-1]):
            raise KernelError("ICEBERG_BAD_DATA", f"File has no row {rows[-1]}: {path}")
        if budget is not None:
            budget.take(_wanted_groups(index, task, path, rows, source))
        found = _columns_by_id(index, task, path)
        wanted = [found.get(field["id"]) for field in task.fields]
        for groups in _runs(index, rows, [column for column in wanted if column is not None]):
            yield _read_groups(source, index, task, wanted, groups, pools.decoders)


def _open(source: RangeReader, path: str) -> FileIndex:
    try:
        footer = read_footer(source, source.size)
    except KernelError as error:
        raise KernelError("NOT_SUPPORTED", f"Not a plain Parquet file: {path}") from error
    if 8 in footer:
        raise KernelError("NOT_SUPPORTED", f"Encrypted: {path}")
    return FileIndex.of(footer)


def _columns_by_id(index: FileIndex, task: LookUpTask, path: str) -> dict[int | None, Column]:
    if any(column.field_id is not None for column in index.columns) or not index.columns:
        return index.by_id()
    plain = pa.schema([pa.field(column.name, pa.null()) for column in index.columns])
    named = with_ids(plain, task.name_mapping, path)
    return {field_id(field): column for field, column in zip(named, index.columns, strict=True)}


def _runs(index: FileIndex, rows: Rows, wanted: Sequence[Column]) -> Iterator[list[tuple[int, Rows]]]:
    """Row groups with their rows, as many together as may be read before they are decoded."""
    groups = np.searchsorted(index.starts, rows, side="right") - 1
    run: list[tuple[int, Rows]] = []
    size = decoded = 0
    for group in np.unique(groups).tolist():
        most, made = _most_bytes(index.groups[group], wanted)
        if run and (size + most > _BYTES_AT_ONCE or decoded + made > _DECODED_AT_ONCE):
            yield run
            run, size, decoded = [], 0, 0
        run.append((group, rows[groups == group] - index.starts[group]))
        size += most
        decoded += made
    if run:
        yield run


def _most_bytes(group: Struct, wanted: Sequence[Column]) -> tuple[int, int]:
    """Bytes of the wanted columns of a row group, stored and decoded."""
    chunks = [group[1][1][1][leaf] for column in wanted for leaf in column.leaves]
    return sum(chunk[3][1][7][1] for chunk in chunks), sum(chunk_bytes(chunk) for chunk in chunks)


def _read_groups(
    source: RangeReader,
    index: FileIndex,
    task: LookUpTask,
    wanted: Sequence[Column | None],
    groups: Sequence[tuple[int, Rows]],
    decoders: ThreadPoolExecutor,
) -> list[pa.Array]:
    present = [column for column in wanted if column is not None]
    _read_indexes(source, index, present, groups)
    pieces: list[list[Piece]] = []
    for column in present:
        pieces.append(
            [
                choose(column, index.groups[g], [index.pages[g, leaf] for leaf in column.leaves], rows)
                for g, rows in groups
            ]
        )
    bodies = iter(source.read([r for several in pieces for piece in several for r in piece.ranges()]))
    parts = [[[next(bodies) for _ in piece.ranges()] for piece in several] for several in pieces]
    for several, read_parts in zip(pieces, parts, strict=True):
        for number, (piece, found) in enumerate(zip(several, read_parts, strict=True)):
            if dictionaries_missed(piece, found):
                several[number] = with_dictionaries(piece)
                read_parts[number] = source.read(several[number].ranges())
    decoded = decoders.map(decode, pieces, parts, repeat(index.footer))
    read = {column.leaves: found for column, found in zip(present, decoded, strict=True)}
    count = sum(len(rows) for _, rows in groups)
    return [_aligned(column, read, field, task, count) for column, field in zip(wanted, task.fields, strict=True)]


def _read_indexes(
    source: RangeReader, index: FileIndex, present: Sequence[Column], groups: Sequence[tuple[int, Rows]]
) -> None:
    """Where the pages of ``present`` are in ``groups``: by their offset indexes, else by the pages' headers."""
    counts = {g: len(rows) for g, rows in groups}
    missing = [(g, leaf, c) for g in counts for c in present for leaf in c.leaves if (g, leaf) not in index.pages]
    chunks = {(g, leaf): index.groups[g][1][1][1][leaf] for g, leaf, _ in missing}
    ranges = {key: at for key, chunk in chunks.items() if (at := index_range(chunk)) is not None}
    found = dict(zip(ranges, source.read(list(ranges.values())), strict=True))
    for g, leaf, column in missing:
        key, chunk, pages = (g, leaf), chunks[g, leaf], None
        few = counts[g] <= _WALKED_ROWS or chunk_bytes(chunk) > _BYTES_AT_ONCE
        if key not in found and source.seeks and few and not any(column.repeated):
            pages = walked(source, chunk, int(index.groups[g][3][1]))
        index.pages[key] = pages or pages_of(chunk, found.get(key))


def _aligned(
    column: Column | None, read: Mapping[tuple[int, ...], Any], target: FieldJson, task: LookUpTask, count: int
) -> Any:
    if column is None:
        return _plain(constant(target.get("initial-default"), target, count))
    field, array = read[column.leaves]
    if field_id(field) is None:
        field = with_ids(pa.schema([field]), task.name_mapping, "").field(0)
    align = aligner(field, target)
    chunks = [_plain(align(chunk) if align else chunk) for chunk in array.chunks]
    return pa.chunked_array(chunks) if chunks else _plain(constant(None, target, 0))


def _plain(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array
