"""How much planning a user may have at the same time: one whose texts are heavy has one planner, not all of them.

Long texts are counted apart, so that the short ones of the same user need not wait for them.

What a statement takes below ``LIGHT`` seconds is not counted, so that many small ones never wait for this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

REFILL = 0.2
"""Of a second: a fifth of one planner is everybody's for ever."""
LIGHT = 0.5

Key = tuple[str, bool]
"""A user, and whether the texts are long."""


@dataclass(slots=True)
class PlanningBudget:
    """Seconds of planners by key: ``burst`` at most, of which ``REFILL`` come back each second."""

    burst: float
    clock: Callable[[], float] = monotonic
    _spent: dict[Key, tuple[float, float]] = field(default_factory=dict)
    """By key: seconds owed, and when they were counted."""

    def spend(self, key: Key, seconds: float) -> None:
        """A planner was the key's for so long."""
        now = self.clock()
        self._spent = {k: (owed, at) for k, (owed, at) in self._spent.items() if owed > REFILL * (now - at)}
        self._spent[key] = (self._owed(key, now) + max(0.0, seconds - LIGHT), now)

    def exceeded(self, key: Key) -> bool:
        """Whether it has had more than the burst lately."""
        return self._owed(key, self.clock()) > self.burst

    def _owed(self, key: Key, now: float) -> float:
        owed, at = self._spent.get(key, (0.0, now))
        return max(0.0, owed - REFILL * (now - at))
