"""The hash of a value by Presto's types, which ``checksum`` sums up, and the size of a value, for statistics.

Source: ``hash`` of the types in presto-common 0.296, checked against a real server's checksums.
"""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime, time
from decimal import Decimal
from ipaddress import ip_address
from typing import Any
from uuid import UUID

from ..types import Type
from .failures import invalid
from .hashes import xxhash64

_MASK = (1 << 64) - 1
FIRST, SECOND = 0xC2B2AE3D27D4EB4F, 0x9E3779B185EBCA87
_EPOCH = datetime(1970, 1, 1)
_SHORT_DECIMAL = 18
_LONG_SIZES = {
    "boolean": 1, "tinyint": 1, "smallint": 2, "integer": 4, "real": 4, "date": 4, "bigint": 8, "double": 8,
}  # fmt: skip


def type_hash(value: Any, type_: Type) -> int:  # noqa: C901 - one case a type
    """64 bits, unsigned; 0 for NULL. Raises KernelError for a type without a hash."""
    if value is None:
        return 0
    match type_.base:
        case "varchar" | "char" | "json":
            return xxhash64(value.encode())
        case "varbinary":
            return xxhash64(value)
        case "uuid":
            return xxhash64(UUID(str(value)).bytes)
        case "ipaddress":
            return xxhash64(_address(str(value)))
        case "boolean":
            return 1231 if value else 1237
        case "double":
            return _mixed(struct.unpack("<Q", struct.pack("<d", 0.0 if value == 0 else value))[0])
        case "real":
            return _mixed(struct.unpack("<i", struct.pack("<f", 0.0 if value == 0 else value))[0])
        case "decimal":
            return _decimal_hash(value, type_)
        case "array":
            return _combined(0, value, type_.arguments * len(value))
        case "row":
            return _combined(1, value, type_.arguments)
        case "map":
            key, item = type_.arguments
            return sum(type_hash(k, key) ^ type_hash(v, item) for k, v in value.items()) & _MASK
        case _:
            return _mixed(_number(value, type_))


def value_size(value: Any, type_: Type) -> int:
    """Bytes of a value in Presto's pages without its frame: texts by their length, nested values by their parts."""
    if value is None:
        return 0
    match type_.base:
        case "varchar" | "char" | "json":
            return len(value.encode())
        case "varbinary":
            return len(value)
        case "decimal":
            return 8 if type_.numbers[0] <= _SHORT_DECIMAL else 16
        case "array":
            return sum(value_size(v, type_.arguments[0]) for v in value)
        case "row":
            return sum(value_size(v, k) for v, k in zip(value, type_.arguments, strict=True))
        case "map":
            key, item = type_.arguments
            return sum(value_size(k, key) + value_size(v, item) for k, v in value.items())
        case "uuid" | "ipaddress":
            return 16
        case base:
            return _LONG_SIZES.get(base, 8)


def _mixed(number: int) -> int:
    turned = number * FIRST & _MASK
    return ((turned << 31) | (turned >> 33)) * SECOND & _MASK


def _combined(start: int, values: Any, types: tuple[Type, ...]) -> int:
    made = start
    for value, type_ in zip(values, types, strict=True):
        made = (31 * made + type_hash(value, type_)) & _MASK
    return made


def _decimal_hash(value: Any, type_: Type) -> int:
    unscaled = int(Decimal(value).scaleb(type_.numbers[1]))
    if type_.numbers[0] <= _SHORT_DECIMAL:
        return unscaled & _MASK
    # Sign and magnitude, and the sign is left out.
    low, high = abs(unscaled) & _MASK, abs(unscaled) >> 64
    return xxhash64(struct.pack("<Q", low)) ^ xxhash64(struct.pack("<Q", high))


def _number(value: object, type_: Type) -> int:
    """The long that Presto keeps a value as, an instant's without its zone."""
    if isinstance(value, datetime):
        instant = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
        gap = instant - _EPOCH
        return gap.days * 86_400_000 + gap.seconds * 1000 + gap.microseconds // 1000
    if isinstance(value, date):
        return value.toordinal() - date(1970, 1, 1).toordinal()
    if isinstance(value, time) and value.tzinfo is None:
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    if isinstance(value, int):
        return value
    raise invalid(f"checksum of {type_} is not supported")


def _address(text: str) -> bytes:
    parsed = ip_address(text)
    return b"\0" * 10 + b"\xff\xff" + parsed.packed if parsed.version == 4 else parsed.packed
