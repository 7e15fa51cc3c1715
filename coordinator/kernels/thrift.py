"""Thrift's compact protocol as generic values: enough to read a Parquet footer, change offsets and write it again.

A struct is ``{field id: (wire type, value)}`` and a list is ``(element type, [values])``; fields that we do not know
survive unchanged. Source: Thrift compact protocol specification.
"""

from __future__ import annotations

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Struct = dict[int, tuple[int, Any]]


class Reader:
    """Reads values from ``data`` from ``offset`` on; ``offset`` is after the last value read."""

    def __init__(self, data: bytes, offset: int = 0) -> None:
        self.data = data
        self.offset = offset

    def struct(self, until: int | None = None) -> Struct:
        """A struct, or its fields up to the one ``until``; raises ValueError for a type that Parquet does not use."""
        fields: Struct = {}
        last = 0
        while True:
            header = self.data[self.offset]
            self.offset += 1
            if header == 0:
                return fields
            delta, kind = header >> 4, header & 15
            last = last + delta if delta else self._zigzag()
            # Most of what a footer says are small numbers.
            if 4 <= kind <= 6 and (byte := self.data[self.offset]) < 128:
                fields[last] = (kind, (byte >> 1) ^ -(byte & 1))
                self.offset += 1
            else:
                fields[last] = (kind, self._value(kind))
            if last == until:
                return fields

    def _varint(self) -> int:
        data, offset = self.data, self.offset
        byte = data[offset]
        result, shift = byte & 127, 7
        offset += 1
        while byte > 127:
            byte = data[offset]
            offset += 1
            result |= (byte & 127) << shift
            shift += 7
        self.offset = offset
        return result

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _take(self, length: int) -> bytes:
        self.offset += length
        return bytes(self.data[self.offset - length : self.offset])

    def _value(self, kind: int) -> object:
        match kind:
            case 1 | 2:
                return kind == TRUE
            case 3:
                return self._take(1)[0]
            case 4 | 5 | 6:
                return self._zigzag()
            case 7:
                return self._take(8)
            case 8:
                return self._take(self._varint())
            case 9 | 10:
                return self._list()
            case 12:
                return self.struct()
            case _:
                raise ValueError(f"thrift type {kind} does not occur in Parquet")

    def _list(self) -> tuple[int, list[object]]:
        header = self._take(1)[0]
        size, element = header >> 4, header & 15
        if size == 15:
            size = self._varint()
        if element in (TRUE, FALSE):
            return element, [byte == TRUE for byte in self._take(size)]
        return element, [self._value(element) for _ in range(size)]


def read_struct(data: bytes) -> Struct:
    """The struct that ``data`` begins with."""
    return Reader(data).struct()


def encode(fields: Struct) -> bytes:
    """The bytes of a struct."""
    out = bytearray()
    _write_struct(out, fields)
    return bytes(out)


def _write_struct(out: bytearray, fields: Struct) -> None:
    last = 0
    for field, (kind, value) in sorted(fields.items()):
        wire = (TRUE if value else FALSE) if kind in (TRUE, FALSE) else kind
        delta = field - last
        if 0 < delta < 16:
            out.append(delta << 4 | wire)
        else:
            out.append(wire)
            _write_varint(out, (field << 1) ^ (field >> 63))
        last = field
        _write_value(out, kind, value)
    out.append(0)


def _write_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append((value & 127) | 128)
        value >>= 7
    out.append(value)


def _write_value(out: bytearray, kind: int, value: Any) -> None:
    match kind:
        case 1 | 2:
            return
        case 3:
            out.append(value)
        case 4 | 5 | 6:
            _write_varint(out, (value << 1) ^ (value >> 63))
        case 7:
            out += value
        case 8:
            _write_varint(out, len(value))
            out += value
        case 9 | 10:
            _write_list(out, *value)
        case 12:
            _write_struct(out, value)
        case _:
            raise ValueError(f"thrift type {kind} does not occur in Parquet")


def _write_list(out: bytearray, element: int, values: list[object]) -> None:
    if len(values) < 15:
        out.append(len(values) << 4 | element)
    else:
        out.append(0xF0 | element)
        _write_varint(out, len(values))
    for value in values:
        if element in (TRUE, FALSE):
            out.append(TRUE if value else FALSE)
        else:
            _write_value(out, element, value)
