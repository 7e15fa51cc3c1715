"""Pages of column chunks without an offset index, found by walking their headers.

PyIceberg, pyarrow and DuckDB write no offset index by default. Each page's header tells how long it is and how many
values it has, so that a few small reads replace decoding the whole chunk. Source: parquet.thrift, PageHeader.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .decoded import pages_of
from .footer import chunk_range, column_meta
from .pages import Pages, page_is_coded, page_values
from .ranges import Range
from .thrift import Reader, Struct

_HEADER = 512
"""Bytes read for a header at first; the statistics in it may make it longer."""
_LONGEST_HEADER = 64 << 10
LONG_CHUNK = 128 << 20
"""Shorter chunks have no page that is too large for the smallest heap of Spark."""
_MOST_HEADERS = 32
LEAST_CHUNK = 64 << 10
"""Smaller chunks, once decompressed, are read and decoded sooner than walked."""


class Source(Protocol):
    def read_at(self, size: int, start: int) -> bytes: ...


def walked(source: Source, chunk: Struct, rows: int) -> Pages | None:
    """The pages of a flat column's chunk of ``rows`` rows; None when its headers do not add up."""
    start, end = chunk_range(chunk)
    if max(end - start, column_meta(chunk)[6][1]) < LEAST_CHUNK:
        return None
    dictionary: Range | None = None
    ranges: list[Range] = []
    firsts: list[int] = []
    coded: list[bool] = []
    at, row = start, 0
    while at < end and row < rows:
        found = header_at(source, at, end)
        if found is None:
            return None
        header, size = found
        length = size + int(header[3][1])
        match header[1][1]:
            case 0 | 3:  # DATA_PAGE, DATA_PAGE_V2
                ranges.append((at, length))
                firsts.append(row)
                coded.append(page_is_coded(header))
                row += page_values(header)
            case 2 if not ranges:  # DICTIONARY_PAGE
                dictionary = (at, length)
            case _:
                return None
        at += length
    if row != rows or at > end or column_meta(chunk)[5][1] != rows:
        return None
    return Pages(dictionary, tuple(ranges), np.array(firsts, np.int64), whole=False, coded=tuple(coded))


def largest_page(source: Source, chunk: Struct) -> int:
    """Bytes of the largest page of a chunk once decompressed; an average of one too short to matter; 0 for unknown.

    Headers are read of long chunks alone, and of so many pages; what follows them counts as average.
    """
    left, count = int(column_meta(chunk)[6][1]), pages_of(chunk)
    if left < LONG_CHUNK or count == 1:
        return -(-left // count) if count else 0
    (at, end), largest, seen = chunk_range(chunk), 0, 0
    while at < end and left >= max(LONG_CHUNK, largest) and seen < _MOST_HEADERS:
        found = header_at(source, at, end)
        if found is None:
            break
        header, size = found
        largest, left = max(largest, int(header[2][1])), left - size - int(header[2][1])
        at, seen = at + size + int(header[3][1]), seen + 1
    return max(largest, left // (count - seen) if count > seen else 0)


def header_at(source: Source, at: int, end: int) -> tuple[Struct, int] | None:
    """The header of the page at ``at``, and how long it is; None for one that does not read as such."""
    size = _HEADER
    while size <= _LONGEST_HEADER:
        data = source.read_at(min(size, end - at), at)
        reader = Reader(data)
        try:
            header = reader.struct()
        except (IndexError, ValueError):
            size *= 8
            continue
        if reader.offset <= len(data) and 1 in header and 3 in header:
            return header, reader.offset
        size *= 8
    return None
