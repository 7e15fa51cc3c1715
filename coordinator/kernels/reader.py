"""Data files as batches of the table's schema, streaming, with deleted rows left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .batch_sizes import BatchSizes
from .cache import FOOTERS
from .deletes import Mask, Positions, keep_mask
from .fetching import WHOLE_FILE_BYTES, Fetched
from .lineage import DELETED, FROM_PLACE, NEVER_STORED, inherited
from .mapping import NameMapping, with_ids
from .schema import Align, FieldJson, aligner, arrow_field, constant, field_id
from .storage import is_local, resolve
from .tasks import Input
from .unscaled import scaled
from .unscaled_footer import UnscaledFooters

_WHOLE_BYTES = 48 << 20
_BATCH_BYTES, _BATCH_ROWS = 1 << 20, 16_384
"""What a batch has on average, as encoded, and at most. Larger ones are hardly faster, and rows may be far from the
average: text of a megabyte among short ones, or repeated and nested, which takes next to nothing encoded."""
_COLUMN_BYTES, _WIDE_BYTES = 16 << 10, 8 << 20
"""Of many columns each has at least so much in a batch, up to the second number in all."""
_GATHERED_BYTES, _GATHERED_ROWS = 32 << 20, 1 << 20
"""Rows that are looked up among deleted keys at a time."""
_MOST_PRE_BUFFERED = 128 << 20
_BUFFERS, _BUFFER, _LEAST_BUFFER = 64 << 20, 1 << 20, 64 << 10
"""Bytes that are read ahead: of all columns together, and of one at most and at least."""
_MAX_INDEX_BYTES = 4.0
"""What an index into a dictionary takes at most; a string of any length takes more."""


class Deletes(Protocol):
    """Equality deletes over the columns ``ids``."""

    @property
    def ids(self) -> tuple[int, ...]: ...

    def keep_mask(self, columns: Sequence[pa.Array]) -> Mask | None: ...


class FileReader:
    """One open data file; a context manager. ``rows`` counts what was read, deleted rows included.

    ``fetched`` is the file where somebody has it already. Without ``read_ahead``, no more of it comes than is read.
    ``unscaled`` knows the decimals that ``batches`` is asked for as integers.
    """

    def __init__(
        self,
        item: Input,
        storage: Mapping[str, str],
        dictionary: Sequence[str],
        fetched: Fetched | None = None,
        *,
        read_ahead: bool = True,
        unscaled: UnscaledFooters | None = None,
    ) -> None:
        self._item = item
        if fetched is None:
            source, mapped = _open(item, storage)
        else:
            source, mapped = pa.BufferReader(fetched.result()), False
        # Such a footer is not kept for others: it hides what the columns are.
        metadata = None
        if unscaled is not None:
            source, metadata = unscaled.opened(source, at_hand=mapped or fetched is not None)
        self._is_stored = unscaled is None or metadata is not None
        metadata = metadata or _footer(item, source)
        # Every file decides for itself: as dictionaries, mostly distinct values would take several times their size.
        worth = repeating_columns(metadata)
        self._file = pq.ParquetFile(
            source,
            metadata=metadata,
            memory_map=mapped,
            # A row group of a store comes in a few large requests side by side, unless that takes too much memory.
            pre_buffer=read_ahead
            and fetched is None
            and not is_local(item.path)
            and _largest_group(metadata) <= _MOST_PRE_BUFFERED,
            buffer_size=0 if mapped else max(_LEAST_BUFFER, min(_BUFFER, _BUFFERS // max(1, metadata.num_columns))),
            read_dictionary=[name for name in dictionary if name in worth],
        )
        self.rows = 0

    @property
    def row_count(self) -> int:
        """Rows of the input by the footer."""
        metadata = self._file.metadata
        first, last = self._item.groups or (0, metadata.num_row_groups)
        return sum(metadata.row_group(i).num_rows for i in range(first, min(last, metadata.num_row_groups)))

    @property
    def group_rows(self) -> list[int]:
        """Rows of each row group of the file."""
        metadata = self._file.metadata
        return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    def __enter__(self) -> FileReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close(force=True)

    def batches(
        self,
        fields: Sequence[FieldJson],
        mapping: NameMapping | None,
        positions: Sequence[Positions],
        equality: Sequence[Deletes],
    ) -> Iterator[list[pa.Array]]:
        """One array a field, in order, for the rows that are not deleted, or for all where one asks which are."""
        schema = with_ids(self._file.schema_arrow, mapping, self._item.path)
        plan = ColumnPlan(schema, fields if self._is_stored else [scaled(field) for field in fields], self._item)
        place = {field["id"]: i for i, field in enumerate(fields)}
        source = self._stream(schema, plan)
        for start, batch in _gathered(source) if equality else source:
            self.rows += batch.num_rows
            arrays = plan.arrays(batch, start)
            if not self._is_stored:
                arrays = [_unscaled(array, field) for array, field in zip(arrays, fields, strict=True)]
            masks = [keep_mask(deleted, start, batch.num_rows) for deleted in positions]
            masks += [deleted.keep_mask([arrays[place[i]] for i in deleted.ids]) for deleted in equality]
            shown = place.get(DELETED)
            yield _kept(arrays, masks) if shown is None else _marked(arrays, masks, shown)

    def deleted(
        self, fields: Sequence[FieldJson], mapping: NameMapping | None, equality: Sequence[Deletes]
    ) -> Positions:
        """The positions of rows that ``equality`` takes out, from the compared ``fields`` alone."""
        schema = with_ids(self._file.schema_arrow, mapping, self._item.path)
        plan = ColumnPlan(schema, fields, self._item)
        place = {field["id"]: i for i, field in enumerate(fields)}
        found = [np.zeros(0, np.int64)]
        for start, batch in _gathered(self._stream(schema, plan)):
            arrays = plan.arrays(batch, start)
            for deletes in equality:
                keep = deletes.keep_mask([arrays[place[i]] for i in deletes.ids])
                found += [] if keep is None else [np.flatnonzero(~keep) + start]
        return np.concatenate(found)

    def head(self, fields: Sequence[FieldJson], mapping: NameMapping | None, rows: int) -> list[pa.Array]:
        """One array a field of at most ``rows`` rows from the beginning of the input, deleted ones included."""
        schema = with_ids(self._file.schema_arrow, mapping, self._item.path)
        plan = ColumnPlan(schema, fields, self._item)
        columns = [schema.field(i).name for i in plan.indices]
        first = (self._item.groups or (0, 0))[0]
        if first >= self._file.metadata.num_row_groups:
            return []
        batches = self._file.iter_batches(rows, row_groups=[first], columns=columns, use_threads=False)
        batch = next(iter(batches), None)
        return [] if batch is None else plan.arrays(batch, 0)

    def _stream(self, schema: pa.Schema, plan: ColumnPlan) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches with the position of their first row in the file."""
        metadata = self._file.metadata
        first, last = self._item.groups or (0, metadata.num_row_groups)
        groups = [metadata.row_group(i) for i in range(min(last, metadata.num_row_groups))]
        start = sum(group.num_rows for group in groups[:first])
        columns = [schema.field(i).name for i in plan.indices]
        batch_bytes = max(_BATCH_BYTES, min(_WIDE_BYTES, _COLUMN_BYTES * len(columns)))
        source: Iterable[pa.RecordBatch]
        for numbers, batch_rows in _steps(groups, first, batch_bytes):
            if batch_rows is None:
                source = self._file.read_row_groups(numbers, columns=columns, use_threads=False).to_batches()
            else:
                source = self._file.iter_batches(batch_rows, row_groups=numbers, columns=columns, use_threads=False)
            for batch in source:
                yield start, batch
                start += batch.num_rows


def _steps(
    groups: Sequence[pq.RowGroupMetaData], first: int, batch_bytes: int
) -> Iterator[tuple[list[int], int | None]]:
    """Row groups from ``first`` on that are read together: small ones in one piece, others with rows of a batch.

    Each large one has batches of its own size, since rows of one may be much longer than those of the next.
    """
    together: list[int] = []
    room_rows, room_bytes = _BATCH_ROWS, _WHOLE_BYTES
    for number, group in enumerate(groups[first:], start=first):
        rows, size = group.num_rows, group.total_byte_size
        if rows > room_rows or size > room_bytes:
            if together:
                yield together, None
            together, room_rows, room_bytes = [], _BATCH_ROWS, _WHOLE_BYTES
        if rows > _BATCH_ROWS or size > _WHOLE_BYTES:
            yield [number], max(1, min(_BATCH_ROWS, batch_bytes * rows // max(1, size)))
        elif rows:
            together.append(number)
            room_rows, room_bytes = room_rows - rows, room_bytes - size
    if together:
        yield together, None


def _gathered(batches: Iterable[tuple[int, pa.RecordBatch]]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches with their positions, put together as long as they stay small: a look-up costs more than its rows."""
    waiting: list[pa.RecordBatch] = []
    first, sizes, rows = 0, BatchSizes(), 0
    for start, batch in batches:
        first = first if waiting else start
        waiting.append(batch)
        sizes.add(batch)
        rows += batch.num_rows
        if sizes.total >= _GATHERED_BYTES or rows >= _GATHERED_ROWS:
            yield first, _one(waiting)
            waiting, sizes, rows = [], BatchSizes(), 0
    if waiting:
        yield first, _one(waiting)


def _one(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches()[0]


class ColumnPlan:
    """Which top-level columns of a file to read, and how each becomes the table's."""

    def __init__(self, schema: pa.Schema, fields: Sequence[FieldJson], item: Input) -> None:
        found = {number: i for i, field in enumerate(schema) if (number := field_id(field)) not in NEVER_STORED}
        self.indices = sorted(found[f["id"]] for f in fields if f["id"] in found)
        self._names = [schema.field(i).name for i in self.indices]
        self._schema = schema
        self._steps: list[tuple[str | None, Align | None, FieldJson]] = []
        for field in fields:
            index = found.get(field["id"])
            source = None if index is None else schema.field(index)
            step = None if source is None else aligner(source, field)
            self._steps.append((None if source is None else source.name, step, field))
        self._item = item

    def arrays(self, batch: pa.RecordBatch, start: int) -> list[pa.Array]:
        """The columns of ``batch``, whose first row is at position ``start``, as the table has them."""
        found = [self._array(batch, *step) for step in self._steps]
        for place, (_, _, field) in enumerate(self._steps):
            if field["id"] in FROM_PLACE:
                found[place] = inherited(field["id"], found[place], self._item, start)
        return found

    def _array(self, batch: pa.RecordBatch, name: str | None, step: Align | None, field: FieldJson) -> Any:
        if name is None:
            value = self._item.constants.get(str(field["id"]), field.get("initial-default"))
            return constant(value, field, batch.num_rows)
        array = batch.column(batch.schema.get_field_index(name))
        return step(array) if step else array


def _kept(arrays: list[pa.Array], masks: Sequence[Mask | None]) -> list[pa.Array]:
    found = [mask for mask in masks if mask is not None]
    if not found:
        return arrays
    keep = pa.array(np.logical_and.reduce(found))
    return [array.filter(keep) for array in arrays]


def _marked(arrays: list[pa.Array], masks: Sequence[Mask | None], place: int) -> list[pa.Array]:
    """All rows; the column at ``place`` says which are deleted."""
    found = [mask for mask in masks if mask is not None]
    deleted = ~np.logical_and.reduce(found) if found else np.zeros(len(arrays[place]), np.bool_)
    return [*arrays[:place], pa.array(deleted), *arrays[place + 1 :]]


def _unscaled(array: pa.Array, field: FieldJson) -> pa.Array:
    """Decimals as integers where the field asks for it."""
    plain = scaled(field)
    step = None if plain == field else aligner(arrow_field(plain), field)
    return step(array) if step else array


def _footer(item: Input, source: pa.NativeFile) -> pq.FileMetaData:
    metadata = FOOTERS.get(item.path, item.size)
    if metadata is None:
        metadata = pq.read_metadata(source)
        FOOTERS.put(item.path, item.size, metadata)
    return metadata


def _open(item: Input, storage: Mapping[str, str]) -> tuple[pa.NativeFile, bool]:
    """The file, and whether it is mapped into memory: mapped pages of large files would count as the worker's."""
    filesystem, path = resolve(item.path, storage)
    if is_local(item.path):
        mapped = item.size <= WHOLE_FILE_BYTES
        return (pa.memory_map(path) if mapped else pa.OSFile(path)), mapped
    return filesystem.open_input_file(path), False


def _largest_group(metadata: pq.FileMetaData) -> int:
    """Bytes in the file."""
    groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
    return max((sum(g.column(i).total_compressed_size for i in range(g.num_columns)) for g in groups), default=0)


def dictionary_columns(item: Input, storage: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """What a first file tells of its columns: paths worth a dictionary, and those of them that are text.

    The names are the file's.
    """
    with FileReader(item, storage, (), read_ahead=False) as reader:
        found = repeating_columns(reader._file.metadata)
    return set(found), {name for name, is_text in found.items() if is_text}


def repeating_columns(metadata: pq.FileMetaData) -> dict[str, bool]:
    """Paths whose values repeat, by the first row group, each with whether it is text.

    Mostly distinct values show in two ways: the dictionary takes more than a third of the column chunk, or the writer
    gave it up at its size limit, after which a value takes more than the few bytes of an index. For them, writing a
    dictionary would cost time and be given up again.
    """
    if metadata.num_row_groups == 0:
        return {}
    group = metadata.row_group(0)
    chunks = [group.column(i) for i in range(group.num_columns)]
    return {c.path_in_schema: c.physical_type == "BYTE_ARRAY" for c in chunks if _repeats(c)}


def _repeats(chunk: pq.ColumnChunkMetaData) -> bool:
    if not chunk.has_dictionary_page or not chunk.total_compressed_size or not chunk.num_values:
        return False
    dictionary = chunk.data_page_offset - chunk.dictionary_page_offset
    index_bytes = (chunk.total_uncompressed_size - dictionary) / chunk.num_values
    return bool(dictionary / chunk.total_compressed_size < 0.34 and index_bytes < _MAX_INDEX_BYTES)
