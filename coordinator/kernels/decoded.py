"""How many bytes columns are once decoded, from Parquet footers: text of a megabyte may be stored in a hundred bytes.

Source: parquet.thrift, ColumnMetaData and SizeStatistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .footer import column_meta
from .thrift import Struct

_DATA_PAGES = (0, 3)
_BYTE_ARRAY, _IN_OBJECTS = 6, (3, 6, 7)
_WIDTHS = {1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
"""Of physical types: INT32, INT64, INT96, FLOAT, DOUBLE."""
_OFFSET = 4
"""Of a text in an Arrow array."""
_ENTRY = 36
"""What an entry of a dictionary of texts costs Java beside its bytes: an object and a reference to it."""
_PAGE = 1 << 20


@dataclass(frozen=True, slots=True)
class Decoded:
    """Of some column chunks of one row group: all bytes, and those of one page of each of them, on average."""

    rows: int
    size: int
    page: int


def chunk_bytes(chunk: Struct) -> int:
    """A column chunk decoded. Texts of a dictionary count as often as they occur only where the writer says so."""
    meta = column_meta(chunk)
    physical, values, stored = meta[1][1], meta[5][1], meta[6][1]
    if physical != _BYTE_ARRAY:
        return int(values * _WIDTHS.get(physical, 0)) or int(stored)
    statistics = meta[16][1] if 16 in meta else {}
    return int(max(statistics[1][1], 0) + values * _OFFSET) if 1 in statistics else int(max(stored, meta[7][1]))


def held_in_java(chunk: Struct) -> int:
    """What Parquet's Java reader has on its heap while it reads a chunk: its bytes, its whole dictionary, and a page.

    A heap histogram of Spark over 200 columns with dictionaries of 2 MB each has 1.45 GB of it, for a file of 330 MB.
    """
    meta = column_meta(chunk)
    values, decoded, stored = meta[5][1], meta[6][1], meta[7][1]
    begin, data = meta[11][1] if 11 in meta else 0, meta[9][1]
    dictionary = int((data - begin) * decoded / max(stored, 1)) if 0 < begin < data else 0
    is_text = meta[1][1] in _IN_OBJECTS
    width = chunk_bytes(chunk) / max(values, 1) if is_text else _WIDTHS.get(meta[1][1], 1)
    entries = min(values, int(dictionary / max(width, 1)))
    return int(stored + dictionary + entries * (_ENTRY if is_text else width) + min(decoded, _PAGE))


def of_group(group: Struct, leaves: Sequence[int]) -> Decoded:
    """The chunks ``leaves`` of a row group together."""
    chunks = [group[1][1][1][leaf] for leaf in leaves]
    sizes = [chunk_bytes(chunk) for chunk in chunks]
    pages = sum(-(-size // max(1, pages_of(chunk))) for size, chunk in zip(sizes, chunks, strict=True))
    return Decoded(int(group[3][1]), sum(sizes), pages)


def pages_of(chunk: Struct) -> int:
    """Data pages of a chunk; 0 where the footer does not tell."""
    meta = column_meta(chunk)
    counts = [s for s in meta[13][1][1] if s[1][1] in _DATA_PAGES] if 13 in meta else []
    return sum(int(s[3][1]) for s in counts)
