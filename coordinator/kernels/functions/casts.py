# ruff: noqa: ARG001
# Every conversion has one signature, so that they stand in one table.
"""CAST of values, with Presto's texts (VarcharOperators, DoubleOperators, DecimalCasts, JsonOperators)."""

from __future__ import annotations

import ipaddress
import math
import re
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from ..errors import KernelError
from ..kept import kept
from ..types import Type
from .arrow_forms import Convert
from .date_texts import (
    clock_instant,
    clock_of,
    clock_text,
    local,
    parse_date,
    parse_time,
    parse_timestamp,
    shown_time,
    shown_timestamp,
)
from .failures import bad_cast, out_of_range
from .json_casts import from_json, to_json
from .numbers import BLANKS, java_double, java_float, parse_double, single
from .sketches.hyperloglog import densified
from .zones import offset_now

_BITS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}
_NAMES = {"integer": "INT"}
_TEXT = ("varchar", "char")
_OPAQUE = ("re2jregexp", "joniregexp", "jsonpath", "likepattern", "codepoints")
_EXACT = Context(prec=90)
_LONGEST_INTEGER = 19
_WHOLE = re.compile(r"[+-]?\d++")
_NUMBER = re.compile(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?")
_UUID = re.compile(r"[0-9a-fA-F]+(-[0-9a-fA-F]+){4}")
INTEGERS = tuple(_BITS)


@kept(1024)
def caster(source: Type, target: Type, zone: tzinfo) -> Convert:
    """The conversion of values that are not NULL; raises NOT_SUPPORTED for a pair that is none of Presto's."""
    if source.base == "char" and target.base in ("re2jregexp", "joniregexp", "likepattern"):
        return lambda value: str(value).ljust(source.numbers[0])
    if source == target or target.base in _OPAQUE or source.base == "unknown":
        return lambda value: value
    if target.base == "json":
        return lambda value: to_json(value, source)
    if source.base == "json" and target.base not in ("json",):
        return lambda value: from_json(value, target, lambda s, t: caster(s, t, zone))
    if source.base == target.base and source.base in ("array", "row", "map"):
        return _nested(source, target, zone)
    build = _BUILD.get(target.base)
    if build is None:
        raise KernelError("NOT_SUPPORTED", f"Cast from {source} to {target} is not supported")
    convert = build(source, target, zone)

    def checked(value: object) -> object:
        try:
            return convert(value)
        except (ValueError, InvalidOperation, OverflowError) as error:
            raise _refused(value, source, target) from error

    return checked


def _nested(source: Type, target: Type, zone: tzinfo) -> Convert:
    inner = [_optional(caster(s, t, zone)) for s, t in zip(source.arguments, target.arguments, strict=True)]
    if source.base == "array":
        item = inner[0]
        return lambda value: tuple(map(item, value))
    if source.base == "row":
        return lambda value: tuple(f(v) for f, v in zip(inner, value, strict=True))

    def convert(value: dict[object, object]) -> dict[object, object]:
        made = {inner[0](k): inner[1](v) for k, v in value.items()}
        if len(made) != len(value) or None in made:
            raise bad_cast("map key is null" if None in made else "duplicate keys")
        return made

    return convert


def _optional(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _refused(value: Any, source: Type, target: Type) -> KernelError:
    if source.base in _TEXT:
        if target.base in ("date", "timestamp", "timestamp with time zone", "time", "time with time zone"):
            return bad_cast(f"Value cannot be cast to {target.base}: {value}")
        if target.base in ("uuid", "ipaddress", "ipprefix"):
            return bad_cast(f"Cannot cast value to {target.base.upper()}: {value}")
        if target.base == "decimal":
            return bad_cast(_not_decimal(value, target))
        return bad_cast(f"Cannot cast '{value}' to {_named(source, target)}")
    value = text_of(source)(value)
    return bad_cast(f"Cannot cast {source.base.upper()} '{value}' to {str(target).replace(',', ', ').upper()}")


def _named(source: Type, target: Type) -> str:
    if source.base in _TEXT and target.base in _NAMES:
        return _NAMES[target.base]
    return str(target).replace(",", ", ").upper()


def _not_decimal(text: str, target: Type) -> str:
    precision, scale = target.numbers
    reason = "Value too large." if _NUMBER.fullmatch(text) else "Value is not a number."
    return f"Cannot cast VARCHAR '{text}' to DECIMAL({precision}, {scale}). {reason}"


def _digits(text: str) -> Decimal:
    """As Java's BigDecimal reads a text: digits of any script, no blanks."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return Decimal(text)


def fits(number: int, base: str) -> bool:
    """Whether an integer type holds the number."""
    bound = 1 << (_BITS[base] - 1)
    return -bound <= number < bound


def _integer(source: Type, target: Type, zone: tzinfo) -> Convert:
    base, show = target.base, text_of(source)

    def from_text(value: str) -> int:
        trimmed = value.strip(BLANKS)
        if not _WHOLE.fullmatch(trimmed):
            raise ValueError(value)
        digits = trimmed.lstrip("+-").lstrip("0") or "0"
        number = int(digits) if len(digits) <= _LONGEST_INTEGER else 1 << 64
        number = -number if trimmed.startswith("-") else number
        if not fits(number, base):
            raise ValueError(value)
        return number

    def from_float(value: float) -> int:
        if not math.isfinite(value):
            raise bad_cast(f"Unable to cast {show(value)} to {base}")
        number = int(Decimal(value).to_integral_value(ROUND_HALF_UP))
        if not fits(number, base):
            raise bad_cast(f"Unable to cast {show(value)} to {base}")
        return number

    def from_number(value: Any) -> int:
        number = int(value) if isinstance(value, int) else int(value.to_integral_value(ROUND_HALF_UP))
        if not fits(number, base):
            if isinstance(value, Decimal):
                raise bad_cast(f"Cannot cast '{value:f}' to {base.upper()}")
            raise out_of_range(f"Out of range for {base}: {value}")
        return number

    if source.base in _TEXT:
        return from_text
    return from_float if source.base in ("double", "real") else from_number


def _double(source: Type, target: Type, zone: tzinfo) -> Convert:
    def convert(value: Any) -> float:
        number = parse_double(value) if isinstance(value, str) else float(value)
        if isinstance(value, Decimal):
            number = number or 0.0  # Presto's decimals have no negative zero
        return single(number) if target.base == "real" else number

    return convert


def _decimal(source: Type, target: Type, zone: tzinfo) -> Convert:
    precision, scale = target.numbers
    exponent = Decimal(1).scaleb(-scale)

    def convert(value: Any) -> Decimal:
        if isinstance(value, float):
            exact = Decimal(java_float(value) if source.base == "real" else repr(value))
        else:
            exact = _digits(value) if isinstance(value, str) else Decimal(value)
        if not exact.is_finite():
            raise ValueError(value)
        rounded = exact.quantize(exponent, ROUND_HALF_UP, _EXACT)
        if rounded and rounded.adjusted() + 1 > precision - scale:
            if isinstance(value, Decimal):
                raise bad_cast(f"Cannot cast DECIMAL '{value:f}' to DECIMAL({precision}, {scale})")
            raise ValueError(value)
        return rounded or abs(rounded)

    return convert


def _boolean(source: Type, target: Type, zone: tzinfo) -> Convert:
    def convert(value: object) -> bool:
        if not isinstance(value, str):
            return bool(value)
        found = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}.get(value.lower())
        if found is None:
            raise ValueError(value)
        return found

    return convert


def text_of(source: Type) -> Convert:
    """A value as ``CAST(… AS varchar)`` shows it."""
    match source.base:
        case "boolean":
            return lambda value: "true" if value else "false"
        case "double":
            return java_double
        case "real":
            return java_float
        case "decimal":
            return lambda value: f"{value:.{source.numbers[1]}f}"
        case "timestamp" | "timestamp with time zone":
            return shown_timestamp
        case "time" | "time with time zone":
            return shown_time
        case "char":
            return lambda value: str(value).ljust(source.numbers[0])
        case "interval day to second":
            return _days
        case "interval year to month":
            return lambda value: f"{'-' if value < 0 else ''}{abs(value) // 12}-{abs(value) % 12}"
        case "varbinary":
            return lambda value: bytes(value).decode("utf-8", "replace")
        case _:
            return str


def _days(value: int) -> str:
    seconds, millis = divmod(abs(value), 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{'-' if value < 0 else ''}{hours // 24} {hours % 24:02d}:{minute:02d}:{second:02d}.{millis:03d}"


def _varchar(source: Type, target: Type, zone: tzinfo) -> Convert:
    show, length = text_of(source), target.numbers[0] if target.numbers else None

    def convert(value: object) -> str:
        text = str(show(value))
        if length is None or len(text) <= length:
            return text
        if source.base == "bigint":
            raise bad_cast(f"Value {text} cannot be represented as varchar({length})")
        return text[:length] if source.base in _TEXT else text  # Presto keeps all else whole

    return convert


def _char(source: Type, target: Type, zone: tzinfo) -> Convert:
    show, length = text_of(source), target.numbers[0]
    return lambda value: str(show(value))[:length].rstrip(" ")


def _date(source: Type, target: Type, zone: tzinfo) -> Convert:
    return lambda value: parse_date(value.strip()) if isinstance(value, str) else value.date()


def _timestamp(source: Type, target: Type, zone: tzinfo) -> Convert:
    def convert(value: Any) -> datetime:
        if source.base == "time with time zone":
            return datetime(1970, 1, 1) + timedelta(milliseconds=clock_instant(value)) + offset_now(zone)
        if isinstance(value, str):
            value = parse_timestamp(value.strip())
        if isinstance(value, time):
            return datetime.combine(date(1970, 1, 1), value.replace(tzinfo=None))
        if not isinstance(value, datetime):
            return datetime.combine(value, time())
        # Presto keeps the instant and shows it in the session's zone.
        return value if value.tzinfo is None else value.astimezone(zone).replace(tzinfo=None)

    return convert


def _timestamp_tz(source: Type, target: Type, zone: tzinfo) -> Convert:
    def convert(value: Any) -> datetime:
        if source.base == "time with time zone":
            instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=clock_instant(value))
            return instant.astimezone(clock_of(value)[1])
        if isinstance(value, str):
            value = parse_timestamp(value.strip())
        if isinstance(value, time):
            value = datetime.combine(date(1970, 1, 1), value)
        if not isinstance(value, datetime):
            value = datetime.combine(value, time())
        return value if value.tzinfo is not None else local(value, zone)

    return convert


def _time(source: Type, target: Type, zone: tzinfo) -> Convert:
    def convert(value: Any) -> time:
        if source.base == "time with time zone":
            millis = clock_instant(value) + offset_now(zone) // timedelta(milliseconds=1)
            return (datetime.min + timedelta(milliseconds=millis % 86_400_000)).time()
        if isinstance(value, str):
            return parse_time(value.strip()).replace(tzinfo=None)
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(zone)
        return (value.time() if isinstance(value, datetime) else value).replace(tzinfo=None)

    return convert


def _time_tz(source: Type, target: Type, zone: tzinfo) -> Convert:
    def convert(value: Any) -> str:
        found = parse_time(value.strip()) if isinstance(value, str) else value
        if isinstance(found, datetime):
            instant = found if found.tzinfo is not None else local(found, zone)
            # The instant of the day, shown by the distance from UTC that the zone has now.
            shown = instant.tzinfo or UTC
            clock = instant.astimezone(UTC).replace(tzinfo=None) + offset_now(shown)
            return clock_text(clock.time(), shown)
        return clock_text(found, found.tzinfo or zone)

    return convert


def _uuid(source: Type, target: Type, zone: tzinfo) -> Convert:
    def convert(value: Any) -> str:
        if isinstance(value, bytes):
            if len(value) != 16:
                raise bad_cast(f"Invalid UUID binary length: {len(value)}")
            return str(uuid.UUID(bytes=value))
        if len(value) > 36 or not _UUID.fullmatch(value):
            raise ValueError(value)
        if len(value) != 36:
            raise bad_cast(f"Invalid UUID string length: {len(value)}")
        return _cut(value)

    return convert


def _cut(text: str) -> str:
    """Groups of other lengths than 8-4-4-4-12 lose their first digits and are filled up, as in Java."""
    groups = zip(text.lower().split("-"), (8, 4, 4, 4, 12), strict=True)
    return "-".join(group[-length:].rjust(length, "0") for group, length in groups)


def _ipaddress(source: Type, target: Type, zone: tzinfo) -> Convert:
    prefixed = source.base == "ipprefix"

    def convert(value: Any) -> str:
        if isinstance(value, bytes):
            if len(value) not in (4, 16):
                raise bad_cast(f"Invalid IP address binary length: {len(value)}")
            return canonical_address(ipaddress.ip_address(value))
        return canonical_address(ipaddress.ip_address(value.partition("/")[0] if prefixed else value))

    return convert


def canonical_address(address: object) -> str:
    """IPv4-mapped addresses are shown as IPv4, as Presto stores both alike."""
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _ipprefix(source: Type, target: Type, zone: tzinfo) -> Convert:
    def convert(value: str) -> str:
        if source.base == "ipaddress":
            return f"{value}/{32 if '.' in value else 128}"
        address, slash, length = value.partition("/")
        if not slash:
            raise ValueError(value)
        return str(ipaddress.ip_network(f"{canonical_address(ipaddress.ip_address(address))}/{length}", strict=False))

    return convert


def _varbinary(source: Type, target: Type, zone: tzinfo) -> Convert:
    def convert(value: Any) -> bytes:
        if source.base == "uuid":
            return uuid.UUID(value).bytes
        if source.base == "ipaddress":
            address = ipaddress.ip_address(value)
            return address.packed if address.version == 6 else b"\0" * 10 + b"\xff\xff" + address.packed
        return value if isinstance(value, bytes) else str(value).encode()

    return convert


def _sketch(source: Type, target: Type, zone: tzinfo) -> Convert:
    if (source.base, target.base) == ("hyperloglog", "p4hyperloglog"):
        return densified
    return lambda value: value


_SKETCHES = ("hyperloglog", "p4hyperloglog", "tdigest", "qdigest", "khyperloglog", "setdigest", "sfmsketch")
_BUILD: dict[str, Callable[[Type, Type, Any], Convert]] = {
    **dict.fromkeys(_BITS, _integer),
    "double": _double, "real": _double, "decimal": _decimal, "boolean": _boolean, "varchar": _varchar, "char": _char,
    "date": _date, "timestamp": _timestamp, "timestamp with time zone": _timestamp_tz, "time": _time,
    "time with time zone": _time_tz, "uuid": _uuid, "ipaddress": _ipaddress, "ipprefix": _ipprefix,
    "varbinary": _varbinary, **dict.fromkeys(_SKETCHES, _sketch),
}  # fmt: skip
