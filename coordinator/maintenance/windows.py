"""When maintenance may run: ``Mon-Fri 22:00-05:00 Europe/Berlin; Sat-Sun 00:00-24:00 Europe/Berlin``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WINDOW = re.compile(
    r"(?P<first>[A-Za-z]{3})(?:-(?P<last>[A-Za-z]{3}))?\s+"
    r"(?P<start>\d{1,2}:\d{2})-(?P<end>\d{1,2}:\d{2})(?:\s+(?P<zone>[A-Za-z0-9_+/-]+))?"
)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Window:
    """Days of the week (0 is Monday) on which it opens, minutes of the day; it closes on the next day if ``end`` is
    not after ``start``."""

    days: frozenset[int]
    start: int
    end: int
    zone: ZoneInfo

    def closes(self, instant: datetime) -> datetime | None:
        """When the window that is open at a moment closes, in UTC; None while it is closed."""
        local = instant.astimezone(self.zone).date()
        for day in (local, local - _DAY):
            if day.weekday() not in self.days:
                continue
            over_midnight = self.end <= self.start
            opened, closed = self._at(day, self.start), self._at(day + _DAY if over_midnight else day, self.end)
            if opened <= instant < closed:
                return closed
        return None

    def _at(self, day: date, minutes: int) -> datetime:
        """A clock time of a day as a moment; one that the zone leaves out is that of the clock before the change."""
        more, minutes = divmod(minutes, 24 * 60)
        return datetime.combine(day + more * _DAY, time(minutes // 60, minutes % 60), self.zone).astimezone(UTC)


def parse_windows(text: str) -> tuple[Window, ...]:
    """The windows of a setting, none for an empty text. Raises ValueError."""
    return tuple(_parse(part.strip()) for part in text.split(";") if part.strip())


def open_until(windows: Sequence[Window], instant: datetime) -> datetime | None:
    """Until when maintenance may run without a break; None while it may not. Without windows it always may."""
    if not windows:
        return datetime.max.replace(tzinfo=UTC)
    until: datetime | None = None
    for _ in range(2 * len(_DAYS) * len(windows)):
        ends = [end for window in windows if (end := window.closes(until or instant)) is not None]
        if not ends:
            break
        until = max(ends)
    return until


def _parse(text: str) -> Window:
    found = _WINDOW.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no window (write it like Mon-Fri 22:00-05:00 Europe/Berlin)")
    first = _day(found["first"])
    last = first if found["last"] is None else _day(found["last"])
    days = frozenset((first + i) % 7 for i in range((last - first) % 7 + 1))
    start, end = _minutes(found["start"]), _minutes(found["end"])
    if start == 24 * 60:
        raise ValueError(f"a window cannot start at {found['start']}")
    try:
        zone = ZoneInfo(found["zone"] or "UTC")
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"no time zone is named '{found['zone']}'") from error
    return Window(days, start, end, zone)


def _day(name: str) -> int:
    if name.lower() not in _DAYS:
        raise ValueError(f"'{name}' is no day of the week ({', '.join(day.capitalize() for day in _DAYS)})")
    return _DAYS.index(name.lower())


def _minutes(text: str) -> int:
    hours, minutes = (int(part) for part in text.split(":"))
    total = hours * 60 + minutes
    if minutes > 59 or total > 24 * 60:
        raise ValueError(f"'{text}' is no time of day")
    return total
