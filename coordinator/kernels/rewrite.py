"""Kernel ``rewrite:run``: read the data files of a task in a stream, drop deleted rows, write one Parquet file."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .annotations import Annotations, HeldEnd
from .batch_sizes import BatchSizes
from .deletes import read_positions
from .dictionary_choice import with_dictionary
from .equality import EqualityCache, deleted_rows
from .errors import reading, writing
from .fetching import fetched_ahead
from .footer import nan_columns
from .joined_rewrite import TooLargeError, kept_columns, rewritten
from .outputs import discard, open_output, read_metrics
from .reader import FileReader
from .schema import Leaf, leaves
from .sound_footer import require_sound
from .storage import normalize
from .tasks import Fragment, WriteTask
from .unscaled import scales, with_integers
from .unscaled_footer import UnscaledFooters
from .wire import decode, encode
from .writer_columns import dictionaries, fitted, nan_counts_of, writer_field, writer_options


def run(payload: bytes) -> bytes:
    """The Fragment of a WriteTask; raises KernelError. A failed task leaves no file behind."""
    task = decode(WriteTask, payload)
    try:
        return encode(_rewrite(task))
    finally:
        # Workers are reused: what this task needed must not count against the next.
        pa.default_memory_pool().release_unused()


def copy(task: WriteTask, check: Callable[[], None]) -> Fragment:
    """The same in this process, without the way over bytes; what ``check`` raises at any batch ends it.

    Footers that end the process are refused: here it may be one of many statements.
    """
    for item in task.inputs:
        require_sound(item, task.storage)
    try:
        return _decoded(task, check)
    finally:
        pa.default_memory_pool().release_unused()


def _rewrite(task: WriteTask) -> Fragment:
    kept = kept_columns(task)
    if kept:
        with suppress(TooLargeError):
            return rewritten(task, kept)
    return _decoded(task)


def _decoded(task: WriteTask, check: Callable[[], None] = lambda: None) -> Fragment:
    fields = leaves(task.fields)
    worth, text = dictionaries(task)
    moved = _with_integers(task)
    writer = FileWriter(moved, fields, worth, text)
    read = 0
    try:
        for arrays, rows in live_rows(moved, sorted(text)):
            check()
            read += rows
            writer.write(arrays[: len(task.fields)])
        path, size = writer.close()
    except BaseException:
        writer.discard()
        raise
    if path is None:
        return Fragment(task.tag, None, read_rows=read)
    found = read_metrics(path, size, fields, task.modes, writer.nan_counts, task.storage) if task.final else None
    return Fragment(task.tag, path, writer.rows, size, read, writer.nan_counts, found, writer.nan_groups)


def _with_integers(task: WriteTask) -> WriteTask:
    """Decimals as the integers that they are stored as, but for those that equality deletes compare."""
    if task.decimals != "integers":
        return task
    compared = {field["id"] for delete in task.equality_deletes for field in delete.fields}
    return dataclasses.replace(task, fields=with_integers(task.fields, compared))


def live_rows(task: WriteTask, dictionary: Sequence[str]) -> Iterator[tuple[list[pa.Array], int]]:
    """The rows that are kept, file after file, with how many rows each step read."""
    wanted = {normalize(item.path) for item in task.inputs if item.positions}
    positions = read_positions(task.position_deletes, wanted, task.storage)
    passed = deleted_rows(task)
    equality = EqualityCache(task, None if passed is None else ())
    extra = equality.extra_fields() if passed is None else []
    decimals = scales(task.fields)
    unscaled = UnscaledFooters(decimals) if decimals else None
    for number, (item, fetched) in enumerate(fetched_ahead(task.inputs, task.storage)):
        name = normalize(item.path)
        deleted = [positions[i][name] for i in item.positions if name in positions[i]]
        deleted += [] if passed is None else [passed[number]]
        deleted += [np.frombuffer(item.deleted, np.dtype("<i8"))] if item.deleted else []
        with reading(item.path), FileReader(item, task.storage, dictionary, fetched, unscaled=unscaled) as reader:
            before = 0
            for arrays in reader.batches(
                [*task.fields, *extra], task.name_mapping, deleted, equality.of(item.equality)
            ):
                yield arrays, reader.rows - before
                before = reader.rows


class FileWriter:
    """One output file, opened at the first row. Rows gather until they make a row group, which bounds memory."""

    def __init__(self, task: WriteTask, fields: Sequence[Leaf], worth: set[str], text: set[str]) -> None:
        self._output = task.output
        self._storage = task.storage
        self._schema = pa.schema([writer_field(field, text) for field in task.fields])
        self._options = writer_options(task.output, [leaf.path for leaf in fields if leaf.path in worth], fields)
        self._options["store_decimal_as_integer"] = task.decimals == "integers"
        self._nan_leaves = [leaf for leaf in nan_columns(fields) if leaf.names]
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0.0
        self._sizes = BatchSizes()
        self._decoded = 0.0
        self._limit = float(min(task.output.row_group_bytes, task.output.row_group_stored))
        self._annotations = Annotations.of(task.fields, fields)
        self._end: HeldEnd | None = None
        self._writer: Any = None
        self._sink: Any = None
        self._path: str | None = None
        self.rows = 0
        self.nan_counts = {str(leaf.id): 0 for leaf in self._nan_leaves}
        self.nan_groups: list[dict[str, int]] = []

    def write(self, arrays: Sequence[pa.Array]) -> None:
        """Add rows: one array a column."""
        if len(arrays[0]) == 0:
            return
        columns = [fitted(array, field) for array, field in zip(arrays, self._schema, strict=True)]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self.rows += batch.num_rows
        width = max(1.0, self._sizes.add(batch) / batch.num_rows)
        while batch.num_rows:
            room = max(1, math.ceil((self._limit - self._pending_bytes) / width))
            piece, batch = batch.slice(0, room), batch.slice(room)
            self._pending.append(piece)
            self._pending_bytes += width * piece.num_rows
            if self._pending_bytes >= self._limit:
                self._flush()

    def close(self) -> tuple[str | None, int]:
        """Finish the file: its location and size, or (None, 0) when there was no row."""
        if self._pending:
            self._flush()
        if self._path is None:
            return None, 0
        with writing(self._path):
            if self._end is not None:
                self._end.hold()
            self._writer.close()
            if self._end is not None and self._annotations is not None:
                self._end.release(self._annotations)
            size = self._sink.tell()
            self._sink.close()
        return self._path, size

    def discard(self) -> None:
        """Remove what was written; best effort, since the coordinator sweeps by name as well."""
        if self._path is None:
            return
        discard(self._path, self._sink, self._storage)

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._pending, schema=self._schema).unify_dictionaries()
        self._decoded += self._pending_bytes
        self._pending, self._pending_bytes, self._sizes = [], 0.0, BatchSizes()
        self._count_nans(table)
        if self._writer is None:
            self._path, self._sink = open_output(self._output, self._storage)
            self._end = None if self._annotations is None else HeldEnd(self._sink)
            chosen = with_dictionary(table, self._options["use_dictionary"] or (), self._options)
            self._options["use_dictionary"] = chosen or False
            with writing(self._path):
                self._writer = pq.ParquetWriter(self._end or self._sink, self._schema, **self._options)
        assert self._path is not None
        with writing(self._path):
            self._writer.write_table(table, row_group_size=table.num_rows)
            # What the rows so far take in the file tells how many of the next make a row group.
            growth = self._decoded / max(1, self._sink.tell())
            self._limit = min(self._output.row_group_bytes, self._output.row_group_stored * growth)
        # The pool keeps what a row group took, scattered: the next one would come on top of much of it.
        del table
        pa.default_memory_pool().release_unused()

    def _count_nans(self, table: pa.Table) -> None:
        self.nan_groups.append(nan_counts_of(table, self._nan_leaves))
        for number, count in self.nan_groups[-1].items():
            self.nan_counts[number] += count
