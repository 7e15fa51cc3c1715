"""Packing of small files whose columns without dictionaries keep their pages; the other columns are decoded.

Such columns (prices, comments) are most of what a writer like Spark stores, and the dearest to decode, encode and
compress. A row group of the new file takes whole files; Arrow writes its other columns in memory, and the chunks of
both go into the file in the order of the schema. Of a file whose pages do not fit, Arrow writes new ones.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from .annotations import Sink
from .errors import reading, writing
from .fetching import Fetched, fetched_ahead
from .footer import MAGIC, Readable, chunk_range, column_meta, columns, nan_columns, read_footer, row_groups
from .joined_pages import ColumnPages, Order, column_pages, joined, order_of
from .lineage import FROM_PLACE
from .outputs import discard, open_output, read_metrics
from .probe import CODECS, fits
from .reader import FileReader
from .row_groups_needed import footer_of
from .rowgroups import Pieces, moved, opened, write_pieces
from .schema import Leaf, arrow_field, is_unordered, leaves
from .tasks import Field, Fields, Fragment, Input, WriteTask
from .thrift import I16, I64, LIST, STRUCT, Struct, encode
from .unscaled import precision_and_scale, scales, with_integers
from .unscaled_footer import UnscaledFooters
from .writer_columns import dictionaries, fitted, nan_counts_of, writer_field, writer_options

_LARGEST_INPUT = 8 << 20
_LEAST_SHARE = 0.2
"""Of the first file's bytes: below this, keeping pages saves too little."""
_MOST_DECODED = 2
"""Row groups in memory that the other columns of one file may take."""
_INT32, _INT64 = 1, 2


class TooLargeError(Exception):
    """The other columns of a small file take too much memory once decoded: the rewrite is done the usual way."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A column whose pages are kept: its field and leaf, and how its values are compared."""

    field: Field
    leaf: Leaf
    order: Order


@dataclass(slots=True)
class _Group:
    """What waits for the next row group."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    kept: dict[int, list[ColumnPages]] = field(default_factory=dict)
    rows: int = 0
    decoded: int = 0
    stored: int = 0


def kept_columns(task: WriteTask) -> list[Kept]:
    """The columns whose pages are worth keeping, by the first file; none where the task does not allow it."""
    output = task.output
    small = min(_LARGEST_INPUT, output.row_group_stored // 2)
    plain = not (task.position_deletes or task.equality_deletes or output.bloom_filters or output.level is not None)
    alone = task.decimals != "integers" or any(is_unordered(leaf.type) for leaf in leaves(task.fields))
    if not plain or alone or len(task.inputs) < 2 or output.codec not in CODECS:
        return []
    if any(item.groups is not None or item.deleted or item.size > small for item in task.inputs):
        return []
    first = task.inputs[0]
    with reading(first.path):
        if not _may_keep(footer_of(first, task.storage)):
            return []
    known = {leaf.id: leaf for leaf in leaves(task.fields) if leaf.id not in output.without_statistics}
    with reading(first.path), opened(first.path, task.storage) as source:
        footer = read_footer(source, source.size())
        found = []
        for one in task.fields:
            order = order_of(one["type"]) if isinstance(one["type"], str) else None
            if order is None or one["id"] not in known or one["id"] in FROM_PLACE:
                continue
            if pages_of_file(source, footer, one, task) is not None:
                found.append(Kept(one, known[one["id"]], order))
    share = sum(_stored(footer, kept.field) for kept in found) / max(1, first.size)
    return found if share >= _LEAST_SHARE else []


def _may_keep(metadata: pq.FileMetaData) -> bool:
    """Whether it is worth another look at a file, by a footer that is read anyway."""
    if not metadata.num_row_groups:
        return False
    group = metadata.row_group(0)
    chunks = [group.column(i) for i in range(group.num_columns)]
    kept = [c for c in chunks if not c.has_dictionary_page and c.has_offset_index and c.has_column_index]
    return sum(c.total_compressed_size for c in kept) >= _LEAST_SHARE * sum(c.total_compressed_size for c in chunks)


def pages_of_file(source: Readable, footer: Struct, one: Field, task: WriteTask) -> list[ColumnPages] | None:
    """The pages of a column in each row group of a file; None where they do not fit into the new file."""
    place = _place(footer, one)
    if place is None:
        return None
    codec = CODECS.index(task.output.codec)
    found = []
    for group in row_groups(footer):
        try:
            pages = column_pages(source, columns(group)[place], group[3][1], codec, task.output)
        except (IndexError, KeyError, ValueError):  # indexes that are none: nobody needs them to decode
            pages = None
        if pages is None:
            return None
        found.append(pages)
    return found


def _place(footer: Struct, one: Field) -> int | None:
    """The number of the chunk of a top-level column that is stored as we store it."""
    if 7 not in footer:
        return None  # without orders nobody vouches for least and greatest values
    elements: list[Struct] = footer[2][1][1]
    leaf = left = 0
    for element in elements[1:]:
        children = element[5][1] if 5 in element else 0
        top, left = left == 0, max(0, left - 1) + children
        if top and not children and 9 in element and element[9][1] == one["id"]:
            return leaf if _is_stored_alike(element, one) else None
        leaf += not children
    return None


def _is_stored_alike(element: Struct, one: Field) -> bool:
    digits = precision_and_scale(one["type"])
    if digits is not None:
        wanted = _INT32 if digits[0] <= 9 else _INT64
        if digits[0] > 18 or element[1][1] != wanted:
            return False
    return element[3][1] == (0 if one["required"] else 1) and fits(element, one["type"])


def _stored(footer: Struct, one: Field) -> int:
    place = _place(footer, one)
    return 0 if place is None else sum(int(column_meta(columns(g)[place])[7][1]) for g in row_groups(footer))


def rewritten(task: WriteTask, kept: Sequence[Kept]) -> Fragment:
    """As ``rewrite``. Raises TooLargeError, which leaves no file behind, and KernelError."""
    location, sink = open_output(task.output, task.storage)
    try:
        writer = _JoinedWriter(task, kept, sink)
        for item, fetched in fetched_ahead(task.inputs, task.storage):
            with reading(item.path):
                writer.add(item, fetched)
        with writing(location):
            writer.close()
            size = sink.tell()
            sink.close()
    except BaseException:
        discard(location, sink, task.storage)
        raise
    rows, nans = writer.rows, writer.nan_counts
    found = read_metrics(location, size, writer.leaves, task.modes, nans, task.storage) if task.final else None
    return Fragment(task.tag, location, rows, size, rows, nans, found, writer.nan_groups)


class _JoinedWriter:
    """One output file of files that have no deleted rows."""

    def __init__(self, task: WriteTask, kept: Sequence[Kept], sink: Sink) -> None:
        self._task, self._kept, self._sink = task, {one.field["id"]: one for one in kept}, sink
        self.leaves = leaves(task.fields)
        self._worth, self._text = dictionaries(task)
        self._fields = with_integers(task.fields, set())
        self._others = [one for one in self._fields if one["id"] not in self._kept]
        self._schema = pa.schema([writer_field(one, self._text) for one in self._others])
        decimals = scales(self._others)
        self._unscaled = UnscaledFooters(decimals) if decimals else None
        self._nan_leaves = [leaf for leaf in nan_columns(self.leaves) if leaf.names]
        self._position, self._written, self._read = len(MAGIC), 0, 0
        self._groups: list[Struct] = []
        self._pieces: list[Pieces] = []
        self._waiting = _Group()
        self.rows = 0
        self.nan_counts = {str(leaf.id): 0 for leaf in self._nan_leaves}
        self.nan_groups: list[dict[str, int]] = []
        sink.write(MAGIC)

    def add(self, item: Input, fetched: Fetched | None) -> None:
        """All rows of a file."""
        output = self._task.output
        growth = self._read / max(1, self._written) if self._written else 1.0
        full = self._waiting.stored + item.size > output.row_group_stored * growth
        if self._waiting.rows and (full or self._waiting.decoded >= output.row_group_bytes):
            self._flush()
        with opened(item.path, self._task.storage) if fetched is None else _Buffer(fetched.result()) as source:
            footer = read_footer(source, source.size())
            pages = {number: pages_of_file(source, footer, one.field, self._task) for number, one in self._kept.items()}
        rows = sum(group[3][1] for group in row_groups(footer))
        anew = [one.field for number, one in self._kept.items() if pages[number] is None] if rows else []
        made = self._read_rows(item, fetched, anew, rows)
        for number in self._kept if rows else ():
            parts = pages[number] or made[number]
            self._waiting.kept.setdefault(number, []).extend(parts)
            self._waiting.decoded += sum(part.meta[6][1] for part in parts)
        self._waiting.rows += rows
        self._waiting.stored += item.size

    def _read_rows(self, item: Input, fetched: Fetched | None, anew: Fields, rows: int) -> dict[int, list[ColumnPages]]:
        """Take the other columns of a file, and give the pages of ``anew``, written for it."""
        if not self._others and not anew:
            return {}
        most = self._waiting.decoded + _MOST_DECODED * self._task.output.row_group_bytes
        columns_anew: list[list[pa.Array]] = []
        with FileReader(item, self._task.storage, sorted(self._text), fetched, unscaled=self._unscaled) as reader:
            for arrays in reader.batches([*self._others, *anew], self._task.name_mapping, [], []):
                own = [fitted(array, one) for array, one in zip(arrays, self._schema, strict=False)]
                if own:
                    self._waiting.batches.append(pa.RecordBatch.from_arrays(own, schema=self._schema))
                columns_anew.append(list(arrays[len(own) :]))
                self._waiting.decoded += sum(array.nbytes for array in own)
                if self._waiting.decoded > most:
                    raise TooLargeError
        return {
            one["id"]: self._pages_anew(one, [part[i] for part in columns_anew], rows) for i, one in enumerate(anew)
        }

    def _pages_anew(self, one: Field, parts: list[pa.Array], rows: int) -> list[ColumnPages]:
        schema = pa.schema([arrow_field(one)])
        raw, footer = self._in_memory(pa.table([pa.chunked_array(parts, schema.field(0).type)], schema=schema), ())
        source = pa.BufferReader(raw)
        codec = CODECS.index(self._task.output.codec)
        found = column_pages(source, columns(row_groups(footer)[0])[0], rows, codec, self._task.output, anew=True)
        assert found is not None, "pages of our own writer can be joined"
        return [found]

    def _in_memory(self, table: pa.Table, worth: Sequence[str]) -> tuple[pa.Buffer, Struct]:
        """A Parquet file of one row group and its footer."""
        sink = pa.BufferOutputStream()
        known = [leaf for leaf in self.leaves if leaf.path.split(".")[0] in table.schema.names]
        options = writer_options(self._task.output, [*worth], known) | {"store_decimal_as_integer": True}
        with pq.ParquetWriter(sink, table.schema, **options) as writer:
            writer.write_table(table, row_group_size=table.num_rows)
        raw = sink.getvalue()
        return raw, read_footer(pa.BufferReader(raw), raw.size)

    def _flush(self) -> None:
        group, self._waiting = self._waiting, _Group()
        others: list[Struct] = []
        raw: pa.Buffer | None = None
        nans: dict[str, int] = {}
        if group.batches:
            table = pa.Table.from_batches(group.batches, schema=self._schema).unify_dictionaries()
            nans = nan_counts_of(table, self._nan_leaves)
            worth = [leaf.path for leaf in self.leaves if leaf.path in self._worth and leaf.id not in self._kept]
            raw, footer = self._in_memory(table, worth)
            others = list(columns(row_groups(footer)[0]))
        begin, chunks = self._position, list[Struct]()
        for one in self._fields:
            if one["id"] in self._kept:
                chunks.append(self._put_kept(self._kept[one["id"]], group.kept[one["id"]]))
                continue
            for _ in leaves([one]):
                assert raw is not None
                chunks.append(self._put_other(raw, others.pop(0)))
        self._end_group(group.rows, begin, chunks)
        self._read += group.stored
        self._written += self._position - begin
        self.nan_groups.append(nans)
        for number, count in nans.items():
            self.nan_counts[number] += count
        del group
        pa.default_memory_pool().release_unused()

    def _put_kept(self, one: Kept, parts: Sequence[ColumnPages]) -> Struct:
        piece = joined(parts, [one.field["name"].encode()], self._position, one.order)
        for part in parts:
            self._write(part.pages)
        self._pieces.append(piece)
        return piece.chunk

    def _put_other(self, raw: pa.Buffer, chunk: Struct) -> Struct:
        start, end = chunk_range(chunk)
        self._pieces.append(moved(chunk, pa.BufferReader(raw), self._position - start))
        self._write(raw.slice(start, end - start).to_pybytes())
        return chunk

    def _end_group(self, rows: int, begin: int, chunks: list[Struct]) -> None:
        size = sum(column_meta(chunk)[6][1] for chunk in chunks)
        self._groups.append(
            {
                1: (LIST, (STRUCT, chunks)),
                2: (I64, size),
                3: (I64, rows),
                5: (I64, begin),
                6: (I64, self._position - begin),
                7: (I16, len(self._groups)),
            }
        )
        self.rows += rows

    def close(self) -> None:
        """Write what waits, the indexes and the footer."""
        if self._waiting.rows:
            self._flush()
        write_pieces(self._pieces, self._sink, self._position)
        footer = _footer_of(self._task) | {3: (I64, self.rows), 4: (LIST, (STRUCT, self._groups))}
        tail = encode(footer)
        self._sink.write(tail + struct.pack("<I", len(tail)) + MAGIC)

    def _write(self, data: bytes) -> None:
        self._sink.write(data)
        self._position += len(data)


class _Buffer:
    """A fetched file with the calls of ``opened``."""

    def __init__(self, data: pa.Buffer) -> None:
        self._data = data

    def __enter__(self) -> _Buffer:
        return self

    def __exit__(self, *_: object) -> None: ...

    def size(self) -> int:
        return int(self._data.size)

    def read_at(self, length: int, offset: int) -> bytes:
        found: bytes = self._data.slice(offset, length).to_pybytes()
        return found


def _footer_of(task: WriteTask) -> Struct:
    """What a file of the task says beside its row groups."""
    sink = io.BytesIO()
    schema = pa.schema([arrow_field(one) for one in task.fields])
    pq.ParquetWriter(sink, schema, **writer_options(task.output, [], []), store_decimal_as_integer=True).close()
    raw = sink.getvalue()
    return read_footer(pa.BufferReader(raw), len(raw))
