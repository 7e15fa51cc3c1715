"""The bus: order, limits, listeners that fail or hang, and its end."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from time import monotonic, thread_time

import pytest

from coordinator.events.bus import EventBus, NamedListener
from shared.spi.event_listener import Event
from tests.event_samples import completed, created, started


class Remembering:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.closed = 0

    def receive(self, events: Sequence[Event]) -> None:
        self.events += events

    def close(self) -> None:
        self.closed += 1


class Failing(Remembering):
    def receive(self, events: Sequence[Event]) -> None:
        raise OSError("gone")


class Hanging(Remembering):
    def __init__(self) -> None:
        super().__init__()
        self.entered, self.free = threading.Event(), threading.Event()

    def receive(self, events: Sequence[Event]) -> None:
        self.entered.set()
        self.free.wait(60)
        super().receive(events)


def named(listener: Remembering, max_queued: int = 10_000) -> NamedListener:
    return NamedListener(type(listener).__name__, listener, linger=0.0, max_queued=max_queued)


def test_every_listener_gets_every_event_in_order() -> None:
    one, other = Remembering(), Remembering()
    bus = EventBus([named(one), named(other)])
    bus.start()
    for number in range(2_000):
        bus.publish(partial(created, f"q{number}"))
    bus.publish(lambda: None)
    bus.close()
    ids = [f"q{number}" for number in range(2_000)]
    assert [event.metadata.query_id for event in one.events] == ids  # type: ignore[union-attr]
    assert other.events == one.events
    assert (one.closed, other.closed) == (1, 1)
    assert [(stats.delivered, stats.dropped, stats.failed) for stats in bus.stats()] == [(2_000, 0, 0)] * 2


@pytest.mark.slow
def test_a_listener_that_fails_or_hangs_harms_no_other() -> None:
    well, hanging = Remembering(), Hanging()
    bus = EventBus([named(Failing()), named(hanging, max_queued=3), named(well)])
    bus.start()
    bus.publish(created)
    assert hanging.entered.wait(60)
    for _ in range(10):
        bus.publish(completed)
    before = monotonic()
    bus.close(timeout=0.5)
    assert monotonic() - before < 30
    failed, stuck, fine = bus.stats()
    assert (fine.delivered, fine.dropped, failed.failed) == (11, 0, 11)
    assert stuck.dropped == 10  # seven beyond its limit, and three that nobody took
    hanging.free.set()


def test_cpu_time_is_told_by_listener() -> None:
    class Busy(Remembering):
        def receive(self, events: Sequence[Event]) -> None:
            until = thread_time() + 0.05
            while thread_time() < until:
                pass

    bus = EventBus([named(Busy()), named(Remembering())])
    bus.start()
    bus.publish(created)
    bus.close()
    busy, other = bus.stats()
    assert busy.cpu_seconds >= 0.05 > other.cpu_seconds
    assert 0 < bus.making_seconds < 0.05


def test_too_many_events_are_dropped_and_counted_for_each() -> None:
    listener = Remembering()
    bus = EventBus([named(listener)], max_queued=5)
    for _ in range(9):
        bus.publish(created)  # not started: nobody takes them
    bus.start()
    bus.close()
    assert (bus.stats()[0].delivered, bus.stats()[0].dropped) == (5, 4)


def test_an_event_that_cannot_be_made_is_counted_and_no_more() -> None:
    listener = Remembering()
    bus = EventBus([named(listener)])
    bus.start()
    bus.publish(lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    bus.publish(created)
    bus.close()
    assert (bus.stats()[0].delivered, bus.stats()[0].dropped) == (1, 1)


def test_without_listeners_nothing_is_made() -> None:
    bus = EventBus()
    bus.start()
    bus.publish(lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    bus.close()
    assert bus.stats() == ()


def test_who_does_not_ask_is_not_told_that_statements_begin_to_run() -> None:
    one, other = Remembering(), Remembering()
    bus = EventBus([NamedListener("one", one, 0.0, starts=True), named(other)])
    bus.start()
    for make in (created, started, completed):
        bus.publish(make)
    bus.close()
    assert one.events == [created(), started(), completed()]
    assert other.events == [created(), completed()]
