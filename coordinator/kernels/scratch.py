"""Scratch files of kernels that spread rows: runs of rows, cut in pieces by number, each readable by itself."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .batch_sizes import BatchSizes
from .errors import writing
from .outputs import discard
from .rewrite import live_rows
from .sort_tasks import Piece, Spread, SpreadTask
from .storage import open_new
from .tasks import WriteTask
from .writer_columns import dictionaries, writer_field

KEY = "__procession_key"
"""The column of computed keys, after those of the table."""
_RUN_BYTES = 96 << 20


class Scratch:
    """One scratch file of a task; each piece is an Arrow stream of its own, readable by offset and length."""

    def __init__(self, task: WriteTask, compression: str | None) -> None:
        self._task = task
        self._options = pa.ipc.IpcWriteOptions(compression=compression)
        self._sink: Any = None
        self._location: str | None = None
        self._position = 0

    def _write(self, number: int, batch: pa.RecordBatch) -> Piece:
        if self._sink is None:
            output = self._task.output
            self._location = f"{output.directory}/{output.name}-{secrets.token_hex(4)}.arrow"
            with writing(self._location):
                self._sink = open_new(self._location, self._task.storage)
        assert self._location is not None
        with writing(self._location):
            with pa.ipc.new_stream(self._sink, batch.schema, options=self._options) as writer:
                writer.write_batch(batch)
            start, self._position = self._position, self._sink.tell()
        return Piece(self._location, start, self._position - start, batch.num_rows, batch.nbytes, number)

    def write_pieces(
        self, run: pa.Table, numbers: npt.NDArray[Any], count: int, keys: npt.NDArray[Any] | None
    ) -> list[Piece]:
        """Rows that have the same of ``numbers``, which are below ``count``, as one piece, in the numbers' order."""
        order = np.argsort(numbers.astype(np.uint16) if count < 1 << 16 else numbers, kind="stable")
        counts = np.bincount(numbers, minlength=count)
        ends = np.cumsum(counts)
        indices = pa.array(order)
        arrays = [whole_array(column).take(indices) for column in run.columns]
        names = [field["name"] for field in self._task.fields]
        if keys is not None:
            arrays, names = [*arrays, pa.array(keys[order])], [*names, KEY]
        pieces = []
        for number in np.flatnonzero(counts):
            start, rows = int(ends[number] - counts[number]), int(counts[number])
            slices = [_compact(array.slice(start, rows)) for array in arrays]
            batch = pa.RecordBatch.from_arrays(slices, names=names)
            pieces.append(self._write(int(number), batch))
        return pieces

    def close(self) -> str | None:
        if self._location is not None:
            with writing(self._location):
                self._sink.close()
        return self._location

    def discard(self) -> None:
        if self._location is not None:
            discard(self._location, self._sink, self._task.storage)


def scattered(wanted: SpreadTask, spread: Callable[[pa.Table, Scratch], list[Piece]]) -> Spread:
    """All rows of the task that are kept, spread run by run into one scratch file, which a failure removes."""
    task = wanted.task
    scratch = Scratch(task, wanted.compression)
    pieces: list[Piece] = []
    read = 0
    try:
        for run, rows in runs(task):
            read += rows
            if run is not None:
                pieces += spread(run, scratch)
        path = scratch.close()
    except BaseException:
        scratch.discard()
        raise
    finally:
        pa.default_memory_pool().release_unused()
    worth, _ = dictionaries(task)
    return Spread(wanted.group, path, read, pieces, sorted(worth))


def runs(task: WriteTask) -> Iterator[tuple[pa.Table | None, int]]:
    """Rows that are kept, in tables of about ``_RUN_BYTES``, each with how many rows were read for it."""
    _, text = dictionaries(task)
    schema = pa.schema([writer_field(field, text) for field in task.fields])
    pending: list[pa.RecordBatch] = []
    sizes, read = BatchSizes(), 0
    for arrays, rows in live_rows(task, sorted(text)):
        read += rows
        fitted = [_fitted(array, field) for array, field in zip(arrays, schema, strict=False)]
        batch = pa.RecordBatch.from_arrays(fitted, schema=schema)
        pending.append(batch)
        sizes.add(batch)
        if sizes.total >= _RUN_BYTES:
            yield pa.Table.from_batches(pending, schema=schema).unify_dictionaries().combine_chunks(), read
            pending, sizes, read = [], BatchSizes(), 0
    if any(batch.num_rows for batch in pending):
        yield pa.Table.from_batches(pending, schema=schema).unify_dictionaries().combine_chunks(), read
    elif read:
        yield None, read


def _fitted(array: pa.Array, field: pa.Field) -> pa.Array:
    is_dictionary = pa.types.is_dictionary(array.type)
    if pa.types.is_dictionary(field.type) == is_dictionary:
        return array
    return array.dictionary_decode() if is_dictionary else array.dictionary_encode()


def whole_array(column: pa.Array | pa.ChunkedArray) -> Any:
    """A column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _compact(array: pa.Array) -> pa.Array:
    """A piece whose dictionary is longer than worth carrying along is written plain."""
    if pa.types.is_dictionary(array.type) and 2 * len(array.dictionary) > len(array):
        return array.dictionary_decode()
    return array
