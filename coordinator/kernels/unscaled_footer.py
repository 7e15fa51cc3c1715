"""Parquet footers that call decimals what they are stored as: integers, or fixed bytes.

Source: parquet.thrift (FileMetaData, SchemaElement).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from .footer import MAGIC, Readable, footer_bytes
from .thrift import I32, STRUCT, Reader, Struct, encode

_ELEMENTS = 2
_TYPE, _LENGTH, _CONVERTED, _SCALE, _PRECISION, _FIELD_ID, _LOGICAL = 1, 2, 6, 7, 8, 9, 10
_DECIMAL = 5
"""In both of the enumerations that name it."""
_INTEGERS, _FIXED, _MOST_BYTES = (1, 2), 7, 8


class UnscaledFooters:
    """Reads footers so that the decimals ``scales`` (scales by field id) are called what they are stored as."""

    def __init__(self, scales: Mapping[int, int]) -> None:
        self._scales = scales
        self._last: tuple[bytes, bytes] | None = None

    def read(self, source: Readable, size: int) -> pq.FileMetaData | None:
        """The footer; None where such a column is stored otherwise than as integers, or has no field id."""
        raw = footer_bytes(source, size)
        # Most files of a rewrite begin alike, as one writer made them: their schema is read once.
        if self._last is None or not raw.startswith(self._last[0]):
            self._last = self._edited(raw)
            if self._last is None:
                return None
        old, new = self._last
        length = struct.pack("<I", len(raw) - len(old) + len(new))
        return pq.read_metadata(pa.BufferReader(b"".join((MAGIC, new, raw[len(old) :], length, MAGIC))))

    def _edited(self, raw: bytes) -> tuple[bytes, bytes] | None:
        """The bytes up to the end of the schema, and those for them."""
        reader = Reader(raw)
        try:
            begin = reader.struct(until=_ELEMENTS)
        except (IndexError, ValueError):
            return None
        if _ELEMENTS not in begin or not _are_stripped(begin[_ELEMENTS][1][1], self._scales):
            return None
        return raw[: reader.offset], encode(begin)[:-1]


def annotation(precision: int, scale: int) -> Struct:
    """What the schema element of a decimal says beside how it is stored."""
    logical: Struct = {_DECIMAL: (STRUCT, {1: (I32, scale), 2: (I32, precision)})}
    known = {_CONVERTED: _DECIMAL, _SCALE: scale, _PRECISION: precision}
    return {**{number: (I32, value) for number, value in known.items()}, _LOGICAL: (STRUCT, logical)}


def _are_stripped(elements: Sequence[Struct], wanted: Mapping[int, int]) -> bool:
    """Take the annotations of the decimals ``wanted`` away, if all of them that are there are stored so."""
    carried = [element for element in elements if _FIELD_ID in element]
    chosen = [element for element in carried if element[_FIELD_ID][1] in wanted]
    for element in chosen:
        physical, length, converted, scale = (
            element[number][1] if number in element else 0 for number in (_TYPE, _LENGTH, _CONVERTED, _SCALE)
        )
        fits = physical in _INTEGERS or (physical == _FIXED and 0 < length <= _MOST_BYTES)
        if not fits or converted != _DECIMAL or scale != wanted[element[_FIELD_ID][1]]:
            return False
        for number in (_CONVERTED, _SCALE, _PRECISION, _LOGICAL):
            element.pop(number, None)
    return bool(carried)
