"""Who gets a process of a pool, and who waits: processes are fakes."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest

from coordinator.engine.processes import pool as pool_module
from coordinator.engine.processes.pool import PoolLimits, ProcessPool, _Ticket
from coordinator.engine.processes.process import EngineProcess
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from tests.execution import FakeExecution


class Process(EngineProcess):
    def __init__(self) -> None:
        self.pid = os.getpid()

    def kill(self) -> None: ...

    def ended(self) -> bool:
        return False


def pool_of(size: int, small: int = 0, *, small_seconds: float = 60.0, room: bool = True, **more: Any) -> ProcessPool:
    limits = PoolLimits(size, more.pop("each_user", 100), small=small, small_seconds=small_seconds, **more)
    start: Any = Process
    return ProcessPool(start, limits, "tested", lambda: room)


def of(user: str = "u") -> FakeExecution:
    execution = FakeExecution()
    execution.session = Session(user=user)
    return execution


def is_busy(pool: ProcessPool, *, small: bool) -> bool:
    try:
        pool.take(of(), small=small)
    except ProcessionError as error:
        assert error.code is ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT
        return True
    return False


def test_small_statements_do_not_wait_for_large_ones() -> None:
    pool = pool_of(2, 1, patience=0.0)
    assert [is_busy(pool, small=small) for small in (False, False, False, True, True)] == [
        False, False, True, False, True,
    ]  # fmt: skip


def test_large_statements_do_not_wait_for_small_ones() -> None:
    pool = pool_of(2, 1, patience=0.0)
    assert [is_busy(pool, small=small) for small in (True, True, True, False, False)] == [False] * 5


def test_a_small_statement_that_takes_long_is_none() -> None:
    """Others may take its place, within bounds; and it counts as a large one."""
    pool = pool_of(1, 1, patience=0.0, small_seconds=0.0)
    assert [is_busy(pool, small=True) for _ in range(4)] == [False, False, False, True]
    assert is_busy(pool, small=False)


def test_no_more_processes_than_memory_allows() -> None:
    pool = pool_of(1, 1, patience=0.0, room=False)
    assert [is_busy(pool, small=True) for _ in range(2)] == [False, True]


def test_who_has_the_fewest_is_next() -> None:
    pool = pool_of(2)
    held = [pool.take(of("greedy")) for _ in range(2)]
    served: list[str] = []

    def ask(user: str) -> None:
        process = pool.take(of(user))
        served.append(user)
        pool.give_back(process)

    threads = []
    for user in ("greedy", "modest"):
        threads.append(threading.Thread(target=ask, args=(user,)))
        threads[-1].start()
        while len(pool._line) < len(threads):
            time.sleep(0.01)
    pool.give_back(held[0])
    for thread in threads:
        thread.join(60)
    assert served == ["modest", "greedy"]


def test_a_user_may_have_so_many() -> None:
    pool = pool_of(3, patience=0.0, each_user=1)
    pool.take(of("greedy"))
    with pytest.raises(ProcessionError, match="All processes of the tested engine are busy"):
        pool.take(of("greedy"))
    pool.take(of("modest"))


def test_the_machine_is_asked_once_for_all_who_wait() -> None:
    asked: list[int] = []

    def room() -> bool:
        asked.append(1)
        return False

    start: Any = Process
    pool = ProcessPool(start, PoolLimits(1, 100, small=1, small_seconds=60.0), "tested", room)
    pool.take(of(), small=True)
    pool._line += [_Ticket("u", number, small=True) for number in range(2, 12)]
    assert pool._found(pool._line[0]) is False
    assert asked == [1]


class _Filled(Process):
    """Holds more than a process may that waits, until it is let go."""

    def __init__(self) -> None:
        self.pid, self.killed = os.getpid(), False

    def kill(self) -> None:
        self.killed = True


@pytest.mark.parametrize("tidies", [True, False])
def test_a_process_is_given_time_to_let_go_of_what_its_statement_took(
    monkeypatch: pytest.MonkeyPatch, tidies: bool
) -> None:
    held = [100]
    let_go = threading.Event()

    def resident(_pid: int) -> int:
        if threading.current_thread() is not threading.main_thread():
            assert let_go.wait(60)
        return held[0]

    monkeypatch.setattr(pool_module, "resident_bytes", resident)
    start: Any = _Filled
    pool = ProcessPool(start, PoolLimits(1, 1, idle_bytes=50, tidy_seconds=0.05), "tested")
    process = pool.take(of())
    assert isinstance(process, _Filled)
    pool.give_back(process)
    assert pool.stats().alive == 1, "it is there for the next statement at once"
    held[0] = 10 if tidies else 100
    let_go.set()
    for later in [each for each in threading.enumerate() if isinstance(each, threading.Timer)]:
        later.join(60)
    assert process.killed is not tidies
    assert pool.stats().alive == int(tidies)


def test_a_process_that_works_again_is_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "resident_bytes", lambda _pid: 100)
    start: Any = _Filled
    pool = ProcessPool(start, PoolLimits(1, 1, idle_bytes=50, tidy_seconds=60.0), "tested")
    process = pool.take(of())
    assert isinstance(process, _Filled)
    pool.give_back(process)
    assert pool.take(of()) is process
    pool._end_if_heavy(process)
    assert not process.killed
