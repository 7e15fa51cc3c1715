"""Column chunks of several row groups as one chunk, their pages copied as they are.

This works for chunks without a dictionary, of which a chunk has one at most: writers give it up for values that hardly
repeat. Each must have the page indexes, which are put together too. Source: parquet.thrift (ColumnMetaData, PageHeader,
OffsetIndex, ColumnIndex, Statistics).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .footer import Readable, chunk_range, column_meta
from .page_headers import header_at
from .rowgroups import Pieces
from .tasks import Output
from .thrift import BINARY, I32, I64, LIST, STRUCT, TRUE, Struct, encode, read_struct

_NO_DICTIONARY = frozenset({0, 3, 4, 5, 6, 7, 9})
"""PLAIN, RLE and BIT_PACKED (of levels), the DELTA encodings, BYTE_STREAM_SPLIT."""
_LEAST_ROWS, _LEAST_BYTES = 4096, 16 << 10
"""Of a page on average: pages that are smaller than both make reading slower than it was written."""
_DATA_PAGE, _DATA_PAGE_V2 = 0, 3
_UNORDERED, _ASCENDING, _DESCENDING = range(3)
_TYPE, _ENCODINGS, _PATH, _CODEC, _VALUES, _PLAIN_BYTES, _BYTES, _PAGES_AT = 1, 2, 3, 4, 5, 6, 7, 9
_DICTIONARY_AT, _STATISTICS, _ENCODING_STATS, _SIZES = 11, 12, 13, 16
_NULLS, _MAX, _MIN, _MAX_EXACT, _MIN_EXACT = 3, 5, 6, 7, 8
_LOCATIONS, _PLAIN_SIZES = 1, 2
_NULL_PAGES, _MINS, _MAXES, _ORDER, _NULL_COUNTS = 1, 2, 3, 4, 5

Order = Callable[[bytes], tuple[int, bytes]]
"""What the plain bytes of a value become to be compared."""


def order_of(iceberg: str) -> Order | None:
    """How the values of a column are ordered; None for types whose pages are not joined."""
    if iceberg in ("string", "binary", "boolean"):
        return lambda raw: (0, raw)
    whole = iceberg in ("int", "long", "date") or iceberg.startswith(("time", "decimal"))
    return (lambda raw: (int.from_bytes(raw, "little", signed=True), b"")) if whole else None


@dataclass(frozen=True, slots=True)
class ColumnPages:
    """The pages of one column in one row group of ``rows`` rows, without a dictionary."""

    pages: bytes
    meta: Struct
    offsets: Struct
    index: Struct
    rows: int


def column_pages(
    source: Readable, chunk: Struct, rows: int, codec: int, output: Output, *, anew: bool = False
) -> ColumnPages | None:
    """The pages of a flat column's chunk; None for those that do not fit into ``output`` as they are.

    Those that were written ``anew`` fit, however few rows there are.
    """
    meta = column_meta(chunk)
    if not all(number in chunk for number in (4, 5, 6, 7)) or 8 in chunk or 9 in chunk:
        return None
    known: Struct = meta[_STATISTICS][1] if _STATISTICS in meta else {}
    without_bounds = not (_MIN in known and _MAX in known) and not (_NULLS in known and known[_NULLS][1] == rows)
    encodings = set(meta[_ENCODINGS][1][1])
    with_dictionary = (_DICTIONARY_AT in meta and meta[_DICTIONARY_AT][1] > 0) or not encodings <= _NO_DICTIONARY
    if with_dictionary or meta[_CODEC][1] != codec or meta[_VALUES][1] != rows or without_bounds:
        return None
    start, end = chunk_range(chunk)
    offsets = read_struct(source.read_at(chunk[5][1], chunk[4][1]))
    index = read_struct(source.read_at(chunk[7][1], chunk[6][1]))
    if not _fit(meta, offsets, index, rows, (start, end), output) and not anew:
        return None
    found = header_at(source, start, end)
    wanted = _DATA_PAGE if output.page_version == "1.0" else _DATA_PAGE_V2
    if found is None or found[0][1][1] != wanted:
        return None
    pages = source.read_at(end - start, start)
    moved = [{**page, 1: (I64, page[1][1] - start)} for page in offsets[_LOCATIONS][1][1]]
    offsets[_LOCATIONS] = (LIST, (STRUCT, moved))
    return ColumnPages(pages, meta, offsets, index, rows) if len(pages) == end - start else None


def _fit(meta: Struct, offsets: Struct, index: Struct, rows: int, place: tuple[int, int], output: Output) -> bool:
    """Whether the pages fill the chunk without a gap, and are neither too large nor too small."""
    locations: list[Struct] = offsets[_LOCATIONS][1][1]
    count = len(locations)
    if not count or any(len(index[part][1][1]) != count for part in (_NULL_PAGES, _MINS, _MAXES)):
        return False
    begins = [page[1][1] for page in locations]
    ends = [page[1][1] + page[2][1] for page in locations]
    firsts = [page[3][1] for page in locations]
    if begins[0] != place[0] or ends[-1] != place[1] or begins[1:] != ends[:-1] or firsts[0] != 0:
        return False
    most = max(after - before for before, after in itertools.pairwise([*firsts, rows]))
    size = meta[_PLAIN_BYTES][1] / count
    large_enough = rows / count >= _LEAST_ROWS or size >= _LEAST_BYTES
    return most <= output.page_rows and size <= 2 * output.page_bytes and large_enough


def joined(parts: Sequence[ColumnPages], path: Sequence[bytes], position: int, order: Order) -> Pieces:
    """The chunk of ``parts`` one behind the other, whose first page will be at ``position``."""
    metas = [part.meta for part in parts]

    def total(number: int) -> tuple[int, int]:
        return (I64, sum(meta[number][1] for meta in metas))

    encodings = sorted({encoding for meta in metas for encoding in meta[_ENCODINGS][1][1]})
    meta: Struct = {
        _TYPE: metas[0][_TYPE], _ENCODINGS: (LIST, (I32, encodings)), _PATH: (LIST, (BINARY, list(path))),
        _CODEC: metas[0][_CODEC], _VALUES: total(_VALUES), _PLAIN_BYTES: total(_PLAIN_BYTES), _BYTES: total(_BYTES),
        _PAGES_AT: (I64, position), _STATISTICS: (STRUCT, _statistics(metas, order)),
    }  # fmt: skip
    if all(_ENCODING_STATS in each for each in metas):
        meta[_ENCODING_STATS] = (LIST, (STRUCT, _encoding_stats(metas)))
    if all(_SIZES in each and 1 in each[_SIZES][1] for each in metas):
        meta[_SIZES] = (STRUCT, {1: (I64, sum(each[_SIZES][1][1][1] for each in metas))})
    chunk: Struct = {2: (I64, 0), 3: (STRUCT, meta)}
    raw = encode(_index(parts, order))
    chunk |= {4: (I64, 0), 5: (I32, 0), 6: (I64, 0), 7: (I32, len(raw))}
    return Pieces(chunk, raw, _offsets(parts, position))


def _statistics(metas: Sequence[Struct], order: Order) -> Struct:
    """Least and greatest value where all parts with values know theirs."""
    known: list[Struct] = [meta[_STATISTICS][1] for meta in metas]
    found: Struct = {}
    if all(_NULLS in each for each in known):
        found[_NULLS] = (I64, sum(each[_NULLS][1] for each in known))
    pairs = zip(metas, known, strict=True)
    valued = [each for meta, each in pairs if _NULLS not in each or each[_NULLS][1] < meta[_VALUES][1]]
    if valued and all(_MIN in each and _MAX in each for each in valued):
        for number, exact, choose in ((_MAX, _MAX_EXACT, max), (_MIN, _MIN_EXACT, min)):
            found[number] = (BINARY, choose((each[number][1] for each in valued), key=order))
            if all(exact in each and each[exact][1] for each in valued):
                found[exact] = (TRUE, True)
    return found


def _encoding_stats(metas: Sequence[Struct]) -> list[Struct]:
    counts: dict[tuple[int, int], int] = {}
    for meta in metas:
        for each in meta[_ENCODING_STATS][1][1]:
            kind = each[1][1], each[2][1]
            counts[kind] = counts.get(kind, 0) + each[3][1]
    return [{1: (I32, page), 2: (I32, encoding), 3: (I32, count)} for (page, encoding), count in counts.items()]


def _offsets(parts: Sequence[ColumnPages], position: int) -> Struct:
    locations: list[Struct] = []
    row = 0
    for part in parts:
        for page in part.offsets[_LOCATIONS][1][1]:
            locations.append({1: (I64, page[1][1] + position), 2: page[2], 3: (I64, page[3][1] + row)})
        position, row = position + len(part.pages), row + part.rows
    found: Struct = {_LOCATIONS: (LIST, (STRUCT, locations))}
    if all(_PLAIN_SIZES in part.offsets for part in parts):
        found[_PLAIN_SIZES] = (LIST, (I64, [size for part in parts for size in part.offsets[_PLAIN_SIZES][1][1]]))
    return found


def _index(parts: Sequence[ColumnPages], order: Order) -> Struct:
    empty: list[bool] = [value for part in parts for value in part.index[_NULL_PAGES][1][1]]
    lows: list[bytes] = [value for part in parts for value in part.index[_MINS][1][1]]
    highs: list[bytes] = [value for part in parts for value in part.index[_MAXES][1][1]]
    pages = zip(empty, lows, highs, strict=True)
    bounds = [(order(low), order(high)) for is_null, low, high in pages if not is_null]
    pairs = list(itertools.pairwise(bounds))
    direction = _UNORDERED
    if all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairs):
        direction = _ASCENDING
    elif all(a[0] >= b[0] and a[1] >= b[1] for a, b in pairs):
        direction = _DESCENDING
    found: Struct = {
        _NULL_PAGES: (LIST, (TRUE, empty)), _MINS: (LIST, (BINARY, lows)), _MAXES: (LIST, (BINARY, highs)),
        _ORDER: (I32, direction),
    }  # fmt: skip
    if all(_NULL_COUNTS in part.index for part in parts):
        found[_NULL_COUNTS] = (LIST, (I64, [value for part in parts for value in part.index[_NULL_COUNTS][1][1]]))
    return found
