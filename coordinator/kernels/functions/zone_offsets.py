"""How far a zone's clocks are from UTC, for whole columns of moments: as ``zoneinfo`` tells it, looked up in tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

import numpy as np
import numpy.typing as npt

from ..kept import kept

Micros = npt.NDArray[np.int64]
SECOND = 1_000_000
_STEP = 3 * 86_400
"""Seconds; no zone left its offset for less since the first year of the tables."""
_FIRST, _LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (1970, 2040))


@dataclass(frozen=True, slots=True)
class ZoneTable:
    """Where the offset changes, in microseconds: ``after[i]`` holds from ``changes[i - 1]`` to ``changes[i]``.

    ``earlier`` and ``later`` are the changes on the wall's clock: until when a time that is there twice is the first of
    the two, and the second; a time that is left out is counted as if the clocks had not been changed.
    """

    zone: tzinfo
    changes: Micros
    after: Micros
    earlier: Micros
    later: Micros

    def offsets(self, instants: Micros) -> Micros:
        """Microseconds to add for the wall's clock. Raises OverflowError outside of the years 1 to 9999."""
        found = self.after[np.searchsorted(self.changes, instants, side="right")]
        return self._with_others(found, instants, self._at)

    def wall_offsets(self, walls: Micros, second: npt.NDArray[np.bool_]) -> Micros:
        """Microseconds to take from a wall's clock; ``second`` where it is the second of two equal times."""
        found = self.after[np.searchsorted(self.earlier, walls, side="right")]
        if second.any():
            found = np.where(second, self.after[np.searchsorted(self.later, walls, side="right")], found)
        return self._with_others(found, walls * 2 + second, self._at_wall, walls)

    def _with_others(
        self, found: Micros, keys: Micros, ask: Callable[[int], int], times: Micros | None = None
    ) -> Micros:
        times = keys if times is None else times
        outside = (times < _FIRST * SECOND) | (times >= _LAST * SECOND)
        if isinstance(self.zone, timezone) or not outside.any():
            return found
        different, places = np.unique(keys[outside], return_inverse=True)
        asked = np.array([ask(int(key)) for key in different], np.int64)
        found = found.copy()
        found[outside] = asked[places]
        return found

    def _at(self, micros: int) -> int:
        instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
        return _micros(instant.astimezone(self.zone).utcoffset())

    def _at_wall(self, key: int) -> int:
        wall = datetime(1970, 1, 1) + timedelta(microseconds=key // 2)
        return _micros(wall.replace(tzinfo=self.zone, fold=key % 2).utcoffset())


def _micros(offset: timedelta | None) -> int:
    return (offset or timedelta()) // timedelta(microseconds=1)


@kept(64)
def zone_table(zone: tzinfo) -> ZoneTable:
    """The table of a zone, made once a process."""
    if isinstance(zone, timezone):
        none = np.array([], np.int64)
        return ZoneTable(zone, none, np.array([_micros(zone.utcoffset(None))], np.int64), none, none)
    changes, after = [], [_offset(zone, _FIRST)]
    for start in range(_FIRST, _LAST, _STEP):
        end = min(start + _STEP, _LAST)
        if _offset(zone, end) != after[-1]:
            changes.append(_change(zone, start, end))
            after.append(_offset(zone, changes[-1]))
    at = np.array(changes, np.int64) * SECOND
    offsets = np.array(after, np.int64)
    return ZoneTable(
        zone, at, offsets, at + np.maximum(offsets[:-1], offsets[1:]), at + np.minimum(offsets[:-1], offsets[1:])
    )


def _offset(zone: tzinfo, second: int) -> int:
    return _micros(datetime.fromtimestamp(second, zone).utcoffset())


def _change(zone: tzinfo, start: int, end: int) -> int:
    """The first second of the offset at ``end``, which is not that at ``start``."""
    before = _offset(zone, start)
    while end - start > 1:
        middle = (start + end) // 2
        if _offset(zone, middle) == before:
            start = middle
        else:
            end = middle
    return end
