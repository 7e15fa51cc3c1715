"""Takes events and hands them to listeners, each on a thread of its own, so that no statement ever waits for one."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic, thread_time
from typing import Generic, TypeVar

import structlog

from shared.spi.event_listener import Event, EventListener, QueryStartedEvent

_log = structlog.get_logger(__name__)

Make = Callable[[], Event | None]
"""Makes an event, once, on the thread of events; None when there is nothing to tell after all."""
Publish = Callable[[Make], None]
"""Takes what makes an event; returns at once, from any thread."""

T = TypeVar("T")

QUEUED = 10_000
BATCH = 500


def publish_nothing(_make: Make) -> None:
    """For who has no listeners."""


@dataclass(frozen=True, slots=True)
class NamedListener:
    """``linger``: seconds that its thread gathers events after the first one.

    ``starts``: whether it is told that statements have begun to run, which says nothing of them that is new.
    """

    name: str
    listener: EventListener
    linger: float = 0.1
    max_queued: int = QUEUED
    starts: bool = False


@dataclass(frozen=True, slots=True)
class ListenerStats:
    """Events since the start; ``waiting`` are those not handed over yet; CPU time is that of the listener's thread."""

    name: str
    delivered: int
    dropped: int
    failed: int
    waiting: int
    cpu_seconds: float


class EventBus:
    """Begins with ``start`` and ends with ``close``, which waits for what is queued as long as it is told."""

    def __init__(self, listeners: Sequence[NamedListener] = (), max_queued: int = QUEUED) -> None:
        """``max_queued``: events that are not made yet; making waits no longer than the most eager listener does."""
        self._outlets = tuple(_Outlet(named) for named in listeners)
        self._inlet = _Inlet(self._outlets, max_queued) if listeners else None

    def start(self) -> None:
        """Start the threads."""
        for outlet in self._outlets:
            outlet.start()
        if self._inlet is not None:
            self._inlet.start()

    def publish(self, make: Make) -> None:
        """Implements ``Publish``: one append; dropped and counted when too many wait."""
        if self._inlet is not None:
            self._inlet.put(make)

    @property
    def making_seconds(self) -> float:
        """CPU time of making the events, which all listeners share."""
        return 0.0 if self._inlet is None else self._inlet.cpu_seconds

    def close(self, timeout: float = 5.0) -> None:
        """Hand over what waits, then close the listeners. Blocks."""
        deadline = monotonic() + timeout
        if self._inlet is not None:
            self._inlet.close(deadline)
        for outlet in self._outlets:
            outlet.close(deadline)

    def stats(self) -> tuple[ListenerStats, ...]:
        """Of every listener; what was dropped before it reached any counts for each."""
        lost = 0 if self._inlet is None else self._inlet.dropped + self._inlet.failed
        return tuple(outlet.stats(lost) for outlet in self._outlets)


class _Worker(Generic[T]):
    """A thread behind a bounded queue."""

    linger = 0.0

    def __init__(self, name: str, max_queued: int) -> None:
        self._queue: deque[T] = deque()
        self._max_queued = max_queued
        self._filled = threading.Event()
        self._closing = threading.Event()
        self._given_up = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.dropped = self.failed = 0
        self.cpu_seconds = 0.0

    def start(self) -> None:
        self._thread.start()

    def put(self, item: T) -> None:
        # Appending is atomic; that the limit is overshot by a few when threads race does no harm.
        if len(self._queue) >= self._max_queued:
            self.dropped += 1
            return
        self._queue.append(item)
        if not self._filled.is_set():
            self._filled.set()

    def close(self, deadline: float) -> None:
        self._closing.set()
        self._filled.set()
        if self._thread.ident is not None:
            self._thread.join(max(0.0, deadline - monotonic()))
        self._given_up = True
        self.dropped += len(self._queue)

    def _run(self) -> None:
        while True:
            self._filled.wait()
            if self.linger:
                self._closing.wait(self.linger)
            self._filled.clear()
            while self._queue and not self._given_up:
                self.handle([self._queue.popleft() for _ in range(min(len(self._queue), BATCH))])
                self.cpu_seconds = thread_time()
            if self._closing.is_set():
                break
        self.ended()

    def handle(self, items: list[T]) -> None:
        raise NotImplementedError

    def ended(self) -> None:
        """The last thing on the thread."""


class _Inlet(_Worker[Make]):
    """Makes the events, so that neither the event loop nor several listeners do."""

    def __init__(self, outlets: Sequence[_Outlet], max_queued: int) -> None:
        super().__init__("events", max_queued)
        self._outlets = outlets
        self.linger = min(outlet.linger for outlet in outlets) / 2

    def handle(self, items: list[Make]) -> None:
        for make in items:
            try:
                event = make()
            except Exception:
                self.failed += 1
                _log.exception("an event could not be made")
                continue
            if event is not None:
                for outlet in self._outlets:
                    if outlet.starts or not isinstance(event, QueryStartedEvent):
                        outlet.put(event)


class _Outlet(_Worker[Event]):
    """One listener."""

    def __init__(self, named: NamedListener) -> None:
        super().__init__(f"events-{named.name}", named.max_queued)
        self._name, self._listener = named.name, named.listener
        self.linger, self.starts = named.linger, named.starts
        self._delivered = 0

    def handle(self, items: list[Event]) -> None:
        try:
            self._listener.receive(items)
            self._delivered += len(items)
        except Exception as error:
            self.failed += len(items)
            _log.warning("an event listener failed", listener=self._name, events=len(items), problem=repr(error))

    def ended(self) -> None:
        try:
            self._listener.close()
        except Exception as error:
            _log.warning("an event listener failed to close", listener=self._name, problem=repr(error))

    def stats(self, lost: int) -> ListenerStats:
        dropped, waiting = self.dropped + lost, len(self._queue)
        return ListenerStats(self._name, self._delivered, dropped, self.failed, waiting, self.cpu_seconds)
