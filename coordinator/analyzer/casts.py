# ruff: noqa: ARG001, TRY004
# Every conversion has one signature, so that they stand in one table.
"""CAST: which pairs of types Presto casts, and the cast of a constant in Python.

Source: Presto's cast operators. Errors carry Presto's texts: ``Cannot cast 'x' to BIGINT`` (INVALID_CAST_ARGUMENT),
``Out of range for tinyint: 300`` (NUMERIC_VALUE_OUT_OF_RANGE).
"""

from __future__ import annotations

import ipaddress
import json
import math
import struct
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any
from uuid import UUID

import numpy as np

from coordinator.analyzer.literals import parse_date, parse_time, parse_timestamp
from coordinator.analyzer.moments import note_clock
from coordinator.analyzer.types import INTEGERS, NUMERIC, length_of, type_text
from shared.errors import ErrorCode, ProcessionError
from shared.plan.types import Type

_WIDTH = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}
_EXACT = Context(prec=80)
_TEXT = ("varchar", "char")
_DATETIME = ("date", "timestamp", "timestamp with time zone")
_FROM_TEXT = (
    *NUMERIC, *_TEXT, *_DATETIME, "boolean", "varbinary", "json", "time", "time with time zone", "uuid", "ipaddress",
    "ipprefix",
)  # fmt: skip
_CASTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(NUMERIC, (*NUMERIC, "varchar", "boolean", "json")),
    "boolean": (*NUMERIC, "varchar", "json"),
    "varchar": _FROM_TEXT,
    "char": (*INTEGERS, "real", "double", *_TEXT),
    "date": (*_DATETIME, "varchar", "json"),
    "timestamp": (*_DATETIME, "time", "varchar", "json", "time with time zone"),
    "timestamp with time zone": (*_DATETIME, "time", "time with time zone", "varchar"),
    "time": ("time with time zone", "timestamp", "timestamp with time zone", "varchar"),
    "time with time zone": ("time", "timestamp", "timestamp with time zone", "varchar"),
    "json": (*NUMERIC, "varchar", "boolean", "array", "map", "row"),
    "array": ("json",),
    "map": ("json",),
    "row": ("json",),
    "uuid": ("varchar", "varbinary"),
    "ipaddress": ("varchar", "varbinary", "ipprefix"),
    "ipprefix": ("varchar", "ipaddress"),
    "varbinary": ("hyperloglog", "uuid", "ipaddress", "tdigest", "qdigest", "khyperloglog", "setdigest"),
    "interval day to second": ("varchar",),
    "interval year to month": ("varchar",),
    "hyperloglog": ("varbinary",),
    "tdigest": ("varbinary",),
    "qdigest": ("varbinary",),
}


def can_cast(source: Type, target: Type) -> bool:
    """Whether ``CAST(source AS target)`` exists."""
    if source == target or source.base == "unknown":
        return True
    if source.base == target.base and source.base in ("array", "map", "row"):
        if len(source.parameters) != len(target.parameters):
            return False
        return all(can_cast(s, t) for s, t in zip(source.arguments, target.arguments, strict=True))
    if source.base == target.base:
        return True
    if source.base in ("uuid", "ipaddress", "ipprefix") and target.base == "varchar":
        return not target.numbers
    return target.base in _CASTS.get(source.base, ())


def cast_value(value: Any, source: Type, target: Type, zone: tzinfo) -> Any:
    """The Python value of a cast; raises ProcessionError as Presto does at run time."""
    if value is None or source == target:
        return value
    if source.base == target.base and source.base in ("array", "map", "row"):
        return _cast_nested(value, source, target, zone)
    if target.base in INTEGERS:
        return _to_integer(value, source, target)
    if target.base in _CONVERT:
        try:
            return _CONVERT[target.base](value, source, target, zone)
        except (ValueError, InvalidOperation, OverflowError) as error:
            raise _invalid(value, target) from error
    raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Cannot fold a cast of {source} to {target}")


def foldable(source: Type, target: Type) -> bool:
    """Whether ``cast_value`` knows the pair."""
    if source.base == target.base and source.base in ("array", "map", "row"):
        return all(foldable(s, t) for s, t in zip(source.arguments, target.arguments, strict=True))
    if source.base == "unknown" or source == target:
        return True
    if target.base in ("json", "ipprefix") or (source.base in ("double", "real") and target.base in INTEGERS):
        return False
    return (target.base in INTEGERS or target.base in _CONVERT) and source.base not in (
        "array", "map", "row", "json", "hyperloglog", "varbinary", "geometry", "ipprefix", "time with time zone",
        "timestamp with time zone",
        "interval day to second", "interval year to month",
    )  # fmt: skip


def _cast_nested(value: Any, source: Type, target: Type, zone: tzinfo) -> Any:
    pairs = list(zip(source.arguments, target.arguments, strict=True))
    if source.base == "array":
        return tuple(cast_value(v, *pairs[0], zone) for v in value)
    if source.base == "map":
        return {cast_value(k, *pairs[0], zone): cast_value(v, *pairs[1], zone) for k, v in value.items()}
    return tuple(cast_value(v, s, t, zone) for v, (s, t) in zip(value, pairs, strict=True))


def _invalid(value: Any, target: Type) -> ProcessionError:
    shown = f"'{value}'" if isinstance(value, str) else str(value)
    # Presto's cast of text says INT.
    name = "INT" if target.base == "integer" and isinstance(value, str) else type_text(target).upper()
    if isinstance(value, str) and target.base in _DATETIME:
        return ProcessionError(ErrorCode.INVALID_CAST_ARGUMENT, f"Value cannot be cast to {target}: {value}")
    return ProcessionError(ErrorCode.INVALID_CAST_ARGUMENT, f"Cannot cast {shown} to {name}")


def _to_integer(value: Any, source: Type, target: Type) -> int:
    if isinstance(value, str):
        try:
            number = int(value.strip()) if value.strip().lstrip("+-").isdecimal() else None
        except ValueError:
            number = None
        if number is None or not _fits(number, target):
            raise _invalid(value, target)
        return number
    if isinstance(value, float) and not math.isfinite(value):
        raise _invalid(value, target)
    if source.base not in NUMERIC and source.base != "boolean":
        raise _invalid(value, target)
    number = int(value) if isinstance(value, int) else int(Decimal(value).to_integral_value(ROUND_HALF_UP))
    if not _fits(number, target):
        shown = f"Out of range for {target}: {value}"
        raise ProcessionError(ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, shown)
    return number


def _fits(number: int, target: Type) -> bool:
    bound = 1 << (_WIDTH[target.base] - 1)
    return -bound <= number < bound


def _to_double(value: Any, source: Type, target: Type, _zone: tzinfo) -> float:
    number = float(value.strip() if isinstance(value, str) else value)
    if target.base == "real" and math.isfinite(number):
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    return number


def _to_decimal(value: Any, source: Type, target: Type, _zone: tzinfo) -> Decimal:
    if isinstance(value, float):
        value = _shortest(value) if source.base == "real" else value
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    precision, scale = target.numbers
    rounded = exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    if rounded and rounded.adjusted() + 1 > precision - scale:
        shown = f"'{value}'" if isinstance(value, str) else str(value)
        code = ErrorCode.INVALID_CAST_ARGUMENT
        raise ProcessionError(code, f"Cannot cast {source.base.upper()} {shown} to {str(target).upper()}")
    return rounded


def _to_boolean(value: Any, source: Type, target: Type, _zone: tzinfo) -> bool:
    if not isinstance(value, str):
        return bool(value)
    text = value.lower()
    if text in ("true", "t", "1"):
        return True
    if text in ("false", "f", "0"):
        return False
    raise ValueError(value)


def _to_text(value: Any, source: Type, target: Type, zone: tzinfo) -> str:
    text = _text_of(value, source, zone)
    if target.base == "char":
        return text[: length_of(target)].rstrip(" ")
    if len(text) > length_of(target):
        if source.base in _TEXT:
            return text[: length_of(target)]
        if source.base == "bigint":  # the others keep what is beyond the length
            message = f"Value {text} cannot be represented as {target}"
            raise ProcessionError(ErrorCode.INVALID_CAST_ARGUMENT, message)
    return text


def _text_of(value: Any, source: Type, _zone: tzinfo) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(_shortest(value) if source.base == "real" else value)
    if isinstance(value, datetime):
        text = f"{value:%Y-%m-%d %H:%M:%S}.{value.microsecond // 1000:03d}"
        return text if value.tzinfo is None else f"{text} {_zone_text(value)}"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, time):
        return f"{value:%H:%M:%S}.{value.microsecond // 1000:03d}"
    if source.base == "char":
        return str(value).ljust(length_of(source))
    if isinstance(value, int | str | date | UUID):
        return str(value)
    raise ValueError(value)


def _zone_text(value: datetime) -> str:
    minutes = (value.utcoffset() or timedelta()) // timedelta(minutes=1)
    offset = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}" if minutes else "UTC"
    return str(getattr(value.tzinfo, "key", None) or offset)


def _shortest(value: float) -> float:
    """The double with the fewest digits that stand for ``value`` alone among numbers of four bytes."""
    return float(str(np.float32(value)))


def java_double(value: float) -> str:
    """A double as Java prints it, which is how Presto casts it to varchar: ``1.0E10``, ``0.1``, ``NaN``."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value) if "e" not in repr(value) else f"{Decimal(repr(value)):f}"
    digits = Decimal(repr(value)).normalize()
    mantissa = digits.scaleb(-digits.adjusted())
    text = f"{mantissa:f}"
    return f"{text if '.' in text else text + '.0'}E{digits.adjusted()}"


def _to_date(value: Any, source: Type, target: Type, zone: tzinfo) -> date:
    if isinstance(value, str):
        return parse_date(value)
    return value.date() if isinstance(value, datetime) else _checked(value, date)


def _to_timestamp(value: Any, source: Type, target: Type, zone: tzinfo) -> datetime:
    found = parse_timestamp(value) if isinstance(value, str) else value
    if isinstance(found, datetime):
        # Presto keeps the instant and shows it in the session's zone.
        return found if found.tzinfo is None else found.astimezone(zone).replace(tzinfo=None)
    return datetime.combine(_checked(found, date), time())


def _to_timestamp_tz(value: Any, source: Type, target: Type, zone: tzinfo) -> datetime:
    found = parse_timestamp(value) if isinstance(value, str) else value
    if not isinstance(found, datetime):
        found = datetime.combine(_checked(found, date), time())
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)


def _to_time(value: Any, source: Type, target: Type, zone: tzinfo) -> time:
    if isinstance(value, str):
        return parse_time(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(zone)
    return value.time() if isinstance(value, datetime) else _checked(value, time).replace(tzinfo=None)


def _to_time_tz(value: Any, source: Type, target: Type, zone: tzinfo) -> time:
    found = _to_time(value, source, target, zone)
    if found.tzinfo is None:
        note_clock()
        offset = datetime.now(zone).utcoffset() or timedelta()
        return found.replace(tzinfo=timezone(offset))
    return found


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return value


def _to_uuid(value: Any, source: Type, target: Type, zone: tzinfo) -> UUID:
    return UUID(_checked(value, str))


def _to_address(value: Any, source: Type, target: Type, zone: tzinfo) -> Any:
    return ipaddress.ip_address(_checked(value, str))


def _to_prefix(value: Any, source: Type, target: Type, zone: tzinfo) -> Any:
    address, slash, length = _checked(value, str).partition("/")
    parsed = ipaddress.ip_address(address)
    if not slash:
        raise ValueError(value)
    return ipaddress.ip_network(f"{getattr(parsed, 'ipv4_mapped', None) or parsed}/{length}", strict=False)


def _to_json(value: Any, source: Type, target: Type, zone: tzinfo) -> str:
    if source.base not in (*NUMERIC, *_TEXT, "boolean") or source.base == "decimal":
        raise ValueError(value)
    return json.dumps(value, ensure_ascii=False)


_CONVERT: dict[str, Callable[[Any, Type, Type, tzinfo], Any]] = {
    "double": _to_double,
    "real": _to_double,
    "decimal": _to_decimal,
    "boolean": _to_boolean,
    "varchar": _to_text,
    "char": _to_text,
    "date": _to_date,
    "timestamp": _to_timestamp,
    "timestamp with time zone": _to_timestamp_tz,
    "time": _to_time,
    "time with time zone": _to_time_tz,
    "uuid": _to_uuid,
    "ipaddress": _to_address,
    "ipprefix": _to_prefix,
    "json": _to_json,
}
