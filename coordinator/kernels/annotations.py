"""What a footer says of columns that Arrow cannot write so: variant, geometry, geography, and decimals as integers.

Arrow writes plain bytes, or integers. The end of a file is kept back as it is written, and its footer says then what
they are. It has no least and greatest values of variants and shapes: bytes are in another order than such values, which
have none. Decimals are in the order of the integers.
Source: parquet.thrift (LogicalType, SchemaElement).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from .footer import MAGIC, column_meta, columns, row_groups
from .schema import FieldJson, Leaf, is_unordered, parts
from .thrift import BINARY, BYTE, I32, STRUCT, Reader, Struct, encode
from .unscaled import UNSCALED, precision_and_scale
from .unscaled_footer import annotation

_VARIANT, _GEOMETRY, _GEOGRAPHY = 16, 17, 18
_EDGES = ("spherical", "vincenty", "thomas", "andoyer", "karney")
_SPATIAL = re.compile(r"(geometry|geography)(?:\('?([^,)']*)'?(?:, *'?(\w+)'?)?\))?")
_SCHEMA, _LOGICAL_TYPE, _FIELD_ID = 2, 10, 9
_BOUNDS = (1, 2, 5, 6, 7, 8)
_COLUMN_INDEX, _COLUMN_INDEX_LENGTH = 6, 7


@dataclass(frozen=True, slots=True)
class Annotations:
    """Parts of schema elements by field id, and the numbers of the column chunks that have no order."""

    types: Mapping[int, Struct]
    unordered: frozenset[int]

    @classmethod
    def of(cls, fields: Sequence[FieldJson], leaves: Sequence[Leaf]) -> Annotations | None:
        """None where Arrow says all that there is to say."""
        types = {field["id"]: found for field in _all(fields) if (found := _annotation(field["type"])) is not None}
        unordered = frozenset(i for i, leaf in enumerate(leaves) if is_unordered(leaf.type))
        return cls(types, unordered) if types else None

    def put_on(self, end: bytes) -> bytes:
        """The end of a file, with its whole footer, as it is to be."""
        (length,) = struct.unpack("<I", end[-8:-4])
        start = len(end) - 8 - length
        reader = Reader(end, start)
        # The row groups of a large file are many; they stay as they are where only the schema changes.
        footer = reader.struct() if self.unordered else reader.struct(until=_SCHEMA)
        elements: list[Struct] = footer[_SCHEMA][1][1]
        for element in elements:
            if _FIELD_ID in element:
                element.update(self.types.get(element[_FIELD_ID][1], {}))
        for group in row_groups(footer) if self.unordered else ():
            for number in self.unordered:
                _without_bounds(columns(group)[number])
        tail = encode(footer) if self.unordered else encode(footer)[:-1] + end[reader.offset : -8]
        return end[:start] + tail + struct.pack("<I", len(tail)) + MAGIC


class Sink(Protocol):
    """A file that is being written."""

    def write(self, data: bytes, /) -> int | None: ...

    def tell(self) -> int: ...


class HeldEnd:
    """A sink that keeps back all that is written to it from ``hold`` on."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._held: bytearray | None = None
        self.closed = False

    def write(self, data: bytes) -> int:
        if self._held is None:
            self._sink.write(data)
        else:
            self._held += data
        return len(data)

    def tell(self) -> int:
        return self._sink.tell() + len(self._held or b"")

    def flush(self) -> None:
        """Nothing waits here but what is held."""

    def hold(self) -> None:
        self._held = bytearray()

    def release(self, annotations: Annotations) -> None:
        """Write what was held, which is the end of a file."""
        held, self._held = bytes(self._held or b""), None
        self._sink.write(annotations.put_on(held))


def _all(fields: Sequence[FieldJson]) -> Iterator[FieldJson]:
    for field in fields:
        yield field
        yield from _all(parts(field["type"]))


def _annotation(iceberg: object) -> Struct | None:
    if isinstance(iceberg, str) and iceberg.startswith(UNSCALED) and (digits := precision_and_scale(iceberg)):
        return annotation(*digits)
    found = _logical_type(iceberg)
    return None if found is None else {_LOGICAL_TYPE: (STRUCT, found)}


def _logical_type(iceberg: object) -> Struct | None:
    if iceberg == "variant":
        return {_VARIANT: (STRUCT, {1: (BYTE, 1)})}
    found = _SPATIAL.fullmatch(iceberg) if isinstance(iceberg, str) else None
    if found is None:
        return None
    kind, system, edges = found.groups()
    said: Struct = {1: (BINARY, system.encode())} if system else {}
    if kind == "geometry":
        return {_GEOMETRY: (STRUCT, said)}
    if edges in _EDGES:
        said[2] = (I32, _EDGES.index(edges))
    return {_GEOGRAPHY: (STRUCT, said)}


def _without_bounds(chunk: Struct) -> None:
    meta = column_meta(chunk)
    if 12 in meta:
        kind, statistics = meta[12]
        meta[12] = (kind, {number: value for number, value in statistics.items() if number not in _BOUNDS})
    chunk.pop(_COLUMN_INDEX, None)
    chunk.pop(_COLUMN_INDEX_LENGTH, None)
