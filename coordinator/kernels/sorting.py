"""Kernels of a global sort with bounded memory: ``sorting:sample``, ``sorting:scatter`` and ``sorting:gather``.

``sample`` reads keys here and there. ``scatter`` reads data files, drops deleted rows and writes each run of rows into
a scratch file, range by range. ``gather`` reads some neighbouring ranges of all scratch files, sorts each in memory,
and writes a part of a data file. ``whole`` does it all in memory, for small groups.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from .errors import reading
from .fetching import side_by_side
from .key_ranges import Ranges, packed, unpacked
from .keys import sort_order
from .outputs import read_metrics
from .reader import FileReader
from .rewrite import FileWriter
from .schema import FieldJson, leaves
from .scratch import Scratch, runs, scattered, whole_array
from .sort_tasks import (
    GatherTask,
    KeyColumn,
    Piece,
    RowOrder,
    Sample,
    SampleTask,
    SortedWhole,
    SortTask,
    SpreadTask,
)
from .storage import resolve
from .tasks import Fragment, Input, WriteTask
from .wire import decode, encode
from .writer_columns import dictionaries

_PASS_BYTES = 96 << 20
_LARGE_RANGE = 320 << 20
"""A range that came out larger than this is not sorted in one piece."""
_CHUNK_ROWS = 131_072
_ROWS_OF_WIDTH = 2_000


def sample(payload: bytes) -> bytes:
    """The Sample of a SampleTask: keys of rows here and there, and the width of a row."""
    wanted = decode(SampleTask, payload)
    task = wanted.task
    fields = [next(f for f in task.fields if f["id"] == column.id) for column in wanted.order.columns]
    tables: list[pa.Table] = []
    widths, seen = list[float](), 0
    for item in task.inputs:
        with reading(item.path), FileReader(item, task.storage, ()) as reader:
            tables += _sampled(reader, fields, task, wanted.rows)
            seen += reader.rows
        widths.append(_width(item, task))
    keys = packed(pa.concat_tables(tables)) if tables else None
    return encode(Sample(wanted.group, keys, seen, max(widths, default=1.0)))


def _sampled(reader: FileReader, fields: Sequence[FieldJson], task: WriteTask, wanted: int) -> Iterator[pa.Table]:
    """About ``wanted`` rows of an input at even distances, batch by batch."""
    step = max(1, reader.row_count // wanted)
    following = secrets.randbelow(step)
    names = [str(number) for number in range(len(fields))]
    for arrays in reader.batches(fields, task.name_mapping, (), ()):
        rows = len(arrays[0])
        taken = pa.array(range(following, rows, step), pa.int64())
        following += len(taken) * step - rows
        if len(taken):
            yield pa.table([_storage(array).take(taken) for array in arrays], names=names)


def _storage(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _width(item: Input, task: WriteTask) -> float:
    """Bytes of a decoded row, from the first rows."""
    with reading(item.path), FileReader(item, task.storage, (), read_ahead=False) as reader:
        found = reader.head(task.fields, task.name_mapping, _ROWS_OF_WIDTH)
    rows = len(found[0]) if found else 0
    return sum(array.nbytes for array in found) / rows if rows else 1.0


def scatter(payload: bytes) -> bytes:
    """The Spread of a SpreadTask, by ranges of its order."""
    task = decode(SpreadTask, payload)
    assert task.order is not None, "ranges are of an order"
    ranges = Ranges(task.order, unpacked(task.samples), task.ranges)
    place = {field["id"]: i for i, field in enumerate(task.task.fields)}

    def spread(run: pa.Table, scratch: Scratch) -> list[Piece]:
        found, keys = ranges.of([run.column(place[column.id]) for column in ranges.columns])
        return scratch.write_pieces(run, found, ranges.cuts.count, keys)

    return encode(replace(scattered(task, spread), single=sorted(ranges.cuts.single)))


def gather(payload: bytes) -> bytes:
    """The Fragment of a GatherTask."""
    wanted = decode(GatherTask, payload)
    try:
        return encode(_written(wanted.task, _sorted_ranges(wanted), set(wanted.worth)))
    finally:
        pa.default_memory_pool().release_unused()


def whole(payload: bytes) -> bytes:
    """The SortedWhole of a SortTask: all rows of the task, sorted in memory.

    Without a fragment when they decode to more than that allows: files tell little of it.
    """
    wanted = decode(SortTask, payload)
    task = wanted.task
    try:
        read = size = 0
        found = []
        for run, rows in runs(task):
            read += rows
            found += [] if run is None else [run]
            size += 0 if run is None else run.nbytes
            if size > _LARGE_RANGE:
                return encode(SortedWhole(task.tag.output, None))
        tables = [_sorted_whole(pa.concat_tables(found), task, wanted.order)] if found else []
        return encode(SortedWhole(task.tag.output, _written(task, iter(tables), dictionaries(task)[0], read)))
    finally:
        pa.default_memory_pool().release_unused()


def _sorted_whole(table: pa.Table, task: WriteTask, order: RowOrder) -> pa.Table:
    place = {field["id"]: i for i, field in enumerate(task.fields)}
    table = table.unify_dictionaries().combine_chunks()
    arrays = [table.column(place[column.id]) for column in order.columns]
    if not order.curve:
        return table.take(pa.array(sort_order(arrays, order.columns)))
    ranges = Ranges(order, [_storage(whole_array(array)) for array in arrays], 1)
    _, keys = ranges.of(arrays)
    assert keys is not None, "a curve has keys"
    return table.take(pa.array(np.argsort(keys, kind="stable")))


def _written(task: WriteTask, tables: Iterator[pa.Table], worth: set[str], read: int | None = None) -> Fragment:
    fields = leaves(task.fields)
    rows = 0
    writer: FileWriter | None = None
    try:
        for table in tables:
            if writer is None:
                text = {field.name for field in table.schema if pa.types.is_dictionary(field.type)}
                writer = FileWriter(task, fields, worth, text)
            rows += table.num_rows
            for batch in table.to_batches(max_chunksize=_CHUNK_ROWS):
                writer.write(batch.columns)
        path, size = (None, 0) if writer is None else writer.close()
    except BaseException:
        if writer is not None:
            writer.discard()
        raise
    read = rows if read is None else read
    if path is None or writer is None:
        return Fragment(task.tag, None, read_rows=read)
    found = read_metrics(path, size, fields, task.modes, writer.nan_counts, task.storage) if task.final else None
    return Fragment(task.tag, path, writer.rows, size, read, writer.nan_counts, found, writer.nan_groups)


def _sorted_ranges(wanted: GatherTask) -> Iterator[pa.Table]:
    """The rows of each range; without an order all of them are single."""
    task, order = wanted.task, wanted.order
    for found in wanted.ranges:
        pieces = found.pieces
        if found.single or order is None:
            for piece in pieces:
                yield _table([piece], task).select(range(len(task.fields)))
        elif sum(piece.size for piece in pieces) <= _LARGE_RANGE or len(pieces) == 1:
            yield _sorted(_table(pieces, task), task, order)
        else:
            yield from _sorted_in_passes(pieces, task, order)


def _sorted(table: pa.Table, task: WriteTask, order: RowOrder) -> pa.Table:
    if order.curve:
        indices = np.argsort(table.column(len(task.fields)).to_numpy(), kind="stable")
    else:
        place = {field["id"]: i for i, field in enumerate(task.fields)}
        indices = sort_order([table.column(place[column.id]) for column in order.columns], order.columns)
    return table.select(range(len(task.fields))).take(pa.array(indices))


def _sorted_in_passes(pieces: Sequence[Piece], task: WriteTask, order: RowOrder) -> Iterator[pa.Table]:
    """A range that the sample misjudged: its own rows are the sample of narrower ones, one pass each."""
    place = {field["id"]: i for i, field in enumerate(task.fields)}
    narrower = RowOrder([KeyColumn(0)]) if order.curve else order

    def keys(table: pa.Table) -> list[pa.ChunkedArray]:
        return [table.column(len(task.fields))] if order.curve else [table.column(place[c.id]) for c in order.columns]

    names = [str(i) for i in range(len(narrower.columns))]
    step = max(1, sum(piece.rows for piece in pieces) // 20_000)
    samples = []
    for piece in pieces:
        table = _table([piece], task)
        taken = pa.array(range(0, table.num_rows, step), pa.int64())
        samples.append(pa.table([_storage(whole_array(k.take(taken))) for k in keys(table)], names=names))
    sampled = pa.concat_tables(samples)
    wanted = -(-sum(piece.size for piece in pieces) // _PASS_BYTES)
    ranges = Ranges(narrower, [sampled.column(i) for i in range(sampled.num_columns)], wanted)
    for number in range(ranges.cuts.count):
        parts = []
        for piece in pieces:
            table = _table([piece], task)
            parts.append(table.filter(pa.array(ranges.of(keys(table))[0] == number)))
        part = _joined(parts)
        if part.num_rows:
            yield _sorted(part, task, order)


def _table(pieces: Sequence[Piece], task: WriteTask) -> pa.Table:
    """Pieces as one table; columns that are dictionaries in all of them stay so."""
    return _joined(side_by_side(lambda piece: _piece(piece, task), pieces, lambda piece: piece.path))


def _piece(piece: Piece, task: WriteTask) -> pa.Table:
    filesystem, local = resolve(piece.path, task.storage)
    with reading(piece.path), filesystem.open_input_file(local) as source:
        return pa.ipc.open_stream(source.read_at(piece.length, piece.offset)).read_all()


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    plain = {field.name for table in tables for field in table.schema if not pa.types.is_dictionary(field.type)}
    same = []
    for table in tables:
        arrays = [
            _decoded(column) if field.name in plain and pa.types.is_dictionary(field.type) else column
            for field, column in zip(table.schema, table.columns, strict=True)
        ]
        same.append(pa.table(arrays, names=table.schema.names))
    return pa.concat_tables(same).unify_dictionaries().combine_chunks()


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)
