"""Values of Iceberg's type variant as JSON texts: what the Presto type ``json`` holds of them.

Objects have their keys in order, decimals all their digits; what JSON has no kind of is text: dates and times as SQL
writes them, instants in UTC, bytes as base64, numbers that are none (``"NaN"``). So are they in Spark's ``to_json``.
Source: parquet-format, VariantEncoding.md, version 1.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import pairwise
from uuid import UUID

from .errors import KernelError
from .functions.json_texts import text_json
from .functions.numbers import java_double, java_float
from .kept import kept

MOST_TEXT = 128 << 20
"""Characters of one value: names of keys are stored once, and may be written a million times."""
MOST_LEVELS = 300
"""Of values within one another; each takes two frames of Python's stack."""
_SMALL = 16 << 10
"""Bytes of metadata whose names are remembered."""
_EPOCH = date(1970, 1, 1)
_PRIMITIVE, _SHORT, _OBJECT = 0, 1, 2


class BadVariantError(Exception):
    """The bytes are none of a variant."""


@dataclass(slots=True)
class _Read:
    """One value. ``left``: each byte belongs to one value alone, or few bytes could tell of billions."""

    names: tuple[str, ...]
    data: bytes
    left: int
    text: int = field(default=MOST_TEXT)

    def take(self, begin: int, size: int) -> bytes:
        if begin < 0 or begin + size > len(self.data):
            raise BadVariantError("it ends too early")
        return self.data[begin : begin + size]

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise BadVariantError("its parts lie within one another")

    def number(self, begin: int, size: int) -> int:
        return int.from_bytes(self.take(begin, size), "little")

    def numbers(self, begin: int, size: int, count: int) -> list[int]:
        taken = self.take(begin, size * count)
        return [int.from_bytes(taken[i : i + size], "little") for i in range(0, len(taken), size)]


def variant_json(metadata: bytes, value: bytes) -> str:
    """The JSON text of a value. Raises BadVariantError, and KernelError for one that is too large or too deep."""
    return _json(_Read(names_of(metadata), value, len(value)), 0, MOST_LEVELS)


def variant_fields(metadata: bytes, value: bytes) -> Mapping[str, str]:
    """The fields of an object by name, as JSON texts; raises BadVariantError where it is no object."""
    read = _Read(names_of(metadata), value, len(value))
    if read.number(0, 1) & 3 != _OBJECT:
        raise BadVariantError("fields beside shredded ones are no object")
    return _fields(read, 0, MOST_LEVELS)


def names_of(metadata: bytes) -> tuple[str, ...]:
    """The names of keys that a value's metadata lists. Raises BadVariantError."""
    return _remembered(metadata) if len(metadata) <= _SMALL else _names(metadata)


@kept(256, longest=100_000)
def _remembered(metadata: bytes) -> tuple[str, ...]:
    """Rows mostly share their metadata."""
    return _names(metadata)


def _names(metadata: bytes) -> tuple[str, ...]:
    read = _Read((), metadata, len(metadata))
    header = read.number(0, 1)
    if header & 15 != 1:
        raise BadVariantError(f"version {header & 15} is not known")
    size = (header >> 6) + 1
    count = read.number(1, size)
    offsets = read.numbers(1 + size, size, count + 1)
    texts = 1 + size * (count + 2)
    if any(begin > end for begin, end in pairwise(offsets)):
        raise BadVariantError("its names overlap")
    try:
        parts = [read.take(texts + a, b - a) for a, b in pairwise(offsets)]
        return tuple(part.decode() for part in parts)
    except UnicodeDecodeError as error:
        raise BadVariantError("a name is no UTF-8") from error


def object_text(fields: Mapping[str, str]) -> str:
    """An object of values that are JSON texts already."""
    return "{" + ",".join(f"{text_json(name)}:{fields[name]}" for name in sorted(fields)) + "}"


def _json(read: _Read, at: int, levels: int) -> str:
    if levels == 0:
        raise KernelError("NOT_SUPPORTED", f"A value of type variant nests deeper than {MOST_LEVELS} levels")
    header = read.number(at, 1)
    kind, rest = header & 3, header >> 2
    if kind == _PRIMITIVE:
        text = _primitive(read, rest, at + 1)
    elif kind == _SHORT:
        text = _string(read, at + 1, rest)
    elif kind == _OBJECT:
        text = object_text(_fields(read, at, levels))
    else:
        text = f"[{','.join(_elements(read, at, rest, levels))}]"
    read.text -= len(text)
    if read.text < 0:
        raise KernelError("NOT_SUPPORTED", f"A value of type variant has more than {MOST_TEXT} characters as JSON")
    return text


def _fields(read: _Read, at: int, levels: int) -> dict[str, str]:
    rest = read.number(at, 1) >> 2
    offset_size, id_size, count_size = (rest & 3) + 1, (rest >> 2 & 3) + 1, 4 if rest & 16 else 1
    count = read.number(at + 1, count_size)
    ids_at = at + 1 + count_size
    offsets_at = ids_at + id_size * count
    values_at = offsets_at + offset_size * (count + 1)
    ids = read.numbers(ids_at, id_size, count)
    offsets = read.numbers(offsets_at, offset_size, count)
    read.spend(values_at - at)
    try:
        names = [read.names[each] for each in ids]
    except IndexError as error:
        raise BadVariantError("a field has no name") from error
    if len(set(names)) < count:
        raise BadVariantError("two fields have one name")
    return {name: _json(read, values_at + offset, levels - 1) for name, offset in zip(names, offsets, strict=True)}


def _elements(read: _Read, at: int, rest: int, levels: int) -> list[str]:
    offset_size, count_size = (rest & 3) + 1, 4 if rest & 4 else 1
    count = read.number(at + 1, count_size)
    offsets_at = at + 1 + count_size
    values_at = offsets_at + offset_size * (count + 1)
    offsets = read.numbers(offsets_at, offset_size, count)
    read.spend(values_at - at)
    return [_json(read, values_at + offset, levels - 1) for offset in offsets]


def _string(read: _Read, at: int, size: int) -> str:
    taken = read.take(at, size)
    read.spend(size + 1)
    try:
        return text_json(taken.decode())
    except UnicodeDecodeError as error:
        raise BadVariantError("a text is no UTF-8") from error


def _primitive(read: _Read, kind: int, at: int) -> str:
    if kind == 16:
        return _string(read, at + 4, read.number(at, 4))
    if kind == 15:
        size = read.number(at, 4)
        taken = read.take(at + 4, size)
        read.spend(size + 5)
        return bytes_json(taken)
    found = _FIXED.get(kind)
    if found is None:
        raise BadVariantError(f"primitive type {kind} is not known")
    size, shown = found
    taken = read.take(at, size)
    read.spend(size + 1)
    return shown(taken)


def _signed(value: bytes) -> int:
    return int.from_bytes(value, "little", signed=True)


def _decimal(value: bytes) -> str:
    return decimal_json(_signed(value[1:]), value[0])


def decimal_json(unscaled: int, scale: int) -> str:
    """All digits, as many after the point as the scale says."""
    sign, digits = "-" if unscaled < 0 else "", str(abs(unscaled)).rjust(scale + 1, "0")
    return sign + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)


def bytes_json(value: bytes) -> str:
    """Base64."""
    return text_json(b64encode(value).decode())


def uuid_json(value: bytes) -> str:
    """With hyphens."""
    return text_json(str(UUID(bytes=value)))


def double_json(value: float) -> str:
    """As Java writes it; a number that is none is text."""
    return _number(java_double(value))


def float_json(value: float) -> str:
    """The same of four bytes."""
    return _number(java_float(value))


def _number(shown: str) -> str:
    return shown if shown[-1].isdigit() else text_json(shown)


def day_json(days: int) -> str:
    """``"2026-11-26"``, from days since 1970."""
    try:
        return text_json((_EPOCH + timedelta(days=days)).isoformat())
    except OverflowError as error:
        raise KernelError("NOT_SUPPORTED", "A date in a value of type variant is beyond the years 1 to 9999") from error


def clock_json(micros: int) -> str:
    """``"12:30:00.5"``, from microseconds since midnight."""
    return text_json(_clock(micros, 6))


def instant_json(parts: int, digits: int, zone: str) -> str:
    """``"2026-11-26 12:30:00.5+00:00"``; ``digits`` of the second are counted in ``parts`` since 1970."""
    days, rest = divmod(parts, 86_400 * 10**digits)
    return f'{day_json(days)[:-1]} {_clock(rest, digits)}{zone}"'


def _clock(parts: int, digits: int) -> str:
    seconds, fraction = divmod(parts, 10**digits)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:0{digits}}".rstrip("0") if fraction else text


ZONE = "+00:00"
_FIXED: Mapping[int, tuple[int, Callable[[bytes], str]]] = {
    0: (0, lambda _: "null"),
    1: (0, lambda _: "true"),
    2: (0, lambda _: "false"),
    3: (1, lambda v: str(_signed(v))),
    4: (2, lambda v: str(_signed(v))),
    5: (4, lambda v: str(_signed(v))),
    6: (8, lambda v: str(_signed(v))),
    7: (8, lambda v: double_json(struct.unpack("<d", v)[0])),
    8: (5, _decimal),
    9: (9, _decimal),
    10: (17, _decimal),
    11: (4, lambda v: day_json(_signed(v))),
    12: (8, lambda v: instant_json(_signed(v), 6, ZONE)),
    13: (8, lambda v: instant_json(_signed(v), 6, "")),
    14: (4, lambda v: float_json(struct.unpack("<f", v)[0])),
    17: (8, lambda v: clock_json(_signed(v))),
    18: (8, lambda v: instant_json(_signed(v), 9, ZONE)),
    19: (8, lambda v: instant_json(_signed(v), 9, "")),
    20: (16, uuid_json),
}
"""Bytes and text of primitive types by number; 15 and 16 tell their size."""
