"""Seconds that a query spent in each of the ten verbs of the line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, get_args

from coordinator.dispatch.clock import Clock

Verb = Literal["receive", "parse", "analyze", "plan", "optimize", "fragment", "check", "queue", "dispatch", "deliver"]
VERBS: tuple[Verb, ...] = get_args(Verb)


class Timeline:
    """Grows with its query; ``seconds()`` may be read at any moment, a running verb counts up to now; in any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seconds: dict[Verb, float] = {}
        self._running: dict[Verb, float] = {}

    def start(self, verb: Verb) -> None:
        """Begin ``verb``; beginning a running or ended one changes nothing."""
        if verb not in self._running and verb not in self._seconds:
            self._running[verb] = self._clock.monotonic()

    def stop(self, verb: Verb) -> None:
        """End ``verb``; ending one that is not running changes nothing."""
        started = self._running.pop(verb, None)
        if started is not None:
            self._seconds[verb] = self._clock.monotonic() - started

    def stop_all(self) -> None:
        """End whatever runs: the query is over."""
        for verb in tuple(self._running):
            self.stop(verb)

    @contextmanager
    def measure(self, verb: Verb) -> Iterator[None]:
        """``start`` and ``stop`` around a block."""
        self.start(verb)
        try:
            yield
        finally:
            self.stop(verb)

    def record(self, seconds: Mapping[str, float]) -> None:
        """Take verbs measured elsewhere (in a planner process); names that are no verb are left out."""
        for verb in VERBS:
            if verb in seconds:
                self._seconds[verb] = seconds[verb]

    def seconds(self) -> dict[Verb, float]:
        """Verbs begun so far, in the order of the line."""
        now = self._clock.monotonic()
        running = {verb: now - started for verb, started in tuple(self._running.items())}
        known = self._seconds | running
        return {verb: known[verb] for verb in VERBS if verb in known}
