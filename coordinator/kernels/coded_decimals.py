"""Column chunks of decimals in fixed bytes become chunks of integers: their dictionaries alone are written anew.

Arrow makes fixed bytes value by value, but integers of a dictionary many at a time. The codes in the data pages stay as
they are. Source: parquet.thrift (ColumnMetaData, PageHeader), Encodings.md (PLAIN, RLE_DICTIONARY).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from .footer import chunk_range
from .page_headers import header_at
from .pages import page_is_coded
from .thrift import BINARY, I32, I64, LIST, STRUCT, Reader, Struct, encode
from .unscaled import from_big_endian

INT64 = 2
_CODECS = {0: None, 1: "snappy", 2: "gzip", 6: "zstd"}
_LEVELS = {"gzip": 1, "zstd": -(1 << 17)}
"""The fastest: nobody keeps what is written here."""
_MOST_PAGES, _LARGEST_DICTIONARY = 1_000, 8 << 20
_FIXED_FIRST, _INT64_FIRST, _CODEC_NEXT = b"\x15\x0e", b"\x15\x04", b"\x15"
"""As Thrift has them: a type as the first field; the header of the codec, which follows the path."""
_PATH, _CODEC, _BYTES, _PAGES_AT, _DICTIONARY_AT = 3, 4, 7, 9, 11
_PAGE_TYPE, _PAGE_PLAIN, _PAGE_BYTES, _PAGE_DICTIONARY = 1, 2, 3, 7
_DATA_PAGES, _DICTIONARY_PAGE = (0, 3), 2
_VALUES, _ENCODING = 1, 2
_PLAIN_ENCODINGS = (0, 2)
"""PLAIN, and PLAIN_DICTIONARY, which means the same of a dictionary page."""


@dataclass(frozen=True, slots=True)
class FixedColumn:
    """A column of fixed bytes: the place of its element in the schema, its width, how metadata of its chunks begin."""

    element: int
    width: int
    begins: re.Pattern[bytes]

    @classmethod
    def of(cls, element: int, width: int, path: Sequence[bytes]) -> FixedColumn:
        """Metadata of a chunk begin with the type FIXED_LEN_BYTE_ARRAY, a list of encodings, and the path."""
        named = encode({_PATH: (LIST, (BINARY, list(path)))})[1:-1]
        return cls(element, width, re.compile(_FIXED_FIRST + rb"\x19[\x15-\xe5][\x00-\x12]+\x19" + re.escape(named)))


@dataclass(frozen=True, slots=True)
class Recoded:
    """A chunk made of integers: the place of its description in the footer, what stands there now, and its pages."""

    start: int
    stop: int
    described: bytes
    pages: tuple[bytes | pa.Buffer, ...]
    size: int


def recoded(file: pa.Buffer, footer: bytes, after: int, column: FixedColumn, at: int) -> list[Recoded]:
    """The column's chunks in all row groups as integers, to be written from the place ``at`` on one behind the other.

    They are looked for in ``footer`` from ``after`` on. None of them where one does not read as it should, or holds
    values outside of the dictionary.
    """
    found: list[Recoded] = []
    source = pa.BufferReader(file)
    for match in column.begins.finditer(footer, after):
        reader = Reader(footer, match.start())
        meta = reader.struct()
        place = _pages(source, meta)
        if place is None:
            return []
        header, begin, data, end = place
        dictionary = _dictionary_page(header, file.slice(begin, data - begin), _CODECS[meta[_CODEC][1]], column.width)
        if dictionary is None:
            return []
        before = sum(map(len, dictionary))
        size = before + end - data
        meta |= {_BYTES: (I64, size), _PAGES_AT: (I64, at + before), _DICTIONARY_AT: (I64, at)}
        # Statistics, Bloom filters and sizes are those of other values.
        rest = encode({number: value for number, value in meta.items() if _PATH < number <= _DICTIONARY_AT})
        described = _INT64_FIRST + match[0][len(_FIXED_FIRST) :] + _CODEC_NEXT + rest[1:]
        pages = (*dictionary, file.slice(data, end - data))
        found.append(Recoded(match.start(), reader.offset, described, pages, size))
        at += size
    return found


def _pages(source: pa.BufferReader, meta: Struct) -> tuple[Struct, int, int, int] | None:
    """Of the chunk ``meta`` the header of its dictionary, and where its values, the data pages and their end are."""
    if _DICTIONARY_AT not in meta or meta[_CODEC][1] not in _CODECS:
        return None
    start, end = chunk_range({3: (STRUCT, meta)})
    found = header_at(source, start, end) if 0 < start < end <= source.size() else None
    if found is None:
        return None
    header, length = found
    begin, data = start + length, start + length + header[_PAGE_BYTES][1]
    return (header, begin, data, end) if begin <= data < end and _has_codes_alone(source, data, end) else None


def _has_codes_alone(source: pa.BufferReader, at: int, end: int) -> bool:
    """Whether the pages from ``at`` on are data pages with codes of a dictionary, and fill the chunk."""
    for _ in range(_MOST_PAGES):
        found = header_at(source, at, end)
        if found is None or found[0][_PAGE_TYPE][1] not in _DATA_PAGES or not page_is_coded(found[0]):
            return False
        following = at + found[1] + found[0][_PAGE_BYTES][1]
        if following == end:
            return True
        if not at < following < end:
            return False
        at = following
    return False


def _dictionary_page(
    header: Struct, raw: pa.Buffer, codec: str | None, width: int
) -> tuple[bytes, bytes | pa.Buffer] | None:
    """The page with integers; None for a page that is no dictionary of values of ``width`` bytes."""
    if header[_PAGE_TYPE][1] != _DICTIONARY_PAGE or _PAGE_DICTIONARY not in header:
        return None
    described = header[_PAGE_DICTIONARY][1]
    values, size = described[_VALUES][1], header[_PAGE_PLAIN][1]
    if (
        described[_ENCODING][1] not in _PLAIN_ENCODINGS
        or not 0 <= size <= _LARGEST_DICTIONARY
        or size != values * width
    ):
        return None
    plain = raw if codec is None else pa.Codec(codec).decompress(raw, decompressed_size=size)
    if len(plain) != size:
        return None
    integers = pa.py_buffer(from_big_endian(memoryview(plain), values, width).astype("<i8", copy=False))
    packed = integers
    if codec is not None:
        packed = pa.Codec(codec, compression_level=_LEVELS.get(codec)).compress(integers)
    made: Struct = {
        _PAGE_TYPE: header[_PAGE_TYPE], _PAGE_PLAIN: (I32, len(integers)), _PAGE_BYTES: (I32, len(packed)),
        _PAGE_DICTIONARY: header[_PAGE_DICTIONARY],
    }  # fmt: skip
    return encode(made), packed
