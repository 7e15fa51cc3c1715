"""Dates and times as text, in Presto's forms."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from .zones import offset_now, zone_name, zone_of

_DATE = re.compile(r"([+-]?\d{1,6})-(\d{1,2})-(\d{1,2})")
_CLOCK = r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?"
_STAMP = re.compile(rf"([+-]?\d{{1,6}}-\d{{1,2}}-\d{{1,2}})(?:[ T]{_CLOCK})?\s*([A-Za-z+-][\w/+:-]*)?")
_TIME = re.compile(rf"{_CLOCK}\s*([A-Za-z+-][\w/+:-]*)?")


def local(wall: datetime, zone: tzinfo) -> datetime:
    """The instant when the zone's clocks show ``wall``; a gap is jumped over, as Joda's lenient chronology does."""
    instant = wall.replace(tzinfo=zone)
    back = instant.astimezone(UTC).astimezone(zone)
    return instant if back.replace(tzinfo=None) == wall else back


def parse_date(text: str) -> date:
    """``YYYY-MM-DD``; raises ValueError."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return date(int(match[1]), int(match[2]), int(match[3]))


def _clock(hour: str | None, minute: str, second: str | None, fraction: str | None) -> time:
    micros = int((fraction or "0")[:6].ljust(6, "0")) // 1000 * 1000
    return time(int(hour or 0), int(minute or 0), int(second or 0), micros)


def parse_timestamp(text: str) -> datetime:
    """With a zone's name or offset when the text ends with one; raises ValueError."""
    match = _STAMP.fullmatch(text)
    if match is None:
        raise ValueError(text)
    wall = datetime.combine(parse_date(match[1]), _clock(match[2], match[3], match[4], match[5]))
    try:
        return wall if match[6] is None else local(wall, zone_of(match[6]))
    except OverflowError as error:  # in UTC it is before the first year or after the last
        raise ValueError(text) from error


def parse_time(text: str) -> time:
    """With the offset that ends the text; raises ValueError."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    found = _clock(match[1], match[2], match[3], match[4])
    return found if match[5] is None else found.replace(tzinfo=zone_of(match[5]))


def clock_of(text: str) -> tuple[time, Any]:
    """A time with time zone, ``03:04:05.678 Asia/Kabul``, as its clock and its zone."""
    clock, _, zone = text.partition(" ")
    return time.fromisoformat(clock), zone_of(zone)


def clock_text(clock: time, zone: tzinfo) -> str:
    """The text that ``clock_of`` reads."""
    return f"{shown_time(clock.replace(tzinfo=None))} {zone_name(zone)}"


def clock_instant(text: str) -> int:
    """Milliseconds from UTC's midnight, by the offset that the zone has now: what orders times with time zone."""
    clock, zone = clock_of(text)
    wall = ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1000 + clock.microsecond // 1000
    return wall - offset_now(zone) // timedelta(milliseconds=1)


def shown_timestamp(value: datetime) -> str:
    """``2020-01-02 03:04:05.678``, with the zone when there is one."""
    text = f"{value.year:04d}-{value:%m-%d %H:%M:%S}.{value.microsecond // 1000:03d}"
    return text if value.tzinfo is None else f"{text} {zone_name(value.tzinfo)}"


def shown_time(value: time | str) -> str:
    """``03:04:05.678``."""
    return value if isinstance(value, str) else f"{value:%H:%M:%S}.{value.microsecond // 1000:03d}"
