"""What the watch over processes tells, and when it stops: processes are fakes."""

from __future__ import annotations

import sys
import threading
import time

from coordinator.engine.execution import QueryProgress
from coordinator.engine.processes.pool import Killer
from coordinator.engine.processes.watch import MemoryWatch
from tests.engine_local.test_pool import Process
from tests.execution import FakeExecution

MOST_SECONDS = 10.0


def test_nothing_is_told_of_a_statement_that_has_ended() -> None:
    """The watch looks at the process while the statement ends: what it finds must not come after the last report."""
    looking, go_on, looked_again = threading.Event(), threading.Event(), threading.Event()

    def slow() -> QueryProgress:
        looking.set()
        assert go_on.wait(MOST_SECONDS)
        return QueryProgress(phase="too late")

    def quick() -> QueryProgress:
        looked_again.set()
        return QueryProgress(phase="in time")

    watch, first, second = MemoryWatch(sys.maxsize), FakeExecution(), FakeExecution()
    try:
        process, other = Process(), Process()
        watch.add(process, first, Killer(process), slow)
        assert looking.wait(MOST_SECONDS)
        watch.remove(process)
        watch.add(other, second, Killer(other), quick)
        go_on.set()
        assert looked_again.wait(MOST_SECONDS)
    finally:
        go_on.set()
        watch.close()
    assert first.progress == []


def test_the_peak_is_told_at_the_end() -> None:
    watch, execution, process = MemoryWatch(sys.maxsize), FakeExecution(), Process()
    watch.add(process, execution, Killer(process))
    try:
        held, deadline = bytearray(b"1" * (64 << 20)), time.monotonic() + MOST_SECONDS
        while (not execution.progress or not execution.progress[-1].peak_memory_bytes) and time.monotonic() < deadline:
            time.sleep(0.01)
        del held
        peak = watch.remove(process)
    finally:
        watch.close()
    assert peak == execution.progress[-1].peak_memory_bytes > 0
    assert watch.remove(process) == 0
