"""Kernels ``moved_rows:take`` and ``moved_rows:find``: where rows went in a rewrite that did not keep their order.

``take`` reads rows of an old file, ``find`` looks for rows with the same values in a new one. Nobody can tell rows
apart that are equal in all columns, so that any of them stands for another; where rows have ids, those are enough.
Values are equal when their bits are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
import pyarrow as pa

from .deletes import Positions
from .equality_rows import rows_taken_out
from .errors import reading
from .key_sets import RowSet
from .keys import plain_array
from .mapping import NameMapping
from .reader import FileReader
from .schema import FieldJson
from .tasks import FindTask, FoundRows, Input, TakenRows, TakeTask, WriteTask
from .wire import decode, encode


def take(payload: bytes) -> bytes:
    """The TakenRows of a TakeTask; raises KernelError."""
    asked = decode(TakeTask, payload)
    gone = _gone(asked.task)
    positions = np.setdiff1d(np.frombuffer(asked.positions, "<i8"), gone)
    uncovered = len(np.setdiff1d(gone, np.frombuffer(asked.deleted, "<i8")))
    return encode(TakenRows(asked.number, _stream(_rows_at(asked.task, positions)), uncovered))


def find(payload: bytes) -> bytes:
    """The FoundRows of a FindTask; raises KernelError."""
    asked = decode(FindTask, payload)
    wanted = pa.ipc.open_stream(asked.wanted).read_all()
    columns = [exact(column) for column in wanted.columns]
    probe, _ = RowSet.of(columns[: asked.probed])
    rows, numbers = RowSet.of(columns)
    place = np.empty(len(numbers), np.int64)
    place[numbers] = np.arange(len(numbers))
    positions, found = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start, arrays in _candidates(asked, probe):
        codes = rows.codes(arrays)
        hits = np.flatnonzero(codes >= 0)
        positions.append(start + hits)
        found.append(place[codes[hits]])
    pa.default_memory_pool().release_unused()
    return encode(FoundRows(asked.number, _longs(np.concatenate(positions)), _longs(np.concatenate(found))))


def _gone(task: WriteTask) -> Positions:
    """The positions that the equality deletes of a task take out of its one file."""
    (rows,) = rows_taken_out(task)
    return rows


def _rows_at(task: WriteTask, positions: Positions) -> pa.Table:
    """Rows of the one file of a task; only row groups that have any are read."""
    names = [str(field["id"]) for field in task.fields]
    found = []
    for part, first, rows in _groups(task.inputs[0], task.storage):
        if np.searchsorted(positions, first) == np.searchsorted(positions, first + rows):
            continue
        for start, arrays in _batches(part, first, task.fields, task.name_mapping, task.storage):
            low, high = np.searchsorted(positions, (start, start + len(arrays[0])))
            if low < high:
                chosen = pa.array(positions[low:high] - start)
                found.append(pa.table([plain_array(array).take(chosen) for array in arrays], names=names))
    return pa.concat_tables(found) if found else pa.table({})


def _candidates(asked: FindTask, probe: RowSet) -> Iterator[tuple[int, list[pa.Array]]]:
    """All columns of row groups that have wanted values in the probed ones, batch by batch with the first position."""

    def read(part: Input, first: int, fields: Sequence[FieldJson]) -> Iterator[tuple[int, list[pa.Array]]]:
        for start, arrays in _batches(part, first, fields, None, asked.storage):
            yield start, [exact(array) for array in arrays]

    for part, first, _ in _groups(asked.item, asked.storage):
        probed = read(part, first, asked.fields[: asked.probed])
        if asked.probed == len(asked.fields):
            yield from probed
        elif any((probe.codes(arrays) >= 0).any() for _, arrays in probed):
            yield from read(part, first, asked.fields)


def _groups(item: Input, storage: Mapping[str, str]) -> Iterator[tuple[Input, int, int]]:
    """Each row group of a file, with its first position and its rows."""
    with reading(item.path), FileReader(item, storage, (), read_ahead=False) as reader:
        counts = reader.group_rows
    for number, (first, rows) in enumerate(zip(accumulate(counts, initial=0), counts, strict=False)):
        yield replace(item, groups=(number, number + 1)), first, rows


def _batches(
    part: Input, start: int, fields: Sequence[FieldJson], mapping: NameMapping | None, storage: Mapping[str, str]
) -> Iterator[tuple[int, list[pa.Array]]]:
    """All rows from position ``start`` on, deleted or not, one array a field."""
    with reading(part.path), FileReader(part, storage, ()) as reader:
        for arrays in reader.batches(fields, mapping, (), ()):
            yield start, arrays
            start += len(arrays[0])


def exact(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Values that are equal when the bits of ``array``'s are: numbers for floating point, text for nested values."""
    plain = plain_array(array)
    if pa.types.is_floating(plain.type):
        return plain.view(pa.int64() if pa.types.is_float64(plain.type) else pa.int32())
    if pa.types.is_nested(plain.type):
        return pa.array([None if value is None else repr(value) for value in plain.to_pylist()], pa.string())
    return plain


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _longs(array: Positions) -> bytes:
    return array.astype("<i8").tobytes()
