"""Parquet footers as Thrift structs, and Iceberg's metrics out of them.

Bounds come from the footer's raw bytes, since Iceberg's single-value form is nearly Parquet's plain encoding.
Source: parquet.thrift; Iceberg specification, "Metrics" and appendix D.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from .errors import KernelError
from .schema import VARIANT_VALUE, Leaf, is_unordered
from .tasks import Metrics
from .thrift import Reader, Struct

MAGIC = b"PAR1"
BLOOM_OFFSET, BLOOM_LENGTH = 14, 15
_TAIL = 64 << 10
_INTEGERS = (1, 2)


class Readable(Protocol):
    """A file that is read by place."""

    def read_at(self, length: int, offset: int, /) -> bytes: ...


def read_footer(source: Readable, size: int) -> Struct:
    """The FileMetaData of an open file of ``size`` bytes; raises KernelError for a file that is not Parquet."""
    return Reader(footer_bytes(source, size)).struct()


def footer_bytes(source: Readable, size: int) -> bytes:
    """The same as it is in the file."""
    start = max(0, size - _TAIL)
    tail = source.read_at(size - start, start)
    if size < 12 or tail[-4:] != MAGIC:
        raise KernelError("ICEBERG_BAD_DATA", "not a Parquet file")
    length = struct.unpack("<I", tail[-8:-4])[0]
    if length + 8 > len(tail):
        tail = source.read_at(length + 8, size - length - 8)
    return tail[len(tail) - length - 8 : len(tail) - 8]


def row_groups(footer: Struct) -> list[Struct]:
    """The row groups of a file."""
    groups: list[Struct] = footer[4][1][1] if 4 in footer else []
    return groups


def columns(group: Struct) -> list[Struct]:
    """The column chunks of a row group."""
    chunks: list[Struct] = group[1][1][1]
    return chunks


def column_meta(chunk: Struct) -> Struct:
    """The ColumnMetaData of a column chunk."""
    meta: Struct = chunk[3][1]
    return meta


def chunk_range(chunk: Struct) -> tuple[int, int]:
    """Start and end of a column chunk's pages in the file."""
    meta = column_meta(chunk)
    start = meta[9][1]
    if 11 in meta and 0 < meta[11][1] < start:
        start = meta[11][1]
    return start, start + meta[7][1]


def shape(footer: Struct) -> list[tuple[object, ...]]:
    """What files must share whose row groups are joined: columns as they are stored, whatever they are called."""
    elements: list[Struct] = footer[2][1][1]
    known = [{number: value for number, (_, value) in element.items()} for element in elements]
    # Physical type, length, repetition, children, field id; of groups also whether they are lists or maps.
    return [
        (*(e.get(n) for n in (1, 2, 3)), e.get(5) or 0, e.get(9), e.get(6) if e.get(5) else None) for e in known[1:]
    ]


def leaf_paths(footer: Struct) -> list[list[bytes]]:
    """The path of each column of the schema, in order."""
    elements: list[Struct] = footer[2][1][1]
    found: list[list[bytes]] = []
    open_groups: list[list[Any]] = []  # what is left of each group around, and its name
    for element in elements:
        children = element[5][1] if 5 in element else 0
        name = element[4][1]
        if open_groups:
            open_groups[-1][0] -= 1
        if children:
            open_groups.append([children, name])
        else:
            found.append([*(of for _, of in open_groups[1:]), name])
        while open_groups and not open_groups[-1][0]:
            open_groups.pop()
    return found


def metrics(footer: Struct, fields: Sequence[Leaf], modes: Mapping[str, str], nan_counts: Mapping[str, int]) -> Metrics:
    """Iceberg's metrics of a file whose column chunks are ``fields``, as far as each column's mode asks for them."""
    groups = row_groups(footer)
    found = Metrics({}, {}, {}, {}, {}, {}, [min(chunk_range(c)[0] for c in columns(group)) for group in groups])
    for index, leaf in enumerate(fields):
        metas = [column_meta(columns(group)[index]) for group in groups]
        mode = modes.get(str(leaf.id), "truncate(16)")
        if mode != "none":
            _add_column(found, leaf, metas, mode, nan_counts)
    return found


def _add_column(found: Metrics, leaf: Leaf, metas: Sequence[Struct], mode: str, nan_counts: Mapping[str, int]) -> None:
    key = str(leaf.id)
    found.column_sizes[key] = found.column_sizes.get(key, 0) + sum(meta[7][1] for meta in metas)
    if leaf.names is None or leaf.type == VARIANT_VALUE:
        return
    found.value_counts[key] = sum(meta[5][1] for meta in metas)
    statistics = [meta[12][1] if 12 in meta else {} for meta in metas]
    if all(3 in s for s in statistics):
        found.null_counts[key] = sum(s[3][1] for s in statistics)
    if key in nan_counts:
        found.nan_counts[key] = nan_counts[key]
    if mode == "counts" or is_unordered(leaf.type):
        return
    lower, upper = _bounds(leaf, metas, statistics)
    if lower is None or upper is None:
        return
    width = None if mode == "full" else int(mode.removeprefix("truncate(").removesuffix(")"))
    low, high = _truncated(leaf.type, lower, upper, width)
    found.lower_bounds[key] = low.hex()
    if high is not None:
        found.upper_bounds[key] = high.hex()


def _bounds(leaf: Leaf, metas: Sequence[Struct], statistics: Sequence[Struct]) -> tuple[bytes | None, bytes | None]:
    """Least and greatest value as Iceberg's bytes; None when a row group with values has no bounds."""
    order = value_order(leaf.type)
    lowest: bytes | None = None
    highest: bytes | None = None
    for meta, found in zip(metas, statistics, strict=True):
        if 3 in found and found[3][1] == meta[5][1]:
            continue
        if 5 not in found or 6 not in found:
            return None, None
        low, high = (single_value(leaf.type, meta[1][1], found[i][1]) for i in (6, 5))
        lowest = low if lowest is None or order(low) < order(lowest) else lowest
        highest = high if highest is None or order(high) > order(highest) else highest
    return lowest, highest


def single_value(type_: str, physical: int, raw: bytes) -> bytes:
    """A bound of a footer as Iceberg's bytes."""
    if not type_.startswith("decimal"):
        return raw
    # Integers are little-endian, fixed bytes big-endian; Iceberg wants the fewest bytes.
    value = int.from_bytes(raw, "little" if physical in _INTEGERS else "big", signed=True)
    return value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True)


def value_order(type_: str) -> Callable[[bytes], Any]:
    """How Iceberg's bytes of a value become what compares as it does."""
    if type_ in ("int", "date"):
        return lambda raw: struct.unpack("<i", raw)[0]
    if type_ in ("long", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"):
        return lambda raw: struct.unpack("<q", raw)[0]
    if type_ == "float":
        return lambda raw: struct.unpack("<f", raw)[0]
    if type_ == "double":
        return lambda raw: struct.unpack("<d", raw)[0]
    if type_.startswith("decimal"):
        return lambda raw: int.from_bytes(raw, "big", signed=True)
    return lambda raw: raw


def _truncated(type_: str, lower: bytes, upper: bytes, width: int | None) -> tuple[bytes, bytes | None]:
    if width is None:
        return lower, upper
    if type_ == "string":
        low, high = lower.decode("utf-8", "replace"), upper.decode("utf-8", "replace")
        return low[:width].encode(), _string_above(high, width)
    if type_ in ("binary",) or type_.startswith("fixed"):
        return lower[:width], _bytes_above(upper, width)
    return lower, upper


def _string_above(text: str, width: int) -> bytes | None:
    """The shortest bound of at most ``width`` code points that is not below ``text``; None when there is none."""
    if len(text) <= width:
        return text.encode()
    for end in range(width, 0, -1):
        following = ord(text[end - 1]) + 1
        if 0xD800 <= following <= 0xDFFF:
            following = 0xE000
        if following <= 0x10FFFF:
            return (text[: end - 1] + chr(following)).encode()
    return None


def _bytes_above(raw: bytes, width: int) -> bytes | None:
    if len(raw) <= width:
        return raw
    for end in range(width, 0, -1):
        if raw[end - 1] != 0xFF:
            return raw[: end - 1] + bytes([raw[end - 1] + 1])
    return None


def nan_columns(fields: Sequence[Leaf]) -> Iterator[Leaf]:
    """The floating point columns whose NaNs are counted."""
    return (leaf for leaf in fields if leaf.type in ("float", "double") and leaf.names is not None)
