"""How much planning a user may have at the same time: one whose texts are heavy has one planner, not all of them.

What a statement takes below ``LIGHT`` seconds is not counted, so that many small ones never wait for this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

REFILL = 0.2
"""Of a second: a fifth of one planner is everybody's for ever."""
LIGHT = 0.5


@dataclass(slots=True)
class PlanningBudget:
    """Seconds of planners by user: ``burst`` at most, of which ``REFILL`` come back each second."""

    burst: float
    clock: Callable[[], float] = monotonic
    _spent: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By user: seconds owed, and when they were counted."""

    def spend(self, user: str, seconds: float) -> None:
        """A planner was the user's for so long."""
        now = self.clock()
        self._spent = {u: (owed, at) for u, (owed, at) in self._spent.items() if owed > REFILL * (now - at)}
        self._spent[user] = (self._owed(user, now) + max(0.0, seconds - LIGHT), now)

    def exceeded(self, user: str) -> bool:
        """Whether the user has had more than the burst lately."""
        return self._owed(user, self.clock()) > self.burst

    def _owed(self, user: str, now: float) -> float:
        owed, at = self._spent.get(user, (0.0, now))
        return max(0.0, owed - REFILL * (now - at))
