"""How often open pages ask again, so that all of them together cost statements little.

Each page has an interval of its own. What pages would cost if all kept to theirs is estimated from what they cost now;
where that is more than their share of the machine, all are told to wait so many times longer.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable

SHARE = 0.02
"""Of the machine's CPU time, for pages that refresh themselves."""
REQUEST_SECONDS = 0.003
"""CPU time of a request beside the making of the page, under load: the server's loop, routing, authentication."""
_MEMORY_SECONDS = 20.0
_LONGEST = 20.0


class Pace:
    """Counts refreshes from any thread."""

    def __init__(self, cores: int | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._allowed = SHARE * (cores or os.cpu_count() or 1)
        self._now = now
        self._wanted = 0.0
        self._at = now()
        self._lock = threading.Lock()

    def count(self, seconds: float) -> float:
        """A page was refreshed, for ``seconds`` of CPU time; how many of its intervals it shall wait now, 1 to 20."""
        with self._lock:
            at = self._now()
            self._wanted *= math.exp((self._at - at) / _MEMORY_SECONDS)
            self._at = at
            # Who waits so many intervals asks so many times more rarely than its page wants.
            self._wanted += (seconds + REQUEST_SECONDS) * self._stretch() / _MEMORY_SECONDS
            return self._stretch()

    def _stretch(self) -> float:
        return min(max(self._wanted / self._allowed, 1.0), _LONGEST)
