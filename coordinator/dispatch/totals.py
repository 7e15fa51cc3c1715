"""How queries ended and what they took: since the start, and over the last minutes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

from coordinator.dispatch.clock import Clock
from coordinator.dispatch.query import Query
from coordinator.dispatch.stats import elapsed_seconds, execution_seconds, queued_seconds

SLOT_SECONDS = 5.0
_LONGEST = 15 * 60.0
_SAMPLES = 200
"""Durations that one slot keeps, of the first queries in it."""
BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Seconds; of the histogram of elapsed times."""
_KINDS = {
    "USER_ERROR": "UserErrorFailures",
    "INTERNAL_ERROR": "InternalFailures",
    "EXTERNAL": "ExternalFailures",
    "INSUFFICIENT_RESOURCES": "InsufficientResourcesFailures",
}
_NAMED = {"ABANDONED_QUERY": "AbandonedQueries", "USER_CANCELED": "CanceledQueries"}


@dataclass(slots=True)
class _Slot:
    begun: float
    counts: Counter[str] = field(default_factory=Counter)
    execution: list[float] = field(default_factory=list)
    queued: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Window:
    """What happened within some seconds until now."""

    counts: Counter[str]
    execution: list[float]
    queued: list[float]


class Totals:
    """Counts have Presto's names: StartedQueries, CompletedQueries, FailedQueries and the kinds of failures."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.ended: Counter[str] = Counter()
        """By error name, or FINISHED."""
        self.verb_seconds: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        self.elapsed_counts = [0] * (len(BOUNDS) + 1)
        self.elapsed_sum = 0.0
        self._slots: deque[_Slot] = deque()

    def submitted(self) -> None:
        """A statement was received."""
        self._count(["SubmittedQueries"])

    def started(self) -> None:
        """One began to be planned."""
        self._count(["StartedQueries"])

    def add(self, query: Query) -> None:
        """One has ended."""
        self.ended["FINISHED" if query.error is None else query.error.code.name] += 1
        for verb, seconds in query.timeline.seconds().items():
            self.verb_seconds[verb] = self.verb_seconds.get(verb, 0.0) + seconds
        self._count(list(_kinds(query)))
        slot = self._slot()
        slot.counts["cpu_milliseconds"] += round(query.cpu_seconds * 1000)
        slot.counts["input_bytes"] += query.progress.processed_bytes
        if len(slot.execution) < _SAMPLES:
            slot.execution.append(execution_seconds(query))
            slot.queued.append(queued_seconds(query))
        elapsed = elapsed_seconds(query)
        self.elapsed_sum += elapsed
        self.elapsed_counts[next((i for i, bound in enumerate(BOUNDS) if elapsed <= bound), len(BOUNDS))] += 1

    def last(self, seconds: float) -> Window:
        """The window of so many seconds, to the slot."""
        since = self._clock.monotonic() - seconds
        slots = [slot for slot in self._slots if slot.begun + SLOT_SECONDS > since]
        counts: Counter[str] = Counter()
        for slot in slots:
            counts.update(slot.counts)
        return Window(counts, [s for slot in slots for s in slot.execution], [s for slot in slots for s in slot.queued])

    def _count(self, names: list[str]) -> None:
        self.counts.update(names)
        self._slot().counts.update(names)

    def _slot(self) -> _Slot:
        now = self._clock.monotonic()
        if not self._slots or now >= self._slots[-1].begun + SLOT_SECONDS:
            self._slots.append(_Slot(now))
            while self._slots[0].begun < now - _LONGEST - SLOT_SECONDS:
                self._slots.popleft()
        return self._slots[-1]


def _kinds(query: Query) -> Iterator[str]:
    yield "CompletedQueries"
    if query.error is not None:
        yield "FailedQueries"
        yield _KINDS[query.error.code.type]
        if (named := _NAMED.get(query.error.code.name)) is not None:
            yield named


def percentile(values: list[float], share: float) -> float:
    """By nearest rank; 0 of nothing."""
    return sorted(values)[max(0, ceil(len(values) * share) - 1)] if values else 0.0
