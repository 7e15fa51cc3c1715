"""Chosen rows of a Parquet column: which pages hold them, and a small Parquet file of just those pages to decode.

Arrow decodes whole column chunks. So the dictionary page and the wanted data pages, as they are in the file, become
the column chunk of a file in memory with a footer of its own; encodings, codecs, levels and nesting stay Arrow's work.
Without an offset index a column chunk counts as one page. Source: parquet.thrift, PageIndex.md.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from .errors import KernelError
from .footer import MAGIC, chunk_range, column_meta, columns
from .ranges import Range
from .thrift import BINARY, I32, I64, LIST, STRUCT, Reader, Struct, encode

Rows = npt.NDArray[np.int64]
_LONGEST_HEADER = 64 << 10
_BYTE_ARRAY = 6
_DATA_PAGES = (0, 3)
_DICTIONARY_CODES = (2, 8)
"""PLAIN_DICTIONARY and RLE_DICTIONARY."""
_DROPPED = (8, 10, 12, 13, 14, 15, 16, 17)
"""Of ColumnMetaData: key values, statistics, Bloom filter and other things that no longer fit fewer pages."""


@dataclass(frozen=True, slots=True)
class Column:
    """A top-level column: its part of the schema, and its leaves' numbers among the column chunks."""

    name: str
    field_id: int | None
    schema: tuple[Struct, ...]
    leaves: tuple[int, ...]
    repeated: tuple[bool, ...]
    """Of each leaf, whether a list or map is above it: its values are then not its rows."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Data pages of one column chunk: where they are, and their first rows in the row group.

    ``whole``: no offset index, so one range with everything, the dictionary included. ``coded`` says of each page
    whether it needs the dictionary; all of them do where nothing is said.
    """

    dictionary: Range | None
    ranges: tuple[Range, ...]
    firsts: Rows
    whole: bool
    coded: tuple[bool, ...] = ()

    def dictionary_for(self, chosen: Sequence[int]) -> Range | None:
        """The dictionary, None when no chosen page needs it."""
        return self.dictionary if not self.coded or any(self.coded[i] for i in chosen) else None


@dataclass(frozen=True, slots=True)
class Piece:
    """What is read of one column in one row group: the pages by leaf, and where the wanted rows are among theirs."""

    column: Column
    chunks: tuple[Struct, ...]
    pages: tuple[Pages, ...]
    chosen: tuple[tuple[int, ...], ...]
    rows: int
    take: Rows

    def ranges(self) -> list[Range]:
        """Dictionary and pages, leaf after leaf."""
        return [r for pages, chosen in zip(self.pages, self.chosen, strict=True) for r in _ranges(pages, chosen)]


def schema_columns(footer: Struct) -> list[Column]:
    """The top-level columns of a file."""
    elements: list[Struct] = footer[2][1][1]
    found, at, leaf = [], 1, 0
    for _ in range(elements[0][5][1]):
        start = at
        at, flags = _subtree(elements, at, above=False)
        element = elements[start]
        found.append(
            Column(
                name=element[4][1].decode(),
                field_id=element[9][1] if 9 in element else None,
                schema=tuple(elements[start:at]),
                leaves=tuple(range(leaf, leaf + len(flags))),
                repeated=tuple(flags),
            )
        )
        leaf += len(flags)
    return found


def _subtree(elements: Sequence[Struct], at: int, *, above: bool) -> tuple[int, list[bool]]:
    element = elements[at]
    repeated = above or (3 in element and element[3][1] == 2)
    count = element[5][1] if 5 in element else 0
    at += 1
    if not count:
        return at, [repeated]
    flags: list[bool] = []
    for _ in range(count):
        at, below = _subtree(elements, at, above=repeated)
        flags += below
    return at, flags


def index_range(chunk: Struct) -> Range | None:
    """Where a column chunk's offset index is."""
    return (chunk[4][1], chunk[5][1]) if 4 in chunk and 5 in chunk and chunk[5][1] else None


def pages_of(chunk: Struct, index: bytes | memoryview | None) -> Pages:
    """The pages of a column chunk, by its offset index if it has one."""
    start, end = chunk_range(chunk)
    if index is None:
        return Pages(None, ((start, end - start),), np.zeros(1, np.int64), whole=True)
    locations = Reader(bytes(index)).struct()[1][1][1]
    ranges = tuple((int(p[1][1]), int(p[2][1])) for p in locations)
    firsts = np.array([p[3][1] for p in locations], np.int64)
    first = ranges[0][0]
    dictionary = (start, first - start) if first > start else None
    return Pages(dictionary, ranges, firsts, whole=False, coded=_coded(column_meta(chunk), len(ranges)))


def _coded(meta: Struct, pages: int) -> tuple[bool, ...]:
    """Which pages have codes of the dictionary, by the chunk's statistics: a writer that gives it up never returns.

    What they really have is checked when they were read (``dictionaries_missed``).
    """
    counts = [s for s in meta[13][1][1] if s[1][1] in _DATA_PAGES] if 13 in meta else []
    if sum(s[3][1] for s in counts) != pages:
        return ()
    coded = sum(s[3][1] for s in counts if s[2][1] in _DICTIONARY_CODES)
    return tuple(i < coded for i in range(pages))


def choose(column: Column, group: Struct, pages: Sequence[Pages], rows: Rows) -> Piece:
    """The pages that hold ``rows`` (sorted, counted within the row group) of one column.

    Leaves of a nested column have pages of their own: what is read ends where pages of all leaves end.
    """
    total = int(group[3][1])
    firsts = reduce(np.intersect1d, [p.firsts for p in pages])
    ends = np.append(firsts[1:], total)
    segments = np.searchsorted(firsts, rows, side="right") - 1
    wanted, place = np.unique(segments, return_inverse=True)
    counts = ends[wanted] - firsts[wanted]
    starts = np.concatenate([[0], np.cumsum(counts)])
    chosen = tuple(_pages_between(p, firsts[wanted], ends[wanted]) for p in pages)
    chunks = columns(group)
    return Piece(
        column=column,
        chunks=tuple(chunks[leaf] for leaf in column.leaves),
        pages=tuple(pages),
        chosen=chosen,
        rows=int(starts[-1]),
        take=starts[place] + rows - firsts[segments],
    )


def _pages_between(pages: Pages, firsts: Rows, ends: Rows) -> tuple[int, ...]:
    low = np.searchsorted(pages.firsts, firsts)
    high = np.searchsorted(pages.firsts, ends)
    return tuple(i for a, b in zip(low.tolist(), high.tolist(), strict=True) for i in range(a, b))


def _ranges(pages: Pages, chosen: Sequence[int]) -> list[Range]:
    dictionary = pages.dictionary_for(chosen)
    return [*([] if dictionary is None else [dictionary]), *(pages.ranges[i] for i in chosen)]


def dictionaries_missed(piece: Piece, parts: Sequence[memoryview]) -> bool:
    """Whether a page of a piece that was read (``parts``, as its ranges) has codes of a dictionary that was not."""
    remaining = iter(parts)
    for pages, chosen in zip(piece.pages, piece.chosen, strict=True):
        found = [next(remaining) for _ in _ranges(pages, chosen)]
        if pages.dictionary is not None and pages.dictionary_for(chosen) is None:
            headers = (Reader(bytes(page[:_LONGEST_HEADER])).struct() for page in found)
            if any(page_is_coded(header) for header in headers):
                return True
    return False


def with_dictionaries(piece: Piece) -> Piece:
    """The same pages with all dictionaries."""
    return replace(piece, pages=tuple(replace(pages, coded=()) for pages in piece.pages))


def decode(pieces: Sequence[Piece], bodies: Sequence[Sequence[memoryview]], footer: Struct) -> Any:
    """The wanted rows of one column out of ``pieces`` (one a row group), as an Arrow chunked array.

    ``bodies`` are the bytes of each piece's ranges. Raises KernelError for pages that do not give the rows they should.
    """
    body = bytearray(MAGIC)
    groups, base, take = [], 0, []
    for piece, parts in zip(pieces, bodies, strict=True):
        groups.append(_row_group(body, piece, parts))
        take.append(base + piece.take)
        base += piece.rows
    schema = [{4: (BINARY, b"schema"), 5: (I32, 1)}, *pieces[0].column.schema]
    made: Struct = {1: (I32, 2), 2: (LIST, (STRUCT, schema)), 3: (I64, base), 4: (LIST, (STRUCT, groups))}
    if 6 in footer:
        made[6] = footer[6]
    tail = encode(made)
    body += tail + struct.pack("<I", len(tail)) + MAGIC
    coded = [pieces[0].column.name] if all(_only_codes(piece) for piece in pieces) else None
    file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(body)), pre_buffer=False, read_dictionary=coded)
    table = file.read(use_threads=False)
    if table.num_rows != base:
        raise KernelError("ICEBERG_BAD_DATA", f"pages of column {pieces[0].column.name} hold other rows than indexed")
    field, taken = table.schema.field(0), table.column(0).take(pa.array(np.concatenate(take)))
    if coded:
        field, taken = field.with_type(field.type.value_type), taken.cast(field.type.value_type)
    return field, taken


def _only_codes(piece: Piece) -> bool:
    """Whether a column of flat text has nothing but a dictionary's codes: text need not be made of rows left out."""
    if len(piece.chunks) != 1 or piece.column.repeated[0] or len(piece.column.schema) != 1:
        return False
    meta = column_meta(piece.chunks[0])
    counts = [s for s in meta[13][1][1] if s[1][1] in _DATA_PAGES] if 13 in meta else []
    return meta[1][1] == _BYTE_ARRAY and bool(counts) and all(s[2][1] in _DICTIONARY_CODES for s in counts)


def _row_group(body: bytearray, piece: Piece, parts: Sequence[memoryview]) -> Struct:
    begin = len(body)
    chunks, remaining = [], iter(parts)
    leaves = zip(piece.chunks, piece.pages, piece.chosen, piece.column.repeated, strict=True)
    for chunk, pages, chosen, repeated in leaves:
        chunks.append(_chunk(body, chunk, pages, chosen, remaining, rows=None if repeated else piece.rows))
    return {1: (LIST, (STRUCT, chunks)), 2: (I64, len(body) - begin), 3: (I64, piece.rows)}


def _chunk(
    body: bytearray,
    chunk: Struct,
    pages: Pages,
    chosen: Sequence[int],
    parts: Iterator[memoryview],
    *,
    rows: int | None,
) -> Struct:
    meta = {k: v for k, v in column_meta(chunk).items() if k not in _DROPPED}
    start = len(body)
    dictionary = next(parts) if pages.dictionary_for(chosen) is not None else b""
    body += dictionary
    data = len(body)
    values = 0
    for _ in chosen:
        page = next(parts)
        if rows is None and not pages.whole:
            header = Reader(bytes(page[:_LONGEST_HEADER])).struct()
            values += page_values(header)
        body += page
    if pages.whole:
        original = meta.get(11, (I64, 0))[1]
        data = start + (meta[9][1] - original if 0 < original < meta[9][1] else 0)
        values = meta[5][1]
    meta[5] = (I64, values if rows is None or pages.whole else rows)
    meta[6] = meta[7] = (I64, len(body) - start)
    meta[9] = (I64, data)
    meta.pop(11, None)
    if data > start:
        meta[11] = (I64, start)
    return {2: (I64, start), 3: (STRUCT, meta)}


def page_values(header: Struct) -> int:
    """Values, NULLs among them, of a data page of version 1 or 2."""
    inner: Mapping[int, tuple[int, Any]] = header[5][1] if 5 in header else header[8][1]
    return int(inner[1][1])


def page_is_coded(header: Struct) -> bool:
    """Whether a data page has codes of the chunk's dictionary."""
    encoding = header[5][1][2][1] if 5 in header else header[8][1][4][1]
    return encoding in _DICTIONARY_CODES


@dataclass(slots=True)
class FileIndex:
    """A file's footer, its columns, and the offset indexes that were read so far."""

    footer: Struct
    columns: list[Column]
    groups: list[Struct]
    starts: Rows
    pages: dict[tuple[int, int], Pages] = field(default_factory=dict)

    @classmethod
    def of(cls, footer: Struct) -> FileIndex:
        groups: list[Struct] = footer[4][1][1] if 4 in footer else []
        counts = np.array([group[3][1] for group in groups], np.int64)
        return cls(footer, schema_columns(footer), groups, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]))

    def by_id(self) -> dict[int | None, Column]:
        """Columns by field id."""
        return {column.field_id: column for column in self.columns}
