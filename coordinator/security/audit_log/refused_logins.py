"""Refused logins of one address, which need no secret: after the first of a minute they are counted and not written."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

_SECONDS = 60.0
_MOST_LINES = 60
"""Of one address within a minute."""
_MOST_ADDRESSES = 1000
"""That have lines of their own within a minute; all others count as one."""


@dataclass(slots=True)
class _Minute:
    lines: int = 0
    left_out: int = 0


class RefusedLogins:
    """For one caller at a time. What is left out is said when the minute is over, or at the next that is asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._minutes: dict[str | None, _Minute] = {}

    def take(self, address: str | None) -> bool:
        """Whether this one has a line of its own."""
        one = self._minutes.get(address)
        if one is None:
            known = len(self._minutes) < _MOST_ADDRESSES
            one = self._minutes.setdefault(address if known else None, _Minute())
        if one.lines < _MOST_LINES:
            one.lines += 1
            return True
        one.left_out += 1
        return False

    def left_out(self, *, at_the_end: bool = False) -> list[tuple[str | None, int]]:
        """How many had no line, by their address, of a minute that is over."""
        now = self._clock()
        if not at_the_end and now - self._begun < _SECONDS:
            return []
        found = [(address, one.left_out) for address, one in self._minutes.items() if one.left_out]
        self._minutes, self._begun = {}, now
        return found
