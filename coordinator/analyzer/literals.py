"""Presto's literal texts as Python values: intervals and decimals.

Values are those of ``shared.spi.procedure.Arguments`` and, for the types it does not name, of ``shared.plan.blocks``.
Every function raises ValueError for a text that is no literal of the type.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal, InvalidOperation

_DECIMAL = re.compile(r"[+-]?(\d*)(?:\.(\d*))?")
_NUMBER = r"0*\d{1,18}"
"""More digits are no interval, and take long to read."""
_DAY_UNITS = ("day", "hour", "minute", "second")
_UNIT_MILLIS = {"day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1000, "week": 7 * 86_400_000}


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
    try:
        return "interval day to second", timedelta(milliseconds=sign * _millis(text, start, end))
    except OverflowError as error:
        raise ValueError(f"Invalid INTERVAL {start.upper()} value: {text}") from error


def _months(text: str, start: str, end: str | None) -> int:
    match = re.fullmatch(rf"({_NUMBER})(?:-({_NUMBER}))?", text)
    if match is None or (match[2] is not None and (start, end) != ("year", "month")):
        raise ValueError(f"Invalid INTERVAL YEAR TO MONTH value: {text}")
    first, rest = int(match[1]), int(match[2] or 0)
    return first * 12 + rest if start == "year" else first


def _millis(text: str, start: str, end: str | None) -> int:
    fields = _DAY_UNITS[_DAY_UNITS.index(start) : _DAY_UNITS.index(end or start) + 1] if start != "week" else ("week",)
    parts = re.split(r"[ :]", text, maxsplit=len(fields))
    if not 1 <= len(parts) <= len(fields) or not all(re.fullmatch(rf"{_NUMBER}(\.\d+)?", p) for p in parts):
        raise ValueError(f"Invalid INTERVAL {start.upper()} value: {text}")
    if any("." in part and field != "second" for part, field in zip(parts, fields, strict=False)):
        raise ValueError(f"Invalid INTERVAL {start.upper()} value: {text}")
    return sum(int(Decimal(part) * _UNIT_MILLIS[field]) for part, field in zip(parts, fields, strict=False))
