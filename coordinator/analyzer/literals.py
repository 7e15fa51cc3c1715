"""Presto's literal texts as Python values: dates, times, timestamps with zones, intervals, decimals.

Values are those of ``shared.spi.procedure.Arguments`` and, for the types it does not name, of ``shared.plan.blocks``.
Every function raises ValueError for a text that is no literal of the type.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET = re.compile(r"([+-])(\d{1,2}):?(\d{2})?")
_TIMESTAMP = re.compile(
    r"(\d{4,6})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?(?:\s*(\S+))?"
)
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?(?:\s*(\S+))?")
_DECIMAL = re.compile(r"[+-]?(\d*)(?:\.(\d*))?")
_DAY_UNITS = ("day", "hour", "minute", "second")
_UNIT_MILLIS = {"day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1000, "week": 7 * 86_400_000}


def zone_of(name: str) -> tzinfo:
    """A zone by region name or offset."""
    if name.upper() in ("UTC", "Z", "GMT", "UT"):
        return UTC
    match = _OFFSET.fullmatch(name)
    if match:
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        if minutes > 14 * 60:
            raise ValueError(f"'{name}' is not a valid time zone")
        return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"'{name}' is not a valid time zone") from error


def parse_date(text: str) -> date:
    """``uuuu-MM-dd``."""
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None or match[4] is not None or match[8] is not None:
        raise ValueError(f"'{text}' is not a valid date literal")
    return date(int(match[1]), int(match[2]), int(match[3]))


def parse_timestamp(text: str) -> datetime:
    """A timestamp, aware when the text names a zone; cut to milliseconds, which is what Presto keeps."""
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is not a valid timestamp literal")
    year, month, day, hour, minute, second = (int(g or 0) for g in match.groups()[:6])
    zone = zone_of(match[8]) if match[8] else None
    return datetime(year, month, day, hour, minute, second, _micros(match[7]), tzinfo=zone)


def parse_time(text: str) -> time:
    """A time, aware when the text names an offset."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is not a valid time literal")
    hour, minute, second = (int(g or 0) for g in match.groups()[:3])
    return time(hour, minute, second, _micros(match[4]), tzinfo=zone_of(match[5]) if match[5] else None)


def _micros(fraction: str | None) -> int:
    return int((fraction or "0")[:3].ljust(3, "0")) * 1000


def parse_decimal(text: str) -> tuple[Decimal, int, int]:
    """The value with its precision and scale: ``'0.05'`` is decimal(2,2), ``'1.50'`` decimal(3,2)."""
    match = _DECIMAL.fullmatch(text.strip())
    if match is None or not (match[1] or match[2]):
        raise ValueError(f"Invalid decimal value '{text}'")
    whole, fraction = match[1].lstrip("0"), match[2] or ""
    precision, scale = len(whole) + len(fraction), len(fraction)
    precision = max(precision, 1)
    if precision > 38:
        raise ValueError(f"Invalid decimal value '{text}'")
    try:
        return Decimal(text.strip()), precision, scale
    except InvalidOperation as error:
        raise ValueError(f"Invalid decimal value '{text}'") from error


def parse_interval(text: str, sign: int, start: str, end: str | None) -> tuple[str, timedelta | int]:
    """The type and value of ``INTERVAL 'text' start [TO end]``: a timedelta, or months as an int."""
    text = text.strip()
    if text[:1] in "+-" and text:
        sign, text = (-sign if text[0] == "-" else sign), text[1:]
    if start in ("year", "month"):
        return "interval year to month", sign * _months(text, start, end)
    if start not in _UNIT_MILLIS or (end is not None and (start == "week" or end not in _DAY_UNITS)):
        raise ValueError(f"Invalid INTERVAL: {start} TO {end}" if end else f"Invalid INTERVAL unit: {start}")
    return "interval day to second", timedelta(milliseconds=sign * _millis(text, start, end))


def _months(text: str, start: str, end: str | None) -> int:
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if match is None or (match[2] is not None and (start, end) != ("year", "month")):
        raise ValueError(f"Invalid INTERVAL YEAR TO MONTH value: {text}")
    first, rest = int(match[1]), int(match[2] or 0)
    return first * 12 + rest if start == "year" else first


def _millis(text: str, start: str, end: str | None) -> int:
    fields = _DAY_UNITS[_DAY_UNITS.index(start) : _DAY_UNITS.index(end or start) + 1] if start != "week" else ("week",)
    parts = re.split(r"[ :]", text)
    if not 1 <= len(parts) <= len(fields) or not all(re.fullmatch(r"\d+(\.\d+)?", p) for p in parts):
        raise ValueError(f"Invalid INTERVAL {start.upper()} value: {text}")
    if any("." in part and field != "second" for part, field in zip(parts, fields, strict=False)):
        raise ValueError(f"Invalid INTERVAL {start.upper()} value: {text}")
    return sum(int(Decimal(part) * _UNIT_MILLIS[field]) for part, field in zip(parts, fields, strict=False))
