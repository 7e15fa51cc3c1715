"""What the last hour was like: a bounded ring of numbers in memory, a sample each ten seconds."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.failures import internal_error
from coordinator.dispatch.totals import percentile

INTERVAL = 10.0
KEPT = 360


@dataclass(frozen=True, slots=True)
class Sample:
    """Of one interval; rates are a second, latencies in seconds, ``memory`` in bytes."""

    time: datetime
    running: int
    queued: int
    rate: float
    failed: float
    median: float
    slow: float
    memory: int


class Activity:
    """Samples while it runs; on the event loop, in a millisecond."""

    def __init__(self, dispatcher: Dispatcher, memory: Callable[[], int] | None = None) -> None:
        self._dispatcher = dispatcher
        self._memory = memory or resident_memory
        self._samples: deque[Sample] = deque(maxlen=KEPT)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The oldest first."""
        return tuple(self._samples)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._sample_forever(), name="ui-activity")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _sample_forever(self) -> None:
        while True:
            try:
                self._samples.append(self.sample())
            except Exception as error:
                internal_error(error)
            await asyncio.sleep(INTERVAL)

    def stamp(self) -> str:
        """The same as long as no query begins, goes on or ends, up to ten seconds."""
        counts = self._dispatcher.totals.counts
        changes = [counts[name] for name in ("SubmittedQueries", "StartedQueries", "CompletedQueries")]
        active = self._dispatcher.clock.monotonic() if running_and_queued(self._dispatcher) != (0, 0) else 0.0
        newest = self._samples[-1].time if self._samples else None
        return f"{changes} {active:.0f} {newest}"

    def sample(self) -> Sample:
        """Now."""
        running, queued = running_and_queued(self._dispatcher)
        window = self._dispatcher.totals.last(INTERVAL)
        times = [run + wait for run, wait in zip(window.execution, window.queued, strict=True)]
        return Sample(
            datetime.now(UTC),
            running,
            queued,
            window.counts["CompletedQueries"] / INTERVAL,
            window.counts["FailedQueries"] / INTERVAL,
            percentile(times, 0.5),
            percentile(times, 0.95),
            self._memory(),
        )


def running_and_queued(dispatcher: Dispatcher) -> tuple[int, int]:
    """By the resource groups, which know without a look at each query."""
    roots = dispatcher.groups.roots
    return sum(root.running_total for root in roots), sum(root.queued_total for root in roots)


def resident_memory() -> int:
    """Bytes of this process."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * 4096
