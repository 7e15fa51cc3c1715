"""Kernels of a global sort with bounded memory: ``sorting:sample``, ``sorting:scatter`` and ``sorting:gather``.

``sample`` reads keys here and there. ``scatter`` reads data files, drops deleted rows and writes each run of rows into
a scratch file, range by range. ``gather`` reads some neighbouring ranges of all scratch files, sorts each in memory,
and writes a part of a data file. ``whole`` does it all in memory, for small groups.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from .errors import reading, writing
from .key_ranges import Ranges, packed, unpacked
from .keys import key_columns, sort_order
from .outputs import discard, read_metrics
from .reader import FileReader
from .rewrite import FileWriter, dictionaries, live_rows, writer_field
from .schema import leaves
from .storage import resolve
from .tasks import Fragment, Input, WriteTask, answer, write_task_of

_RUN_BYTES = 96 << 20
_LARGE_RANGE = 320 << 20
"""A range that came out larger than this is not sorted in one piece."""
_CHUNK_ROWS = 131_072
KEY = "__procession_key"
_ROWS_OF_WIDTH = 2_000


def sample(payload: bytes) -> bytes:
    """``{"task": WriteTask, "order", "rows": per input}``: keys of rows here and there, and the width of a row."""
    raw = json.loads(payload)
    task = write_task_of(raw["task"])
    wanted = [column.id for column in key_columns(raw["order"]["columns"])]
    fields = [next(f for f in task.fields if f["id"] == number) for number in wanted]
    tables, widths, seen = [], [], 0
    for item in task.inputs:
        with reading(item.path), FileReader(item, task.storage, ()) as reader:
            arrays = [pa.chunked_array(c) for c in zip(*reader.batches(fields, task.name_mapping, (), ()), strict=True)]
            seen += reader.rows
        if arrays:
            names = [str(number) for number in range(len(arrays))]
            table = pa.table([_storage(a.combine_chunks()) for a in arrays], names=names)
            step = max(1, table.num_rows // raw["rows"])
            start = secrets.randbelow(step)
            tables.append(table.take(pa.array(range(start, table.num_rows, step), pa.int64())))
        widths.append(_width(item, task))
    text = packed(pa.concat_tables(tables)) if tables else None
    return json.dumps({"tag": raw["tag"], "sample": text, "rows": seen, "width": max(widths, default=1.0)}).encode()


def _storage(array: Any) -> Any:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _width(item: Input, task: WriteTask) -> float:
    """Bytes of a decoded row, from the first rows."""
    with reading(item.path), FileReader(item, task.storage, ()) as reader:
        found = reader.head(task.fields, task.name_mapping, _ROWS_OF_WIDTH)
    rows = len(found[0]) if found else 0
    return sum(array.nbytes for array in found) / rows if rows else 1.0


def scatter(payload: bytes) -> bytes:
    """``{"task", "order", "samples", "ranges", "compression"}``: pieces as ``[range, offset, length, rows, bytes]``."""
    raw = json.loads(payload)
    task = write_task_of(raw["task"])
    try:
        return json.dumps(_scatter(task, raw)).encode()
    finally:
        pa.default_memory_pool().release_unused()


def _scatter(task: WriteTask, raw: Mapping[str, Any]) -> dict[str, Any]:
    ranges = Ranges(raw["order"], unpacked(raw["samples"]), raw["ranges"])
    scratch = Scratch(task, raw["compression"])
    pieces: list[list[int]] = []
    read = 0
    try:
        for run, rows in runs(task):
            read += rows
            if run is not None:
                pieces += _spread(run, ranges, scratch, task)
        path = scratch.close()
    except BaseException:
        scratch.discard()
        raise
    single = sorted(ranges.cuts.single)
    worth, _ = dictionaries(task)
    found = {"path": path, "read_rows": read, "pieces": pieces, "single": single, "worth": sorted(worth)}
    return {"tag": task.tag, **found}


def runs(task: WriteTask) -> Iterator[tuple[Any | None, int]]:
    """Rows that are kept, in tables of about ``_RUN_BYTES``, each with how many rows were read for it."""
    _, text = dictionaries(task)
    schema = pa.schema([writer_field(field, text) for field in task.fields])
    pending: list[Any] = []
    size = read = 0
    for arrays, rows in live_rows(task, sorted(text)):
        read += rows
        fitted = [_fitted(array, field) for array, field in zip(arrays, schema, strict=False)]
        batch = pa.RecordBatch.from_arrays(fitted, schema=schema)
        pending.append(batch)
        size += batch.nbytes
        if size >= _RUN_BYTES:
            yield pa.Table.from_batches(pending, schema=schema).unify_dictionaries().combine_chunks(), read
            pending, size, read = [], 0, 0
    if any(batch.num_rows for batch in pending):
        yield pa.Table.from_batches(pending, schema=schema).unify_dictionaries().combine_chunks(), read
    elif read:
        yield None, read


def _fitted(array: Any, field: Any) -> Any:
    is_dictionary = pa.types.is_dictionary(array.type)
    if pa.types.is_dictionary(field.type) == is_dictionary:
        return array
    return array.dictionary_decode() if is_dictionary else array.dictionary_encode()


def _spread(run: Any, ranges: Ranges, scratch: Scratch, task: WriteTask) -> list[list[int]]:
    place = {field["id"]: i for i, field in enumerate(task.fields)}
    found, keys = ranges.of([run.column(place[column.id]) for column in ranges.columns])
    order = np.argsort(found.astype(np.uint16) if ranges.cuts.count < 1 << 16 else found, kind="stable")
    counts = np.bincount(found, minlength=ranges.cuts.count)
    ends = np.cumsum(counts)
    indices = pa.array(order)
    arrays = [_whole(column).take(indices) for column in run.columns]
    names = [field["name"] for field in task.fields]
    if keys is not None:
        arrays, names = [*arrays, pa.array(keys[order])], [*names, KEY]
    pieces = []
    for number in np.flatnonzero(counts):
        start, rows = int(ends[number] - counts[number]), int(counts[number])
        slices = [compact(array.slice(start, rows)) for array in arrays]
        batch = pa.RecordBatch.from_arrays(slices, names=names)
        offset, length = scratch.write(batch)
        pieces.append([int(number), offset, length, rows, batch.nbytes])
    return pieces


def _whole(column: Any) -> Any:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def compact(array: Any) -> Any:
    """A piece whose dictionary is longer than worth carrying along is written plain."""
    if pa.types.is_dictionary(array.type) and 2 * len(array.dictionary) > len(array):
        return array.dictionary_decode()
    return array


class Scratch:
    """One scratch file of a task; each piece is an Arrow stream of its own, readable by offset and length."""

    def __init__(self, task: WriteTask, compression: str | None) -> None:
        self._task = task
        self._options = pa.ipc.IpcWriteOptions(compression=compression)
        self._sink: Any = None
        self._location: str | None = None
        self._position = 0

    def write(self, batch: Any) -> tuple[int, int]:
        if self._sink is None:
            output = self._task.output
            self._location = f"{output.directory}/{output.name}-{secrets.token_hex(4)}.arrow"
            filesystem, path = resolve(self._location, self._task.storage)
            with writing(self._location):
                filesystem.create_dir(path.rpartition("/")[0], recursive=True)
                self._sink = filesystem.open_output_stream(path)
        assert self._location is not None
        with writing(self._location):
            with pa.ipc.new_stream(self._sink, batch.schema, options=self._options) as writer:
                writer.write_batch(batch)
            start, self._position = self._position, self._sink.tell()
        return start, self._position - start

    def close(self) -> str | None:
        if self._location is not None:
            with writing(self._location):
                self._sink.close()
        return self._location

    def discard(self) -> None:
        if self._location is not None:
            discard(self._location, self._sink, self._task.storage)


def gather(payload: bytes) -> bytes:
    """``{"task", "order", "worth", "ranges": [{"single", "pieces"}]}`` to a Fragment.

    Pieces are ``[path, offset, length, rows, bytes]``.
    """
    raw = json.loads(payload)
    task = write_task_of(raw["task"])
    try:
        return answer(_written(task, _sorted_ranges(task, raw), set(raw["worth"])))
    finally:
        pa.default_memory_pool().release_unused()


def whole(payload: bytes) -> bytes:
    """``{"task", "order"}``: a Fragment of all rows of the task, sorted in memory."""
    raw = json.loads(payload)
    task = write_task_of(raw["task"])
    try:
        read = 0
        found = []
        for run, rows in runs(task):
            read += rows
            found += [] if run is None else [run]
        tables = [_sorted_whole(pa.concat_tables(found), task, raw["order"])] if found else []
        return answer(_written(task, iter(tables), dictionaries(task)[0], read))
    finally:
        pa.default_memory_pool().release_unused()


def _sorted_whole(table: Any, task: WriteTask, order: Mapping[str, Any]) -> Any:
    place = {field["id"]: i for i, field in enumerate(task.fields)}
    table = table.unify_dictionaries().combine_chunks()
    columns = key_columns(order["columns"])
    arrays = [table.column(place[column.id]) for column in columns]
    if not order.get("curve"):
        return table.take(pa.array(sort_order(arrays, columns)))
    ranges = Ranges(order, [_storage(_whole(array)) for array in arrays], 1)
    _, keys = ranges.of(arrays)
    assert keys is not None, "a curve has keys"
    return table.take(pa.array(np.argsort(keys, kind="stable")))


def _written(task: WriteTask, tables: Iterator[Any], worth: set[str], read: int | None = None) -> Fragment:
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


def _sorted_ranges(task: WriteTask, raw: Mapping[str, Any]) -> Iterator[Any]:
    for found in raw["ranges"]:
        pieces = found["pieces"]
        if found["single"]:
            for piece in pieces:
                yield _table([piece], task).select(range(len(task.fields)))
        elif sum(piece[4] for piece in pieces) <= _LARGE_RANGE or len(pieces) == 1:
            yield _sorted(_table(pieces, task), task, raw["order"])
        else:
            yield from _sorted_in_passes(pieces, task, raw["order"])


def _sorted(table: Any, task: WriteTask, order: Mapping[str, Any]) -> Any:
    if order.get("curve"):
        indices = np.argsort(table.column(len(task.fields)).to_numpy(), kind="stable")
    else:
        place = {field["id"]: i for i, field in enumerate(task.fields)}
        columns = key_columns(order["columns"])
        indices = sort_order([table.column(place[column.id]) for column in columns], columns)
    return table.select(range(len(task.fields))).take(pa.array(indices))


def _sorted_in_passes(pieces: Sequence[Any], task: WriteTask, order: Mapping[str, Any]) -> Iterator[Any]:
    """A range that the sample misjudged: its own rows are the sample of narrower ones, one pass each."""
    place = {field["id"]: i for i, field in enumerate(task.fields)}
    columns = key_columns(order["columns"])
    curve = bool(order.get("curve"))

    def keys(table: Any) -> list[Any]:
        return [table.column(len(task.fields))] if curve else [table.column(place[c.id]) for c in columns]

    spec = {"columns": [{"id": 0}]} if curve else order
    step = max(1, sum(piece[3] for piece in pieces) // 20_000)
    samples = []
    for piece in pieces:
        table = _table([piece], task)
        taken = pa.array(range(0, table.num_rows, step), pa.int64())
        samples.append(pa.table([_storage(_whole(k.take(taken))) for k in keys(table)], names=_numbers(spec)))
    sampled = pa.concat_tables(samples)
    wanted = -(-sum(piece[4] for piece in pieces) // _RUN_BYTES)
    ranges = Ranges(spec, [sampled.column(i) for i in range(sampled.num_columns)], wanted)
    for number in range(ranges.cuts.count):
        parts = []
        for piece in pieces:
            table = _table([piece], task)
            parts.append(table.filter(pa.array(ranges.of(keys(table))[0] == number)))
        part = _joined(parts)
        if part.num_rows:
            yield _sorted(part, task, order)


def _numbers(spec: Mapping[str, Any]) -> list[str]:
    return [str(i) for i in range(len(spec["columns"]))]


def _table(pieces: Sequence[Any], task: WriteTask) -> Any:
    """Pieces as one table; columns that are dictionaries in all of them stay so."""
    tables = []
    for path, offset, length, *_ in pieces:
        filesystem, local = resolve(path, task.storage)
        with reading(path), filesystem.open_input_file(local) as source:
            tables.append(pa.ipc.open_stream(source.read_at(length, offset)).read_all())
    return _joined(tables)


def _joined(tables: Sequence[Any]) -> Any:
    plain = {field.name for table in tables for field in table.schema if not pa.types.is_dictionary(field.type)}
    same = []
    for table in tables:
        arrays = [
            _decoded(column) if field.name in plain and pa.types.is_dictionary(field.type) else column
            for field, column in zip(table.schema, table.columns, strict=True)
        ]
        same.append(pa.table(arrays, names=table.schema.names))
    return pa.concat_tables(same).unify_dictionaries().combine_chunks()


def _decoded(column: Any) -> Any:
    return pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)
