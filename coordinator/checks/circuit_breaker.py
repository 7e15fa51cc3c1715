"""A circuit breaker: after enough failures in a row, callers are told at once instead of waiting for time-outs."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum


class BreakerState(Enum):
    """CLOSED lets calls pass, OPEN refuses them, HALF_OPEN has let one pass and waits for its outcome."""

    CLOSED = 0
    HALF_OPEN = 1
    OPEN = 2


class CircuitBreaker:
    """CLOSED → OPEN after ``threshold`` failures in a row; after ``reset_seconds`` one trial call decides.

    For one event loop. ``on_state`` is called with each new state, for a metric. A trial whose caller never reports
    back (cancelled, killed) is given up after another ``reset_seconds``.
    """

    def __init__(
        self,
        threshold: int,
        reset_seconds: float,
        *,
        now: Callable[[], float] = time.monotonic,
        on_state: Callable[[BreakerState], None] = lambda _state: None,
    ) -> None:
        self._threshold = threshold
        self._reset_seconds = reset_seconds
        self._now = now
        self._on_state = on_state
        self._state = BreakerState.CLOSED
        self._failures = 0
        self._since = 0.0

    @property
    def state(self) -> BreakerState:
        return self._state

    def allow(self) -> bool:
        """Whether a call may go out now; a True while not CLOSED is the trial, so report its outcome."""
        if self._state is BreakerState.CLOSED:
            return True
        if self._now() - self._since < self._reset_seconds:
            return False
        self._enter(BreakerState.HALF_OPEN)
        return True

    def succeeded(self) -> None:
        """A call was answered."""
        self._failures = 0
        if self._state is not BreakerState.CLOSED:
            self._enter(BreakerState.CLOSED)

    def failed(self) -> None:
        """A call was not answered."""
        self._failures += 1
        if self._state is BreakerState.HALF_OPEN or self._failures >= self._threshold:
            self._enter(BreakerState.OPEN)

    def _enter(self, state: BreakerState) -> None:
        self._since = self._now()
        if state is not self._state:
            self._state = state
            self._on_state(state)
