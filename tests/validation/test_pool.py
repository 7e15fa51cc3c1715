"""The pool over real processes: order, bounds, deadlines, crashes, cancellation, and no child left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coordinator.validation import pool as pool_module
from coordinator.validation.own_loop import PoolOnItsOwnLoop
from coordinator.validation.pool import ValidationPool
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ErrorLocation, ProcessionError, WireErrorCode
from shared.spi.session import Session

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MakePool = Callable[..., AbstractAsyncContextManager[PoolOnItsOwnLoop]]


@pytest.fixture
def make_pool(factories_on_path: None) -> MakePool:
    @asynccontextmanager
    async def make(**options: Any) -> AsyncIterator[PoolOnItsOwnLoop]:
        from planner_factories import Obedient

        factory = options.pop("factory", None) or Obedient()
        pool = PoolOnItsOwnLoop(ValidationPool(factory, **{"size": 1, "warm_up": None, **options}))
        await pool.start()
        try:
            yield pool
        finally:
            await pool.aclose()

    return make


def row(planned: PlannedStatement) -> tuple[Any, ...]:
    assert isinstance(planned.work, ReturnRows)
    return planned.work.rows[0]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def test_plans_in_another_process(make_pool: MakePool, session: Session) -> None:
    async with make_pool() as pool:
        text, user, pid = row(await pool.plan("SELECT 'ä'", session))
        assert (text, user) == ("SELECT 'ä'", "tester")
        assert pid != os.getpid()
        assert pool.stats().planned == 1
    assert not is_alive(pid)


async def test_statement_errors_come_back_whole_and_cost_no_process(make_pool: MakePool, session: Session) -> None:
    async with make_pool() as pool:
        with pytest.raises(ProcessionError) as caught:
            await pool.plan("fail Column 'x' cannot be resolved", session)
        error = caught.value
        assert (error.code, error.location, error.retriable) == (ErrorCode.SYNTAX_ERROR, ErrorLocation(3, 4), True)
        assert error.wire_message == "line 3:4: Column 'x' cannot be resolved"
        with pytest.raises(ProcessionError) as caught:
            await pool.plan("fail-wire m", session)
        assert caught.value.code == WireErrorCode("ACME", 77, "EXTERNAL")
        with pytest.raises(ProcessionError, match=r"Planning failed: KeyError: 'b'"):
            await pool.plan("bug b", session)
        with pytest.raises(ProcessionError, match="statement is too large"):
            await pool.plan("recurse", session)
        with pytest.raises(ProcessionError, match="Planning failed"):
            await pool.plan("unpicklable", session)
        assert row(await pool.plan("SELECT 1", session))[0] == "SELECT 1"
        assert (pool.stats().refused, pool.stats().restarted) == (5, 0)


@pytest.mark.parametrize(("text", "reason"), [("segfault", "killed by signal 11"), ("exit 3", "exit code 3")])
async def test_a_crash_fails_only_its_statement(make_pool: MakePool, session: Session, text: str, reason: str) -> None:
    async with make_pool() as pool:
        crash, after = await asyncio.gather(
            pool.plan(text, session), pool.plan("SELECT 1", session), return_exceptions=True
        )
        assert isinstance(crash, ProcessionError)
        assert crash.message == f"The planner process ended while planning this statement: {reason}"
        assert isinstance(after, PlannedStatement)
        # Once more: the process might have died of something else.
        await until(lambda: (pool.stats().crashed, pool.stats().restarted, pool.stats().alive) == (2, 2, 1))


async def test_a_planner_that_died_while_idle_costs_no_statement(make_pool: MakePool, session: Session) -> None:
    async with make_pool() as pool:
        for number in range(3):
            os.kill(row(await pool.plan("SELECT 1", session))[2], signal.SIGKILL)
            assert row(await pool.plan(f"SELECT {number}", session))[0] == f"SELECT {number}"


async def test_a_planner_past_its_deadline_is_killed_and_replaced(make_pool: MakePool, session: Session) -> None:
    async with make_pool(timeout_seconds=60.0) as pool:
        pid = row(await pool.plan("SELECT 1", session))[2]
        pool._pool._timeout_seconds = 0.3
        with pytest.raises(ProcessionError) as caught:
            async with asyncio.timeout(60):
                await pool.plan("ignore-signals", session)
        pool._pool._timeout_seconds = 60.0
        assert caught.value.code is ErrorCode.QUERY_PLANNING_TIMEOUT
        assert caught.value.message == "The query planner exceeded the timeout of 300.00ms."
        assert row(await pool.plan("SELECT 2", session))[2] != pid
        assert not is_alive(pid)
        assert pool.stats().timed_out == 1


async def test_waiting_does_not_count_against_the_deadline(
    make_pool: MakePool, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = [0.0]
    async with make_pool(timeout_seconds=3600) as pool:
        monkeypatch.setattr(pool._loop, "time", lambda: time.monotonic() + later[0])
        first = asyncio.create_task(pool.plan("sleep 3600", session))
        await until(lambda: pool.stats().busy == 1)
        pool._pool._timeout_seconds = 60.0
        others = [asyncio.create_task(pool.plan("SELECT 1", session)) for _ in range(3)]
        await until(lambda: pool.stats().waiting == 3)
        later[0] = 100.0
        first.cancel()
        assert len(await asyncio.gather(*others)) == 3


async def test_the_line_is_bounded(make_pool: MakePool, session: Session) -> None:
    async with make_pool(max_queued=2) as pool:
        running = [asyncio.create_task(pool.plan("sleep 3600", session)) for _ in range(3)]
        await until(lambda: pool.stats().busy == 1 and pool.stats().waiting == 2)
        with pytest.raises(ProcessionError) as caught:
            await pool.plan("SELECT 1", session)
        assert caught.value.code is ErrorCode.QUERY_QUEUE_FULL
        assert caught.value.message == "Too many statements are waiting to be planned (2)"
        for task in running:
            task.cancel()
        await until(lambda: pool.stats().waiting == 0)
        await pool.plan("SELECT 1", session)


async def test_one_user_cannot_starve_others(make_pool: MakePool, session: Session) -> None:
    async with make_pool() as pool:
        finished: list[str] = []

        async def plan(user: str, text: str) -> None:
            await pool.plan(text, replace(session, user=user))
            finished.append(user)

        held = asyncio.create_task(plan("flood", "sleep 3600"))
        await until(lambda: pool.stats().busy == 1)
        flood = [asyncio.create_task(plan("flood", "sleep 0.02")) for _ in range(20)]
        await until(lambda: pool.stats().waiting == 20)
        other = asyncio.create_task(plan("other", "SELECT 1"))
        await until(lambda: pool.stats().waiting == 21)
        held.cancel()
        await other
        assert finished.index("other") <= 3
        await asyncio.gather(*flood)


async def test_cancelling_a_waiting_statement_frees_its_place(make_pool: MakePool, session: Session) -> None:
    async with make_pool(max_queued=1) as pool:
        running = asyncio.create_task(pool.plan("sleep 3600", session))
        await until(lambda: pool.stats().busy == 1)
        waiting = asyncio.create_task(pool.plan("sleep 3600", session))
        await until(lambda: pool.stats().waiting == 1)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await until(lambda: pool.stats().waiting == 0)
        after = asyncio.create_task(pool.plan("SELECT 1", session))
        await until(lambda: pool.stats().waiting == 1)
        running.cancel()
        assert row(await after)[0] == "SELECT 1"


async def test_cancelling_a_short_plan_keeps_the_process(
    make_pool: MakePool, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "_CANCEL_GRACE_SECONDS", 60.0)
    async with make_pool() as pool:
        pid = row(await pool.plan("SELECT 1", session))[2]
        running = asyncio.create_task(pool.plan("sleep 0.2", session))
        await until(lambda: pool.stats().busy == 1)
        running.cancel()
        assert row(await pool.plan("SELECT 2", session))[::2] == ("SELECT 2", pid)


@pytest.mark.slow
async def test_cancelling_a_long_plan_kills_it(make_pool: MakePool, session: Session) -> None:
    async with make_pool() as pool:
        pid = row(await pool.plan("SELECT 1", session))[2]
        running = asyncio.create_task(pool.plan("spin 3600", session))
        await until(lambda: pool.stats().busy == 1)
        running.cancel()
        assert row(await pool.plan("SELECT 2", session))[2] != pid
        assert not is_alive(pid)
        assert pool.stats().timed_out == 0


async def test_large_plans_arrive_whole(make_pool: MakePool, session: Session) -> None:
    async with make_pool() as pool:
        assert len(row(await pool.plan("bytes 8000000", session))[0]) == 8_000_000
        assert len(row(await pool.plan("x" * 2_000_000, session))[0]) == 2_000_000
        with pytest.raises(ProcessionError, match="bytes, and 67108864 are possible") as caught:
            await pool.plan("bytes 80000000", session)
        assert caught.value.code is ErrorCode.EXCEEDED_PLAN_NODE_LIMIT
        assert pool.stats().crashed == 0


async def test_a_factory_that_fails_stops_the_start(make_pool: MakePool, tmp_path: Path) -> None:
    from planner_factories import Obedient

    with pytest.raises(ProcessionError, match="no more planners"):
        async with make_pool(size=2, factory=Obedient(tmp_path / "starts", fail_after=0)):
            pass


async def test_without_any_planner_those_who_wait_are_told(
    make_pool: MakePool, session: Session, tmp_path: Path
) -> None:
    from planner_factories import Obedient

    async with make_pool(factory=Obedient(tmp_path / "starts", fail_after=1)) as pool:
        with pytest.raises(ProcessionError, match="no more planners"):
            await pool.plan("exit 1", session)
        with pytest.raises(ProcessionError, match="no more planners"):
            await pool.plan("SELECT 1", session)


async def test_closing_ends_running_and_waiting_statements(make_pool: MakePool, session: Session) -> None:
    async with make_pool() as pool:
        pid = row(await pool.plan("SELECT 1", session))[2]
        tasks = [asyncio.create_task(pool.plan("sleep 3600", session)) for _ in range(2)]
        await until(lambda: pool.stats().busy == 1 and pool.stats().waiting == 1)
        await pool.aclose()
        for error in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(error, ProcessionError)
            assert error.code is ErrorCode.SERVER_SHUTTING_DOWN
        with pytest.raises(ProcessionError, match="shutting down"):
            await pool.plan("SELECT 1", session)
    assert not is_alive(pid)


async def test_the_loop_stays_free_while_planners_compute(make_pool: MakePool, session: Session) -> None:
    async with make_pool() as pool:
        planning = asyncio.create_task(pool.plan("spin 3600", session))
        await until(lambda: pool.stats().busy == 1)
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert not planning.done()
        planning.cancel()


async def test_statements_are_planned_while_the_servers_loop_has_other_work(
    make_pool: MakePool, session: Session
) -> None:
    """A plan that waits for turns of this loop takes five of them, two hundred turns for these forty."""
    async with make_pool() as pool:
        plans = [asyncio.create_task(pool.plan(f"statement {number}", session)) for number in range(40)]
        turns = 0
        while not all(plan.done() for plan in plans):
            time.sleep(0.1)
            await asyncio.sleep(0)
            turns += 1
        assert turns < 150
        assert {row(plan.result())[0] for plan in plans} == {f"statement {number}" for number in range(40)}


async def test_a_pool_that_did_not_start_or_has_ended_has_no_thread(
    factories_on_path: None, session: Session, tmp_path: Path
) -> None:
    from planner_factories import Obedient

    for factory in (Obedient(tmp_path / "starts", fail_after=0), Obedient()):
        pool = PoolOnItsOwnLoop(ValidationPool(factory, size=1, warm_up=None))
        with pytest.raises(ProcessionError, match="no more planners") if factory.starts else nullcontext():
            await pool.start()
        await pool.aclose()
        await pool.aclose()
        with pytest.raises(ProcessionError, match="shutting down"):
            await pool.plan("SELECT 1", session)
        assert "planning" not in {thread.name for thread in threading.enumerate()}


_PARENT = """
import asyncio, sys
from planner_factories import Obedient
from coordinator.validation.own_loop import PoolOnItsOwnLoop
from coordinator.validation.pool import ValidationPool
from shared.spi.session import Session

async def main():
    pool = PoolOnItsOwnLoop(ValidationPool(Obedient(), size=2, warm_up=None))
    await pool.start()
    for slot in range(2):
        asyncio.ensure_future(pool.plan("spin 3600", Session(user="u")))
    await asyncio.sleep(0.2)
    print("ready", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


def _children(pid: int) -> list[int]:
    """Of all its threads: planners are children of the one that made them."""
    listed = (task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/children"))
    return [int(child) for text in listed for child in text.split()]


async def test_no_planner_survives_a_killed_coordinator(factories_on_path: None) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p or "." for p in sys.path)}
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        children = _children(parent.pid)
        assert len(children) == 2
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        await until(lambda: not any(is_alive(child) for child in children))


async def test_heavy_texts_of_one_user_wait_for_each_other_and_nobody_else_does(
    make_pool: MakePool, session: Session
) -> None:
    other = replace(session, user="other")
    async with make_pool(size=2, user_burst_seconds=0.05) as pool:
        first = asyncio.create_task(pool.plan("sleep 1.2", session))
        await first
        heavy = [asyncio.create_task(pool.plan(f"sleep {seconds}", session)) for seconds in (3600, 3601, 3602)]
        await until(lambda: pool.stats().busy == 1 and pool.stats().waiting == 2)
        for _ in range(20):
            await asyncio.wait_for(pool.plan("quick", other), 60)
        assert not any(task.done() for task in heavy)
        assert pool.stats().busy == 1, "one planner is left for everybody else"
        for task in heavy:
            task.cancel()


async def test_short_texts_never_wait_for_long_ones(make_pool: MakePool, session: Session) -> None:
    """Neither somebody else's nor the user's own."""
    long = " " * 200
    other, third = replace(session, user="other"), replace(session, user="third")
    async with make_pool(size=2, long_text=100) as pool:
        heavy = [asyncio.create_task(pool.plan(f"sleep 3600{long}", of)) for of in (session, session, third)]
        await until(lambda: pool.stats().busy == 1 and pool.stats().waiting == 2)
        for _ in range(10):
            await asyncio.wait_for(pool.plan("quick", session), 60)
            await asyncio.wait_for(pool.plan("quick", other), 60)
        assert not any(task.done() for task in heavy)
        for task in heavy:
            task.cancel()


async def test_the_last_planner_is_not_taken_by_a_long_text(
    make_pool: MakePool, session: Session, tmp_path: Path
) -> None:
    """Others waited for a minute: a planner that was killed at its deadline takes time to be there again."""
    from planner_factories import Obedient

    starts, long = tmp_path / "starts", " " * 200
    other, third = replace(session, user="other"), replace(session, user="third")
    factory = Obedient(starts, slow_after=2)
    async with make_pool(size=2, long_text=100, timeout_seconds=4.0, factory=factory) as pool:
        heavy = [asyncio.create_task(pool.plan(f"sleep 3600{long}", of)) for of in (session, other)]
        await until(lambda: pool.stats().timed_out == 1)
        for _ in range(10):
            await asyncio.wait_for(pool.plan("quick", third), 60)
            await asyncio.sleep(0.05)
            stats = pool.stats()
            assert (stats.alive, stats.busy, stats.waiting) == (1, 0, 1)
        starts.with_suffix(".go").touch()
        await until(lambda: pool.stats().timed_out == 2)
        for task in heavy:
            with pytest.raises(ProcessionError, match="exceeded the timeout"):
                await task


async def test_long_texts_are_planned_by_the_last_planner_when_no_other_comes(
    make_pool: MakePool, session: Session, tmp_path: Path
) -> None:
    from planner_factories import Obedient

    long, other = " " * 200, replace(session, user="other")
    factory = Obedient(tmp_path / "starts", fail_after=2)
    async with make_pool(size=2, long_text=100, timeout_seconds=4.0, factory=factory) as pool:
        with pytest.raises(ProcessionError, match="exceeded the timeout"):
            await pool.plan(f"sleep 3600{long}", session)
        assert row(await asyncio.wait_for(pool.plan(f"quick{long}", other), 60))[0] == f"quick{long}"


async def test_many_light_texts_of_one_user_have_all_planners(make_pool: MakePool, session: Session) -> None:
    async with make_pool(size=2, user_burst_seconds=0.01) as pool:
        tasks = [asyncio.create_task(pool.plan("sleep 0.05", session)) for _ in range(20)]
        await until(lambda: pool.stats().busy == 2)
        await asyncio.gather(*tasks)
        assert pool.stats().planned == 20


async def test_those_who_were_held_go_on(make_pool: MakePool, session: Session) -> None:
    async with make_pool(size=2, user_burst_seconds=0.01) as pool:
        tasks = [asyncio.create_task(pool.plan("sleep 0.7", session)) for _ in range(4)]
        async with asyncio.timeout(60):
            await asyncio.gather(*tasks)
        assert pool.stats().planned == 4


async def test_every_process_hears_of_a_change_before_its_next_statement(make_pool: MakePool) -> None:
    """Also one that takes the place of another."""
    from planner_factories import Changeable

    session = Session(user="u")
    async with make_pool(factory=Changeable("old"), size=2) as pool:
        assert row(await pool.plan("x", session)) == ("old",)
        for value in ("new", "newer"):
            pool.change(Changeable(value), value)
            plans = await asyncio.gather(*(pool.plan("x", session) for _ in range(6)))
            assert {row(planned) for planned in plans} == {(value,)}
        with pytest.raises(ProcessionError):
            await pool.plan("exit", session)
        plans = await asyncio.gather(*(pool.plan("x", session) for _ in range(6)))
        assert {row(planned) for planned in plans} == {("newer",)}
