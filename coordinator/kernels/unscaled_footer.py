"""Parquet files whose decimals are called what they are stored as: integers, or fixed bytes.

Where they are fixed bytes behind a dictionary, and all of a file is at hand, they are called integers too, over chunks
that ``coded_decimals.py`` makes. Source: parquet.thrift (FileMetaData, SchemaElement, ColumnMetaData).
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from .coded_decimals import INT64, FixedColumn, recoded
from .footer import MAGIC, footer_bytes, leaf_paths
from .thrift import I32, STRUCT, Reader, Struct, encode

_ELEMENTS = 2
_TYPE, _LENGTH, _CHILDREN, _CONVERTED, _SCALE, _PRECISION, _FIELD_ID, _LOGICAL = 1, 2, 5, 6, 7, 8, 9, 10
_DECIMAL = 5
"""In both of the enumerations that name it."""
_INTEGERS, _FIXED, _MOST_BYTES = (1, 2), 7, 8
_LARGEST_COPIED = 32 << 20
"""Bytes of a file of which a copy is made, with integers."""


@dataclass(frozen=True, slots=True)
class _Schema:
    """The bytes of a footer up to the end of the schema, and what they say, without annotations of decimals."""

    stored: bytes
    begin: Struct
    fixed: tuple[FixedColumn, ...]
    encoded: dict[tuple[FixedColumn, ...], bytes]

    def bytes_for(self, integers: Sequence[FixedColumn]) -> bytes:
        """What stands for ``stored`` where the columns ``integers`` are INT64."""
        known = tuple(integers)
        if known not in self.encoded:
            kind, (of, elements) = self.begin[_ELEMENTS]
            changed = list(elements)
            for column in known:
                kept = {number: value for number, value in elements[column.element].items() if number != _LENGTH}
                changed[column.element] = kept | {_TYPE: (I32, INT64)}
            self.encoded[known] = encode(self.begin | {_ELEMENTS: (kind, (of, changed))})[:-1]
        return self.encoded[known]


class UnscaledFooters:
    """Opens files so that the decimals ``scales`` (scales by field id) are called what they are stored as."""

    def __init__(self, scales: Mapping[int, int]) -> None:
        self._scales = scales
        self._last: _Schema | None = None

    def opened(self, source: pa.NativeFile, *, at_hand: bool) -> tuple[pa.NativeFile, pq.FileMetaData | None]:
        """What to read, and its footer; None where such a column is stored otherwise, or has no field id.

        ``at_hand``: all of the file is in memory, or mapped.
        """
        size = source.size()
        raw = footer_bytes(source, size)
        # Most files of a rewrite begin alike, as one writer made them: their schema is read once.
        if self._last is None or not raw.startswith(self._last.stored):
            self._last = _schema(raw, self._scales)
            if self._last is None:
                return source, None
        if at_hand and self._last.fixed and size <= _LARGEST_COPIED:
            # What does not read as it should is left to Arrow, which says what is wrong.
            with suppress(ArithmeticError, LookupError, TypeError, ValueError, OSError, pa.ArrowException):
                copy = _with_integers(source, raw, self._last)
                if copy is not None:
                    return copy
        return source, _metadata(self._last.bytes_for(()), raw[len(self._last.stored) :])


def annotation(precision: int, scale: int) -> Struct:
    """What the schema element of a decimal says beside how it is stored."""
    logical: Struct = {_DECIMAL: (STRUCT, {1: (I32, scale), 2: (I32, precision)})}
    known = {_CONVERTED: _DECIMAL, _SCALE: scale, _PRECISION: precision}
    return {**{number: (I32, value) for number, value in known.items()}, _LOGICAL: (STRUCT, logical)}


def _schema(raw: bytes, scales: Mapping[int, int]) -> _Schema | None:
    reader = Reader(raw)
    try:
        begin = reader.struct(until=_ELEMENTS)
        chosen = _stripped(begin[_ELEMENTS][1][1], scales)
        if chosen is None:
            return None
        return _Schema(raw[: reader.offset], begin, tuple(_fixed_columns(begin, chosen)), {})
    except (LookupError, TypeError, ValueError):
        return None


def _stripped(elements: Sequence[Struct], wanted: Mapping[int, int]) -> list[int] | None:
    """Take annotations of the decimals ``wanted`` away, if all that are there are stored so; their places."""
    carried = [i for i, element in enumerate(elements) if _FIELD_ID in element]
    chosen = [i for i in carried if elements[i][_FIELD_ID][1] in wanted]
    for element in (elements[i] for i in chosen):
        physical, length, converted, scale = (
            element[number][1] if number in element else 0 for number in (_TYPE, _LENGTH, _CONVERTED, _SCALE)
        )
        fits = physical in _INTEGERS or (physical == _FIXED and 0 < length <= _MOST_BYTES)
        if not fits or converted != _DECIMAL or scale != wanted[element[_FIELD_ID][1]]:
            return None
        for number in (_CONVERTED, _SCALE, _PRECISION, _LOGICAL):
            element.pop(number, None)
    return chosen if carried else None


def _fixed_columns(begin: Struct, chosen: Sequence[int]) -> Iterator[FixedColumn]:
    """Of the elements ``chosen`` those with fixed bytes."""
    elements: list[Struct] = begin[_ELEMENTS][1][1]
    places = [i for i, element in enumerate(elements) if not (_CHILDREN in element and element[_CHILDREN][1])]
    for place, path in zip(places, leaf_paths(begin), strict=True):
        if place in chosen and elements[place][_TYPE][1] == _FIXED:
            yield FixedColumn.of(place, elements[place][_LENGTH][1], path)


def _with_integers(source: pa.NativeFile, raw: bytes, schema: _Schema) -> tuple[pa.NativeFile, pq.FileMetaData] | None:
    """A copy of the file with chunks of integers behind it; None where there are none to make."""
    source.seek(0)
    file = source.read_buffer()
    size = end = file.size
    chosen, made = [], []
    for column in schema.fixed:
        chunks = recoded(file, raw, len(schema.stored), column, end)
        if chunks:
            chosen.append(column)
            made += chunks
            end += sum(each.size for each in chunks)
    if not chosen:
        return None
    rest, at = [], len(schema.stored)
    for each in sorted(made, key=lambda one: one.start):
        rest += [raw[at : each.start], each.described]
        at = each.stop
    metadata = _metadata(schema.bytes_for(chosen), b"".join([*rest, raw[at:]]))
    # Otherwise something else in the footer reads like the beginning of a column's description.
    if len(made) != len(chosen) * metadata.num_row_groups:
        return None
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    behind = sum(group.column(i).data_page_offset > size for group in groups for i in range(group.num_columns))
    pages = itertools.chain.from_iterable(each.pages for each in made)
    return (pa.BufferReader(b"".join([file, *pages])), metadata) if behind == len(made) else None


def _metadata(begin: bytes, rest: bytes) -> pq.FileMetaData:
    length = struct.pack("<I", len(begin) + len(rest))
    return pq.read_metadata(pa.BufferReader(b"".join((MAGIC, begin, rest, length, MAGIC))))
