"""How many pre-checks are taken on: gateways must not crowd out those who want to run something."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic


class TooManyRequestsError(Exception):
    """``seconds``: when to come again, whole and at least one."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"come again in {seconds} s")
        self.seconds = max(1, math.ceil(seconds))


class RateLimit:
    """A token bucket and a bound on what is under way. Belongs to one event loop."""

    def __init__(self, rate: float, burst: int, max_concurrent: int, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._burst, self._max_concurrent, self._clock = rate, burst, max_concurrent, clock
        self._tokens, self._since, self._under_way = float(burst), clock(), 0
        self.refused = 0

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Around one pre-check; raises TooManyRequestsError."""
        if self._under_way >= self._max_concurrent:
            self.refused += 1
            raise TooManyRequestsError(1.0)
        self.take()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def take(self) -> None:
        """Count one; raises TooManyRequestsError when the rate is exceeded."""
        wait = self.wait_seconds()
        if wait > 0:
            self.refused += 1
            raise TooManyRequestsError(wait)
        self._tokens -= 1

    def wait_seconds(self) -> float:
        """Until the next one may be counted; 0 for now."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._since) * self._rate)
        self._since = now
        return max(0.0, (1 - self._tokens) / self._rate)
