"""Values of Iceberg's type variant as bytes, made of their parts: no kind of a value is another one afterwards.

Source: parquet-format, VariantEncoding.md, version 1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate

from .variant import BadVariantError, names_of

NULL = b"\x00"
TRUE, FALSE = b"\x04", b"\x08"
_SHORT, _OBJECT, _ARRAY = 1, 2, 3
_FIXED = {
    0: 0, 1: 0, 2: 0, 3: 1, 4: 2, 5: 4, 6: 8, 7: 8, 8: 5, 9: 9, 10: 17, 11: 4, 12: 8, 13: 8, 14: 4, 17: 8, 18: 8,
    19: 8, 20: 16,
}  # fmt: skip
"""Bytes of primitive values behind their header."""


class Names:
    """The names of keys of one row. Those that its metadata lacks are put behind the others, whose numbers stay."""

    def __init__(self, metadata: bytes) -> None:
        self._metadata = metadata
        self.known = list(names_of(metadata))
        self._more = False
        self._places = {name: place for place, name in enumerate(self.known)}

    def place(self, name: str) -> int:
        if name not in self._places:
            self._places[name] = len(self.known)
            self.known.append(name)
            self._more = True
        return self._places[name]

    @property
    def metadata(self) -> bytes:
        """As it came where no name came to it."""
        if not self._more:
            return self._metadata
        texts = [name.encode() for name in self.known]
        ends = list(accumulate((len(text) for text in texts), initial=0))
        width = _width(max(ends[-1], len(texts)))
        numbers = _numbers([len(texts), *ends], width)
        return bytes([1 | (width - 1) << 6]) + numbers + b"".join(texts)


def primitive(kind: int, content: bytes) -> bytes:
    """A value of a primitive kind."""
    return bytes([kind << 2]) + content


def text_bytes(text: str) -> bytes:
    """A string, in the short form where it fits."""
    data = text.encode()
    if len(data) < 64:
        return bytes([len(data) << 2 | _SHORT]) + data
    return primitive(16, struct.pack("<I", len(data)) + data)


def decimal_bytes(value: Decimal, precision: int, scale: int) -> bytes:
    """A decimal in the kind that its column's precision asks for."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "a column holds numbers alone"
    unscaled = int("".join(map(str, digits))) * 10 ** (exponent + scale) * (-1 if sign else 1)
    kind, size = (8, 4) if precision <= 9 else (9, 8) if precision <= 18 else (10, 16)
    return primitive(kind, bytes([scale]) + unscaled.to_bytes(size, "little", signed=True))


def array_bytes(elements: Sequence[bytes]) -> bytes:
    """An array of values."""
    ends = list(accumulate(map(len, elements), initial=0))
    width, large = _width(ends[-1]), len(elements) > 255
    header = (width - 1 | large << 2) << 2 | _ARRAY
    return bytes([header]) + _count(len(elements), large=large) + _numbers(ends, width) + b"".join(elements)


def object_bytes(names: Names, fields: Mapping[str, bytes]) -> bytes:
    """An object of values by name; they are in the order of the names' bytes."""
    ordered = sorted(fields, key=str.encode)
    places = [names.place(name) for name in ordered]
    ends = list(accumulate((len(fields[name]) for name in ordered), initial=0))
    width, id_width, large = _width(ends[-1]), _width(max(places, default=0)), len(ordered) > 255
    header = (width - 1 | (id_width - 1) << 2 | large << 4) << 2 | _OBJECT
    start = bytes([header]) + _count(len(ordered), large=large)
    return start + _numbers(places, id_width) + _numbers(ends, width) + b"".join(fields[name] for name in ordered)


def fields_of(names: Names, value: bytes) -> dict[str, bytes]:
    """The values of an object by name, as they are. Raises BadVariantError where it is no object."""
    if not value or value[0] & 3 != _OBJECT:
        raise BadVariantError("fields beside shredded ones are no object")
    rest = value[0] >> 2
    width, id_width, count_size = (rest & 3) + 1, (rest >> 2 & 3) + 1, 4 if rest & 16 else 1
    count = _number(value, 1, count_size)
    ids_at = 1 + count_size
    offsets_at = ids_at + id_width * count
    values_at = offsets_at + width * (count + 1)
    found: dict[str, bytes] = {}
    for i in range(count):
        place = _number(value, ids_at + i * id_width, id_width)
        begin = values_at + _number(value, offsets_at + i * width, width)
        if place >= len(names.known):
            raise BadVariantError("a field has no name")
        found[names.known[place]] = _taken(value, begin, _size(value, begin))
    if len(found) < count:
        raise BadVariantError("two fields have one name")
    return found


def _size(value: bytes, at: int) -> int:
    """Bytes of the value that begins there; values of an object may be in any order, with gaps."""
    header = _number(value, at, 1)
    kind, rest = header & 3, header >> 2
    if kind == _SHORT:
        return 1 + rest
    if kind == _OBJECT:
        width, id_width, count_size = (rest & 3) + 1, (rest >> 2 & 3) + 1, 4 if rest & 16 else 1
    elif kind == _ARRAY:
        width, id_width, count_size = (rest & 3) + 1, 0, 4 if rest & 4 else 1
    elif rest in (15, 16):
        return 5 + _number(value, at + 1, 4)
    elif rest in _FIXED:
        return 1 + _FIXED[rest]
    else:
        raise BadVariantError(f"primitive type {rest} is not known")
    count = _number(value, at + 1, count_size)
    head = 1 + count_size + count * id_width + (count + 1) * width
    return head + _number(value, at + head - width, width)


def _taken(value: bytes, at: int, size: int) -> bytes:
    if at < 0 or at + size > len(value):
        raise BadVariantError("it ends too early")
    return value[at : at + size]


def _number(value: bytes, at: int, size: int) -> int:
    return int.from_bytes(_taken(value, at, size), "little")


def _width(most: int) -> int:
    return max(1, -(-most.bit_length() // 8))


def _numbers(numbers: Iterable[int], width: int) -> bytes:
    return b"".join(number.to_bytes(width, "little") for number in numbers)


def _count(count: int, *, large: bool) -> bytes:
    return count.to_bytes(4 if large else 1, "little")
