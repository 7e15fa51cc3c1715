"""Functions of dates and times."""

from __future__ import annotations

import math
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any

from ..errors import KernelError
from .date_texts import clock_instant, clock_of, clock_text, local
from .failures import check, invalid
from .iso8601 import from_iso8601_date, from_iso8601_timestamp
from .table import Signature, Table, plain, typed
from .zones import offset_now, offset_text, zone_of

_MILLI = timedelta(milliseconds=1)
_STEPS = {
    "millisecond": _MILLI, "second": timedelta(seconds=1), "minute": timedelta(minutes=1), "hour": timedelta(hours=1),
    "day": timedelta(days=1), "week": timedelta(weeks=1),
}  # fmt: skip
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def add_months(value: Any, months: int) -> Any:
    """``value`` moved by months, to the last day of a month that is too short."""
    year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    moved = value.replace(year=year, month=month + 1, day=min(value.day, monthrange(year, month + 1)[1]))
    return _in_zone_of(value, moved.replace(tzinfo=None)) if _has_zone(value) else moved


def _has_zone(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _in_zone_of(value: datetime, wall: datetime) -> datetime:
    """A wall's clock in the zone of ``value``: by the same offset where it holds, as Joda does; gaps are jumped."""
    same = _by_offset(value, wall)
    return same if same.utcoffset() == value.utcoffset() else local(wall, value.tzinfo or UTC)


def _by_offset(value: datetime, wall: datetime) -> datetime:
    """A wall's clock by the offset of ``value``, whatever its zone's clocks showed then."""
    return (wall - (value.utcoffset() or timedelta())).replace(tzinfo=UTC).astimezone(value.tzinfo)


def _unit(text: str, value: object) -> str:
    unit = text.lower()
    known = unit in _STEPS or unit in _MONTHS
    if isinstance(value, time) and unit not in ("millisecond", "second", "minute", "hour"):
        raise invalid(f"'{unit}' is not a valid Time field")
    if not isinstance(value, datetime | time) and (not known or unit in ("millisecond", "second", "minute", "hour")):
        raise invalid(f"'{unit}' is not a valid DATE field")
    if not known:
        raise invalid(f"'{unit}' is not a valid Timestamp field")
    return unit


def _zoned(change: Callable[[time], Any], value: str) -> str:
    """A time with time zone whose clock is changed."""
    clock, zone = clock_of(value)
    return clock_text(change(clock), zone)


def _add(unit: str, count: int, value: Any) -> object:
    if isinstance(value, str):
        return _zoned(lambda clock: _add(unit, count, clock), value)
    unit = _unit(unit, value)
    if unit in _MONTHS:
        return add_months(value, count * _MONTHS[unit])
    if isinstance(value, time):
        return (datetime.combine(date(2000, 1, 1), value) + count * _STEPS[unit]).timetz()
    if not _has_zone(value):
        return value + count * _STEPS[unit]
    if unit in ("day", "week"):
        return _in_zone_of(value, value.replace(tzinfo=None) + count * _STEPS[unit])
    return (value.astimezone(UTC) + count * _STEPS[unit]).astimezone(value.tzinfo)


def _diff(unit: str, start: object, end: Any) -> int:
    if isinstance(start, str):
        gap = clock_instant(end) - clock_instant(start)
        return int(math.copysign(1, gap)) * (abs(gap) // (_STEPS[_unit(unit, time())] // _MILLI))
    unit = _unit(unit, start)
    if isinstance(start, time):
        start, end = datetime.combine(date(2000, 1, 1), start), datetime.combine(date(2000, 1, 1), end)
    if isinstance(start, datetime) and start.tzinfo is not None:
        zone = UTC if unit in _STEPS and unit not in ("day", "week") else start.tzinfo
        start, end = (each.astimezone(zone).replace(tzinfo=None) for each in (start, end))
    if unit in _MONTHS:
        return _whole(start, end, _MONTHS[unit])
    gap = end - start
    sign = -1 if gap < timedelta() else 1
    return int(sign * (abs(gap) // _STEPS[unit]))


def _whole(start: Any, end: Any, step: int) -> int:
    """Whole months from the earlier to the later, as Joda counts them: adding them does not pass the later."""
    if end < start:
        return -_whole(end, start, step)
    months = (end.year - start.year) * 12 + end.month - start.month
    if add_months(start, months) > end:
        months -= 1
    return int(months // step)


def _trunc(unit: str, value: Any) -> object:
    if isinstance(value, str):
        return _zoned(lambda clock: _trunc(unit, clock), value)
    unit = _unit(unit, value)
    if isinstance(value, time):
        kept = ("hour", "minute", "second", "millisecond").index(unit)
        cut = {"minute": 0, "second": 0, "microsecond": 0}
        names = list(cut)[kept:]
        return value if unit == "millisecond" else value.replace(**dict.fromkeys(names, 0))  # type: ignore[arg-type]
    day = value if not isinstance(value, datetime) else value.date()
    if isinstance(value, datetime) and unit in ("millisecond", "second", "minute", "hour"):
        cut = {
            "hour": {"minute": 0, "second": 0, "microsecond": 0}, "minute": {"second": 0, "microsecond": 0},
            "second": {"microsecond": 0}, "millisecond": {"microsecond": value.microsecond // 1000 * 1000},
        }[unit]  # fmt: skip
        floor = value.replace(tzinfo=None, **cut)
        return _by_offset(value, floor) if _has_zone(value) else floor
    match unit:
        case "week":
            day -= timedelta(days=day.weekday())
        case "month":
            day = day.replace(day=1)
        case "quarter":
            day = day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            day = day.replace(month=1, day=1)
    if not isinstance(value, datetime):
        return day
    midnight = datetime.combine(day, time())
    return _in_zone_of(value, midnight) if _has_zone(value) else midnight


def _last_day(value: Any) -> date:
    day = value.date() if isinstance(value, datetime) else value
    return day.replace(day=monthrange(day.year, day.month)[1])


def _unixtime(value: datetime) -> float:
    return _millis(value) / 1000


def _millis(value: datetime) -> int:
    instant = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)) // _MILLI


def _to_unixtime(signature: Signature, value: datetime) -> float:
    return _unixtime(value if value.tzinfo is not None else local(value, signature.zone))


def _from_unixtime(signature: Signature, seconds: float, hours: Any = None, minutes: int = 0) -> datetime:
    if hours is None:
        zone = signature.zone
    elif isinstance(hours, str):
        zone = _known_zone(hours)
    else:
        zone = _fixed_zone(hours * 60 + minutes)
    check(seconds == seconds, "NaN is not a time")
    millis = int((Decimal(seconds) * 1000).to_integral_value("ROUND_HALF_UP"))
    instant = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)).astimezone(zone)
    return instant if signature.result.base == "timestamp with time zone" else instant.replace(tzinfo=None)


def _iso8601(signature: Signature, value: object) -> str:
    if not isinstance(value, datetime):
        return str(value)
    if value.tzinfo is None:
        value = local(value, signature.zone)
    text = f"{value.year:04d}-{value:%m-%dT%H:%M:%S}.{value.microsecond // 1000:03d}"
    offset = value.utcoffset() or timedelta()
    return text + ("Z" if not offset else offset_text(offset))


def _date(signature: Signature, value: object) -> date:
    from ..types import Type
    from .casts import caster

    return caster(signature.arguments[0], Type("date"), signature.zone)(value)  # type: ignore[no-any-return]


def _offset(value: Any) -> int:
    if isinstance(value, str):
        return offset_now(clock_of(value)[1]) // timedelta(minutes=1)
    return int((value.utcoffset() or timedelta()) // timedelta(minutes=1))


def _zone_part(index: int) -> Callable[..., object]:
    def part(value: object) -> int:
        minutes = _offset(value)
        sign = -1 if minutes < 0 else 1
        return sign * (abs(minutes) // 60 if index == 0 else abs(minutes) % 60)

    return part


def _day_time(value: object, field: str) -> int:
    if isinstance(value, str):
        value = time.fromisoformat(value.partition(" ")[0])
    return int(getattr(value, field))


def _interval_or(field: str) -> Callable[..., object]:
    steps = {"day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1000, "millisecond": 1}
    cycle = {"day": 1 << 62, "hour": 24, "minute": 60, "second": 60, "millisecond": 1000}

    def part(signature: Signature, value: Any) -> int:
        base = signature.arguments[0].base
        if base == "interval day to second":
            sign = -1 if value < 0 else 1
            return int(sign * (abs(value) // steps[field] % cycle[field]))
        if base == "interval year to month":
            sign = -1 if value < 0 else 1
            return int(sign * (abs(value) // 12 if field == "year" else abs(value) % 12))
        if field == "millisecond":
            return _day_time(value, "microsecond") // 1000
        return _day_time(value, field) if field in ("hour", "minute", "second") else int(getattr(value, field))

    return part


_MOST_DIGITS = 20
_UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6, "d": 8.64e7}


def _parse_duration(text: str) -> int:
    import re

    check(text != "", "duration is empty")
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*", text)
    if match is None:
        raise invalid(f"duration is not a valid data duration string: {text}")
    if match[2] not in _UNITS:
        raise invalid(f"Unknown time unit: {match[2]}")
    number = Decimal(match[1])
    check(number.adjusted() < _MOST_DIGITS, f"duration is too large: {text}")
    return int((number * Decimal(repr(_UNITS[match[2]]))).to_integral_value("ROUND_HALF_UP"))


def _known_zone(name: str) -> tzinfo:
    try:
        return zone_of(name)
    except ValueError as error:
        raise KernelError("NOT_SUPPORTED", f"Time zone not supported: {name}") from error


def _fixed_zone(minutes: int) -> tzinfo:
    check(abs(minutes) <= 14 * 60, f"Invalid offset minutes {minutes}")
    return timezone(timedelta(minutes=minutes))


def _at_timezone(value: Any, zone: int | str) -> object:
    target = _fixed_zone(zone // 60_000) if isinstance(zone, int) else _known_zone(zone)
    if isinstance(value, str):
        moved = clock_instant(value) + offset_now(target) // _MILLI
        return clock_text((datetime.min + timedelta(milliseconds=moved % 86_400_000)).time(), target)
    return value.astimezone(target)


def _with_timezone(value: datetime, zone: str) -> datetime:
    return local(value, _known_zone(zone))


_WEEK = lambda value: value.isocalendar().week  # noqa: E731
_YEAR_OF_WEEK = lambda value: value.isocalendar().year  # noqa: E731
_DAY_OF_WEEK = lambda value: value.isoweekday()  # noqa: E731
_DAY_OF_YEAR = lambda value: value.timetuple().tm_yday  # noqa: E731

DATES: Table = {
    **plain(
        date_add=_add, date_diff=_diff, date_trunc=_trunc, last_day_of_month=_last_day, week=_WEEK, week_of_year=_WEEK,
        year_of_week=_YEAR_OF_WEEK, yow=_YEAR_OF_WEEK, day_of_week=_DAY_OF_WEEK, dow=_DAY_OF_WEEK,
        day_of_year=_DAY_OF_YEAR, doy=_DAY_OF_YEAR, quarter=lambda value: (value.month - 1) // 3 + 1,
        day_of_month=lambda value: value.day, from_iso8601_date=from_iso8601_date, timezone_hour=_zone_part(0),
        timezone_minute=_zone_part(1), to_milliseconds=lambda value: value, parse_duration=_parse_duration,
        at_timezone=_at_timezone, with_timezone=_with_timezone,
    ),
    **typed(
        **{f: _interval_or(f) for f in ("year", "month", "day", "hour", "minute", "second", "millisecond")},
        to_unixtime=_to_unixtime, from_unixtime=_from_unixtime, to_iso8601=_iso8601,
        from_iso8601_timestamp=from_iso8601_timestamp, date=_date,
    ),
}  # fmt: skip
