"""One-row Presto value blocks: how a constant travels inside plan JSON, as base64 of a serialized block.

Layout (little-endian): int32 length of the encoding's name, the name, the payload. Source: presto-docs
``develop/serialized-page.rst`` and the constants captured from a Presto 0.296 coordinator, whose bytes
``encode_constant`` reproduces exactly, save for the hash table of a map, which Presto rebuilds when it is absent.

Two levels: *physical* values are what a block holds (int, float, bytes, tuple, None); *constants* are the Python
values of ``shared.spi.procedure.Arguments``. Types that Arguments does not name: time ``datetime.time``, interval day
to second ``timedelta``, interval year to month int (months), varbinary and sketches bytes, char and json str, uuid
``UUID``, ipaddress ``IPv4Address | IPv6Address``, ipprefix ``IPv4Network | IPv6Network``, real float, unknown None.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any
from uuid import UUID

from shared.plan.types import Type, parse_type
from shared.plan.zones import zone_key, zone_of_key

MAX_DECIMAL_SHORT_PRECISION = 18
_MAX_ROWS = 1_000_000
_MAX_DEPTH = 100
_BYTE = ("BYTE_ARRAY", "<b")
_SHORT = ("SHORT_ARRAY", "<h")
_INT = ("INT_ARRAY", "<i")
_LONG = ("LONG_ARRAY", "<q")
_FIXED: dict[str, tuple[str, str]] = {
    "boolean": _BYTE,
    "tinyint": _BYTE,
    "unknown": _BYTE,
    "smallint": _SHORT,
    "integer": _INT,
    "date": _INT,
    "interval year to month": _INT,
    "real": ("INT_ARRAY", "<f"),
    "double": ("LONG_ARRAY", "<d"),
    "bigint": _LONG,
    "time": _LONG,
    "time with time zone": _LONG,
    "timestamp": _LONG,
    "timestamp microseconds": _LONG,
    "timestamp with time zone": _LONG,
    "interval day to second": _LONG,
    "bingtile": _LONG,
}
_WIDTHS = {"BYTE_ARRAY": 1, "SHORT_ARRAY": 2, "INT_ARRAY": 4, "LONG_ARRAY": 8, "INT128_ARRAY": 16}
_INT128 = ("uuid", "ipaddress")
_EPOCH = datetime(1970, 1, 1)
_EPOCH_DATE = date(1970, 1, 1)
_MILLISECOND = timedelta(milliseconds=1)
_EXACT = Context(prec=80)


def encode_constant(value: object, type_text: str) -> str:
    """Base64 of the one-row block of ``value``; raises ValueError when the value is none of the type."""
    parsed = parse_type(type_text)
    try:
        return encode_physical(_to_physical(value, parsed), type_text)
    except (TypeError, AttributeError, OverflowError, ArithmeticError, struct.error) as e:
        raise ValueError(f"Cannot write {value!r} as {type_text}") from e


def decode_constant(value_block: str, type_text: str) -> object:
    """The Python value of a one-row block; raises ValueError for a damaged block or a value out of Python's range."""
    physical = decode_physical(value_block, type_text)
    try:
        return _from_physical(physical, parse_type(type_text))
    except (OverflowError, ArithmeticError, struct.error) as e:
        raise ValueError(f"Value of {type_text} out of range") from e


def encode_block(values: Sequence[object], type_text: str) -> bytes:
    """The block of many values; raises ValueError when one is none of the type."""
    parsed, out = parse_type(type_text), bytearray()
    try:
        _write_block(out, [_to_physical(value, parsed) for value in values], parsed)
    except (TypeError, AttributeError, OverflowError, ArithmeticError, struct.error) as e:
        raise ValueError(f"Cannot write a block of {type_text}: {e}") from e
    return bytes(out)


def encode_physical(value: object, type_text: str) -> str:
    """Base64 of the block of one physical value."""
    out = bytearray()
    _write_block(out, [value], parse_type(type_text))
    return base64.b64encode(out).decode("ascii")


def decode_physical(value_block: str, type_text: str) -> object:
    """What the block holds: int, float, bytes, tuple (array, row), tuple of pairs (map) or None.

    Raises ValueError, with Presto C++'s ``Unexpected Block type`` for an encoding that does not fit the type.
    """
    # A statement's literals are looked at a dozen times by different steps; what is read is immutable.
    return _read_again(value_block, type_text) if len(value_block) <= _REMEMBERED else _read(value_block, type_text)


_REMEMBERED = 128
"""Characters of the longest block that is remembered."""


def _read(value_block: str, type_text: str) -> object:
    try:
        reader = _Reader(base64.b64decode(value_block, validate=True))
    except (binascii.Error, ValueError) as e:
        raise ValueError("Constant block is not base64") from e
    try:
        values = reader.block(parse_type(type_text), 0)
    except struct.error as e:
        raise ValueError(f"Truncated block of a {type_text} constant") from e
    if len(values) != 1:
        raise ValueError(f"Constant block has {len(values)} rows, expected 1")
    if reader.position != len(reader.data):
        raise ValueError(f"Unexpected bytes after the block of a {type_text} constant")
    return values[0]


_read_again = lru_cache(16_384)(_read)


# Physical values and blocks


def _is_short_decimal(parsed: Type) -> bool:
    return (parsed.numbers[0] if parsed.numbers else 38) <= MAX_DECIMAL_SHORT_PRECISION


def _fixed(parsed: Type) -> tuple[str, str] | None:
    if parsed.base == "decimal":
        return _LONG if _is_short_decimal(parsed) else None
    return _FIXED.get(parsed.base)


def _is_int128(parsed: Type) -> bool:
    return parsed.base in _INT128 or (parsed.base == "decimal" and not _is_short_decimal(parsed))


def _write_name(out: bytearray, name: str) -> None:
    out += struct.pack("<i", len(name)) + name.encode("ascii")


def _write_nulls(out: bytearray, values: Sequence[object], *, always: bool = False) -> None:
    if not always and all(v is not None for v in values):
        out.append(0)
        return
    out.append(1)
    for start in range(0, len(values), 8):
        out.append(sum(0x80 >> i for i, v in enumerate(values[start : start + 8]) if v is None))


def _write_offsets(out: bytearray, values: Sequence[Any]) -> None:
    position = 0
    out += struct.pack("<ii", len(values), 0)
    for value in values:
        position += 0 if value is None else len(value)
        out += struct.pack("<i", position)


def _write_block(out: bytearray, values: Sequence[Any], parsed: Type) -> None:
    fixed = _fixed(parsed)
    if fixed is not None or _is_int128(parsed):
        name, form = fixed or ("INT128_ARRAY", "16s")
        _write_fixed(out, values, name, form)
    elif parsed.base == "array":
        _write_name(out, "ARRAY")
        _write_block(out, [e for v in values if v is not None for e in v], parsed.arguments[0])
        _write_offsets(out, values)
        _write_nulls(out, values)
    elif parsed.base == "map":
        _write_map(out, values, parsed)
    elif parsed.base == "row":
        _write_row(out, values, parsed)
    elif parsed.parameters and parsed.base not in ("varchar", "char", "tdigest", "qdigest"):
        raise ValueError(f"Unsupported constant type: {parsed}")
    else:
        _write_variable_width(out, values)


def _write_fixed(out: bytearray, values: Sequence[object], name: str, form: str) -> None:
    present = [v for v in values if v is not None]
    if not present:  # a builder that saw no value gives a run of one null
        _write_name(out, "RLE")
        out += struct.pack("<i", len(values))
        _write_name(out, name)
        out += struct.pack("<iBB", 1, 1, 0x80)
        return
    _write_name(out, name)
    out += struct.pack("<i", len(values))
    _write_nulls(out, values, always=name == "SHORT_ARRAY")  # Presto's short builder never drops its flags
    for value in present:
        out += struct.pack(form, value)


def _write_variable_width(out: bytearray, values: Sequence[Any]) -> None:
    _write_name(out, "VARIABLE_WIDTH")
    out += struct.pack("<i", len(values))
    data = b""
    for value in values:
        data += value or b""
        out += struct.pack("<i", len(data))
    _write_nulls(out, values)
    out += struct.pack("<i", len(data)) + data


def _write_map(out: bytearray, values: Sequence[Any], parsed: Type) -> None:
    key, value = parsed.arguments
    pairs = [p for v in values if v is not None for p in v]
    _write_name(out, "MAP")
    _write_block(out, [k for k, _ in pairs], key)
    _write_block(out, [v for _, v in pairs], value)
    out += struct.pack("<i", -1)  # no hash table: readers build it
    _write_offsets(out, values)
    _write_nulls(out, values, always=True)


def _write_row(out: bytearray, values: Sequence[Any], parsed: Type) -> None:
    present = [v for v in values if v is not None]
    if any(len(v) != len(parsed.arguments) for v in present):
        raise ValueError(f"Wrong number of fields for {parsed}")
    _write_name(out, "ROW")
    out += struct.pack("<i", len(parsed.arguments))
    for i, field in enumerate(parsed.arguments):
        _write_block(out, [v[i] for v in present], field)
    _write_offsets(out, [None if v is None else (v,) for v in values])
    _write_nulls(out, values)


class _Reader:
    """A position in the bytes of a block."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def _take(self, count: int) -> bytes:
        if count < 0 or self.position + count > len(self.data):
            raise ValueError("Truncated constant block")
        self.position += count
        return self.data[self.position - count : self.position]

    def _int(self) -> int:
        return int(struct.unpack("<i", self._take(4))[0])

    def _count(self) -> int:
        count = self._int()
        if not 0 <= count <= _MAX_ROWS:
            raise ValueError(f"Constant block with {count} rows")
        return count

    def _nulls(self, count: int) -> list[bool]:
        if not self._take(1)[0]:
            return [False] * count
        bits = self._take((count + 7) // 8)
        return [bool(bits[i // 8] & (0x80 >> i % 8)) for i in range(count)]

    def block(self, parsed: Type, depth: int) -> list[object]:
        """The values of the block at this position."""
        if depth > _MAX_DEPTH:
            raise ValueError("Constant block is nested too deeply")
        name = self._take(min(self._count(), 64)).decode("ascii", "replace")
        if name == "RLE":
            count = self._count()
            inner = self.block(parsed, depth + 1)
            if len(inner) != 1:
                raise ValueError(f"RLE block over {len(inner)} rows")
            return inner * count
        if name == "DICTIONARY":
            return self._dictionary(parsed, depth)
        if name in _WIDTHS:
            return self._fixed(name, parsed)
        if name == "VARIABLE_WIDTH" and _is_variable_width(parsed):
            return self._variable_width()
        if (name, parsed.base) in (("ARRAY", "array"), ("MAP", "map"), ("ROW", "row")):
            nested: dict[str, Callable[[Type, int], list[object]]] = {
                "ARRAY": self._array,
                "MAP": self._map,
                "ROW": self._row,
            }
            return nested[name](parsed, depth)
        raise ValueError(f"Unexpected Block type: {name}")

    def _dictionary(self, parsed: Type, depth: int) -> list[object]:
        count = self._count()
        inner = self.block(parsed, depth + 1)
        ids = [self._int() for _ in range(count)]
        self._take(24)  # instance id of the dictionary
        if any(not 0 <= i < len(inner) for i in ids):
            raise ValueError("Dictionary block points outside its dictionary")
        return [inner[i] for i in ids]

    def _fixed(self, name: str, parsed: Type) -> list[object]:
        expected, form = _fixed(parsed) or ("INT128_ARRAY" if _is_int128(parsed) else "", "16s")
        if name != expected:
            raise ValueError(f"Unexpected Block type: {name}")
        count = self._count()
        nulls = self._nulls(count)
        width = _WIDTHS[name]
        return [None if null else struct.unpack(form, self._take(width))[0] for null in nulls]

    def _variable_width(self) -> list[object]:
        ends = [self._int() for _ in range(self._count())]
        nulls = self._nulls(len(ends))
        data = self._take(self._int())
        starts = [0, *ends][: len(ends)]
        if any(not 0 <= start <= end <= len(data) for start, end in zip(starts, ends, strict=True)):
            raise ValueError("Offsets of a constant block are out of order")
        return [None if null else data[start:end] for start, end, null in zip(starts, ends, nulls, strict=True)]

    def _spans(self, limit: int) -> list[tuple[int, int] | None]:
        offsets = [self._int() for _ in range(self._count() + 1)]
        nulls = self._nulls(len(offsets) - 1)
        spans = list(pairwise(offsets))
        if any(not 0 <= start <= end <= limit for start, end in spans):
            raise ValueError("Offsets of a constant block are out of order")
        return [None if null else span for span, null in zip(spans, nulls, strict=True)]

    def _array(self, parsed: Type, depth: int) -> list[object]:
        elements = self.block(parsed.arguments[0], depth + 1)
        return [None if s is None else tuple(elements[s[0] : s[1]]) for s in self._spans(len(elements))]

    def _map(self, parsed: Type, depth: int) -> list[object]:
        keys = self.block(parsed.arguments[0], depth + 1)
        values = self.block(parsed.arguments[1], depth + 1)
        hash_table = self._int()
        if hash_table != -1:
            self._take(4 * hash_table)
        pairs = list(zip(keys, values, strict=False))
        return [None if s is None else tuple(pairs[s[0] : s[1]]) for s in self._spans(len(pairs))]

    def _row(self, parsed: Type, depth: int) -> list[object]:
        if self._count() != len(parsed.arguments):
            raise ValueError(f"Wrong number of fields for {parsed}")
        fields = [self.block(field, depth + 1) for field in parsed.arguments]
        rows = list(zip(*fields, strict=False))
        return [None if s is None or s[0] == s[1] else rows[s[0]] for s in self._spans(len(rows))]


def _is_variable_width(parsed: Type) -> bool:
    return _fixed(parsed) is None and not _is_int128(parsed) and parsed.base not in ("array", "map", "row")


# Constants


def _to_physical(value: Any, parsed: Type) -> Any:
    if value is None:
        return None
    match parsed.base:
        case "boolean":
            return int(_expect(value, bool))
        case "tinyint" | "smallint" | "integer" | "bigint" | "interval year to month" | "bingtile":
            return _expect(value, int)
        case "double" | "real":
            return float(value)
        case "decimal":
            return _decimal_to_physical(value, parsed)
        case "array" | "map" | "row":
            return _nested_to_physical(value, parsed)
        case "varchar" | "char" | "json":
            text = str(_expect(value, str))
            return (text.rstrip(" ") if parsed.base == "char" else text).encode("utf-8")
        case "uuid":
            return _expect(value, UUID).bytes
        case "ipaddress":
            return _ip_bytes(value)
        case "ipprefix":
            return _ip_bytes(value.network_address) + bytes([value.prefixlen])
        case "unknown":
            raise ValueError(f"Cannot write {value!r} as unknown")
        case _:
            return _temporal_to_physical(value, parsed)


def _nested_to_physical(value: Any, parsed: Type) -> tuple[object, ...]:
    if parsed.base == "array":
        return tuple(_to_physical(v, parsed.arguments[0]) for v in value)
    if parsed.base == "map":
        key, val = parsed.arguments
        return tuple((_to_physical(k, key), _to_physical(v, val)) for k, v in value.items())
    return tuple(_to_physical(v, t) for v, t in zip(value, parsed.arguments, strict=True))


def _temporal_to_physical(value: Any, parsed: Type) -> Any:
    match parsed.base:
        case "date":
            return (_expect(value, date) - _EPOCH_DATE).days
        case "time":
            return _time_millis(_expect(value, time))
        case "time with time zone":
            shift = value.utcoffset() // _MILLISECOND
            return (_time_millis(value) - shift) << 12 | zone_key(value.tzinfo, None)
        case "timestamp":
            if value.tzinfo is not None:
                raise ValueError(f"Timestamp {value} has a time zone")
            return (value - _EPOCH) // _MILLISECOND
        case "timestamp microseconds":
            return (value - _EPOCH) // timedelta(microseconds=1)
        case "timestamp with time zone":
            if value.tzinfo is None:
                raise ValueError(f"Timestamp {value} has no time zone")
            return ((value - _EPOCH.replace(tzinfo=UTC)) // _MILLISECOND) << 12 | zone_key(value.tzinfo, value)
        case "interval day to second":
            return _expect(value, timedelta) // _MILLISECOND
        case _:
            return bytes(_expect(value, bytes))


def _expect(value: object, type_: type) -> Any:
    if not isinstance(value, type_) or (type_ is int and isinstance(value, bool)):
        raise ValueError(f"Cannot write {value!r} as {type_.__name__}")
    return value


def _time_millis(value: time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def _ip_bytes(address: Any) -> bytes:
    packed = bytes(address.packed)
    return packed if len(packed) == 16 else b"\0" * 10 + b"\xff\xff" + packed


def _decimal_to_physical(value: Any, parsed: Type) -> int | bytes:
    precision, scale = decimal_digits(parsed)
    scaled = Decimal(value).scaleb(scale, _EXACT)
    unscaled = int(scaled)
    if unscaled != scaled or abs(unscaled) >= 10**precision:
        raise ValueError(f"Cannot write {value} as {parsed}")
    if _is_short_decimal(parsed):
        return unscaled
    sign = 1 << 127 if unscaled < 0 else 0  # Presto stores sign and magnitude
    return (abs(unscaled) | sign).to_bytes(16, "little")


def decimal_digits(parsed: Type) -> tuple[int, int]:
    """Precision and scale of a decimal type, with Presto's defaults."""
    numbers = parsed.numbers
    return (numbers[0] if numbers else 38, numbers[1] if len(numbers) > 1 else 0)


def unscaled_decimal(physical: int | bytes) -> int:
    """The unscaled integer of a decimal's physical value."""
    if isinstance(physical, int):
        return physical
    raw = int.from_bytes(physical, "little")
    magnitude = raw & ~(1 << 127)
    return -magnitude if raw >> 127 else magnitude


def _from_physical(value: Any, parsed: Type) -> object:
    if value is None:
        return None
    match parsed.base:
        case "boolean":
            return bool(value)
        case "decimal":
            return Decimal(unscaled_decimal(value)).scaleb(-decimal_digits(parsed)[1], _EXACT)
        case "array":
            return tuple(_from_physical(v, parsed.arguments[0]) for v in value)
        case "map":
            key, val = parsed.arguments
            return {_from_physical(k, key): _from_physical(v, val) for k, v in value}
        case "row":
            return tuple(_from_physical(v, t) for v, t in zip(value, parsed.arguments, strict=True))
        case "varchar" | "char" | "json":
            return value.decode("utf-8")
        case "uuid":
            return UUID(bytes=value)
        case "ipaddress":
            return _ip_of(value)
        case "ipprefix":
            return ipaddress.ip_network((_ip_of(value[:16]), value[16]), strict=False)
        case "unknown":
            raise ValueError("Constant of type unknown is not null")
        case _:
            return _temporal_from_physical(value, parsed)


def _temporal_from_physical(value: Any, parsed: Type) -> object:
    match parsed.base:
        case "date":
            return _EPOCH_DATE + timedelta(days=value)
        case "time":
            return (_EPOCH + timedelta(milliseconds=value)).time()
        case "time with time zone":
            zone = zone_of_key(value & 0xFFF)
            offset = zone.utcoffset(None)
            if offset is None:
                raise ValueError(f"Time with region zone {zone}")
            shifted = _EPOCH + timedelta(milliseconds=value >> 12) + offset
            return shifted.time().replace(tzinfo=zone)
        case "timestamp":
            return _EPOCH + timedelta(milliseconds=value)
        case "timestamp microseconds":
            return _EPOCH + timedelta(microseconds=value)
        case "timestamp with time zone":
            instant = _EPOCH.replace(tzinfo=UTC) + timedelta(milliseconds=value >> 12)
            return instant.astimezone(zone_of_key(value & 0xFFF))
        case "interval day to second":
            return timedelta(milliseconds=value)
        case _:
            return value


def _ip_of(packed: bytes) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.IPv6Address(packed)
    return address.ipv4_mapped or address
