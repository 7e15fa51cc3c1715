"""The service over a lake of states and statements that tests answer: what it starts, when, and what it remembers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.maintenance.records import Pause, TableKey
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.maintenance.statements import OwnStatements
from tests.maintenance.cases import BAD, CONFLICT, GOOD, Case
from tests.maintenance.states import NOW, partition, table


def test_every_bad_table_is_worked_on_once_and_no_more_than_allowed_at_once(case: Callable[..., Case]) -> None:
    found = case()
    for name in "abcde":
        found.states.add(name)
    found.states.add("fine", bad=False)
    two = asyncio.Event()

    async def beside_another(key: TableKey) -> None:
        if found.answers.at_once > 1:
            two.set()
        await two.wait()
        await asyncio.sleep(0.01)
        found.states.known[key] = replace(found.states.known[key], partitions=(GOOD,), marker=f"{key.table}-1")

    found.answers.answer = beside_another
    found.work()
    assert sorted(found.jobs()) == [(name, "FINISHED", None) for name in "abcde"]
    assert found.answers.most_at_once == 2
    assert all("rewrite_data_files" in text for text in found.answers.texts)
    looks = {look.key.table: (look.state, look.health) for look in found.store.looks()}
    assert looks == dict.fromkeys(("a", "b", "c", "d", "e", "fine"), ("HEALTHY", 100))


def test_a_job_tells_what_the_table_was_before_and_after(case: Callable[..., Case]) -> None:
    lake = case()
    lake.states.add("t")
    lake.work()
    (job,) = lake.store.jobs(10)
    assert (job.files_before, job.files_after) == (BAD.files, GOOD.files)
    assert (job.size_before, job.size_after) == (BAD.size, GOOD.size)


@pytest.mark.parametrize(
    ("text", "roles"),
    [("", {}), ("Iceberg=compactor, sales = ALL,x=NONE", {"iceberg": "ROLE{compactor}", "sales": "ALL", "x": "NONE"})],
)
def test_the_services_user_takes_on_roles(text: str, roles: dict[str, str]) -> None:
    settings = MaintenanceSettings.model_validate({"maintenance.roles": text})
    assert dict(settings.roles) == roles
    sent = OwnStatements(cast(Dispatcher, None), settings, lambda session: session)
    assert sent.session.roles == roles


@pytest.mark.parametrize("text", ["compactor", "=x", "a=", "a=b,A=c", "a=ROLE{b}"])
def test_wrong_roles_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no catalog=role"):
        MaintenanceSettings.model_validate({"maintenance.roles": text})


def test_a_second_round_costs_no_look_where_nothing_changed(case: Callable[..., Case]) -> None:
    found = case()
    found.states.add("fine", bad=False)
    found.work()
    looks = found.states.looks
    for _ in range(3):
        asyncio.run(found.service.round())
    assert found.states.looks == looks
    found.states.add("fine")
    found.states.known[TableKey("lake", "db", "fine")] = replace(table(BAD), table="fine", marker="fine-9")
    asyncio.run(found.service.round())
    assert found.states.looks == looks + 1
    found.now += timedelta(hours=7)
    asyncio.run(found.service.round())
    assert found.states.looks == looks + 2


def test_scans_that_cannot_be_counted_are_counted_later(
    case: Callable[..., Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = case()
    key = TableKey("lake", "db", "fine")
    found.service.scanned([key, key])

    def away(_day: object, _scans: object) -> None:
        raise OSError("the database is away")

    with monkeypatch.context() as patched:
        patched.setattr(found.store, "count_scans", away)
        with pytest.raises(OSError, match="away"):
            asyncio.run(found.service.round())
    asyncio.run(found.service.round())
    assert found.store.past(key, found.now).scans_per_day == 2.0


def test_a_dry_run_says_what_it_would_do(case: Callable[..., Case]) -> None:
    found = case(**{"maintenance.dry-run": True})
    found.states.add("a")
    found.work()
    assert found.answers.texts == []
    ((verdict, reason),) = found.verdicts()
    assert verdict == "DRY RUN"
    assert reason.startswith("the table has 40 small files")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"maintenance.window": "Tue 00:00-06:00"}, "outside of the maintenance window"),
        ({"maintenance.window": "Mon 00:00-12:01"}, None),
        ({"maintenance.budget.bytes-per-day": "1kB"}, "of the bytes of a day, of which 1024 of 1024 are left"),
        ({"maintenance.budget.seconds-per-day": "1s"}, "of the seconds of a day"),
        ({"maintenance.budget.bytes-per-table-per-day": "1kB"}, "of the bytes of the table for a day"),
        ({"maintenance.budget.seconds-per-run": "1s"}, "of the seconds of one run"),
    ],
)
def test_what_keeps_work_waiting(case: Callable[..., Case], settings: dict[str, str], reason: str | None) -> None:
    found = case(**settings)
    found.states.add("a")
    found.work()
    if reason is None:
        assert found.jobs() == [("a", "FINISHED", None)]
        return
    assert found.answers.texts == []
    ((verdict, told),) = found.verdicts()
    assert verdict == "WAIT"
    assert reason in told
    (look,) = found.store.looks()
    assert (look.state, look.waiting_since) == ("WAIT", NOW)


def test_work_that_would_outlast_the_window_does_not_begin(case: Callable[..., Case]) -> None:
    found = case(**{"maintenance.window": "Mon 00:00-12:01"})
    found.now = NOW + timedelta(seconds=59)
    found.states.add("a")
    found.work()
    assert found.answers.texts == []
    assert "but the window closes at 12:01:00 UTC" in found.verdicts()[0][1]


def test_a_call_that_is_not_done_when_the_window_closes_is_stopped(case: Callable[..., Case]) -> None:
    found = case(**{"maintenance.window": "Mon 00:00-12:01"})
    found.states.add("a")

    async def slow(_key: TableKey) -> None:
        raise TimeoutError

    found.answers.answer = slow
    found.work()
    assert found.jobs() == [("a", "STOPPED", "the window closed; what was committed stays")]
    # It was told to begin no commit after the minute that was left, and could have taken five more for the last one.
    assert "'partial-progress.max-seconds'" in found.answers.texts[0]
    assert "'60'" in found.answers.texts[0]
    assert found.answers.seconds == [360.0]


def test_a_look_that_began_before_a_job_asks_for_no_other(case: Callable[..., Case]) -> None:
    """What it saw is what the job was done for; that the job was stopped is for the next round to judge."""
    found = case(**{"maintenance.scan-interval": "1h", "maintenance.window": "Mon 00:00-12:01"})
    found.states.add("a")
    look, over, looks = found.inspector.look, threading.Event(), list[bool]()

    async def slow(_key: TableKey) -> None:
        raise TimeoutError

    def slow_at_first(*given: Any, **options: Any) -> Any:
        first = not looks
        looks.append(True)
        seen = look(*given, **options)
        if first:
            assert over.wait(60)
        return seen

    async def run() -> None:
        async with found.service.running():
            while not looks:
                await asyncio.sleep(0.01)
            await found.service._look(key, "commit", forced=True)
            while not found.jobs() or found.service.working:
                await asyncio.sleep(0.01)
            over.set()
            while found.busy():
                await asyncio.sleep(0.01)

    found.answers.answer = slow
    found.inspector.look = slow_at_first  # type: ignore[method-assign]
    key = next(iter(found.states.known))
    asyncio.run(asyncio.wait_for(run(), 120))
    assert [state for _, state, _ in found.jobs()] == ["STOPPED"]


def test_it_stands_back_while_users_wait(case: Callable[..., Case]) -> None:
    found = case()
    found.states.add("a")
    found.answers.users_wait = True
    found.work()
    assert found.answers.texts == []
    assert found.service.backlog == 1
    found.answers.users_wait = False
    found.work()
    assert found.jobs() == [("a", "FINISHED", None)]


def test_after_a_conflict_the_table_waits_and_others_do_not(case: Callable[..., Case]) -> None:
    found = case()
    for name in "ab":
        found.states.add(name)

    async def conflict(key: TableKey) -> None:
        if key.table == "a":
            raise CONFLICT
        found.states.known[key] = replace(found.states.known[key], partitions=(GOOD,), marker="b-1")

    found.answers.answer = conflict
    found.work()
    assert sorted(found.jobs()) == [
        ("a", "FAILED", "TRANSACTION_CONFLICT: somebody was faster"), ("b", "FINISHED", None),
    ]  # fmt: skip
    assert any("1 tries in a row came to nothing" in reason for _, reason in found.verdicts())
    found.answers.answer = None
    found.now += timedelta(minutes=16)
    found.work()
    assert ("a", "FINISHED", None) in found.jobs()


def test_a_call_that_changes_nothing_counts_as_a_setback_and_ends(case: Callable[..., Case]) -> None:
    found = case()
    found.states.add("a")

    async def nothing(_key: TableKey) -> None:
        return

    found.answers.answer = nothing
    found.work()
    assert found.jobs() == [("a", "FAILED", "the call changed nothing")]


def test_a_broken_table_waits_twice_as_long_each_time_and_keeps_nobody(case: Callable[..., Case]) -> None:
    found = case()
    broken = found.states.add("a")
    found.states.add("b")
    found.states.broken.add(broken)
    found.work()
    assert found.jobs() == [("b", "FINISHED", None)]
    waits = []
    for _ in range(3):
        look = found.store.look(broken)
        assert look is not None
        assert (look.state, look.reason) == ("FAILED", "manifest is broken")
        waits.append((look.next_look - look.looked).total_seconds())
        found.now = look.next_look
        found.inspector.look(broken)
    assert waits == [60.0, 120.0, 240.0]


def test_a_pause_covers_what_lies_below_it_and_nothing_beside(case: Callable[..., Case]) -> None:
    found = case()
    for name in ("A", "b"):  # another program made it with a capital letter
        found.states.add(name)
    found.states.add("a", catalog="other")
    found.store.pause(Pause("lake.db.a", "ann", NOW, "release"))
    found.store.pause(Pause("othe", "ann", NOW, "is no catalog"))
    found.work()
    assert sorted(text.split(".")[0] for text in found.answers.texts) == ['CALL "lake"', 'CALL "other"']
    assert ("WAIT", True) in [
        (verdict, "paused for lake.db.a by ann" in reason) for verdict, reason in found.verdicts()
    ]
    assert found.store.resume("lake.db.a")
    found.now += timedelta(minutes=6)
    found.work()
    assert sorted(found.jobs())[:1] == [("A", "FINISHED", None)]


def test_tables_that_are_gone_are_forgotten(case: Callable[..., Case]) -> None:
    found = case()
    key = found.states.add("a", bad=False)
    found.work()
    assert found.store.look(key) is not None
    del found.states.known[key]
    asyncio.run(found.service.round())
    assert found.store.looks() == []


def test_what_is_asked_for_is_looked_at_at_once_and_jobs_say_who_asked(case: Callable[..., Case]) -> None:
    found = case(**{"maintenance.scan-interval": "1h"})
    key = found.states.add("a", bad=False)

    async def run() -> None:
        async with found.service.running():
            while found.service.totals.looks < 1:
                await asyncio.sleep(0.01)
            found.states.add("a")
            await asyncio.to_thread(found.service.request, [key], "ann")
            while not found.store.jobs(1) or found.store.jobs(1)[0].state == "RUNNING":
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 60))
    (job,) = found.store.jobs(10)
    assert (job.trigger, job.state) == ("asked for by ann", "FINISHED")


def test_of_several_coordinators_one_does_it_and_each_does_what_it_is_asked_for(case: Callable[..., Case]) -> None:
    found = case()
    found.is_its_turn = False
    found.states.add("a")
    key = found.states.add("b")

    async def run() -> None:
        async with found.service.running():
            while found.service.rounds < 3:
                await asyncio.sleep(0.01)
            assert found.store.looks() == []
            await asyncio.to_thread(found.service.request, [key], "ann")
            while not found.store.jobs(1) or found.store.jobs(1)[0].state == "RUNNING":
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 60))
    assert found.jobs() == [("b", "FINISHED", None)]
    found.is_its_turn = True
    found.work()
    assert found.jobs() == [("b", "FINISHED", None), ("a", "FINISHED", None)]


def test_the_table_that_gains_most_comes_first(case: Callable[..., Case]) -> None:
    found = case(**{"maintenance.max-concurrent-jobs": 1})
    found.states.add("a")
    best = found.states.add("b")
    found.states.known[best] = replace(found.states.known[best], partitions=(partition(files=400),))
    found.states.add("c")
    found.answers.users_wait = True

    async def run() -> None:
        async with found.service.running():
            while found.service.backlog < 3:
                await asyncio.sleep(0.01)
            found.answers.users_wait = False
            while len(found.answers.texts) < 3:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 60))
    assert found.jobs()[0][0] == "b"


def test_a_call_that_breaks_off_is_a_failed_job_and_keeps_no_other_table_waiting(case: Callable[..., Case]) -> None:
    found = case()
    for name in "ab":
        found.states.add(name)

    async def broken(key: TableKey) -> None:
        if key.table == "a":
            raise RuntimeError("not foreseen")
        found.states.known[key] = replace(found.states.known[key], partitions=(GOOD,), marker="b-1")

    found.answers.answer = broken
    found.work()
    assert sorted(found.jobs()) == [("a", "FAILED", "RuntimeError"), ("b", "FINISHED", None)]


def test_a_table_that_is_worked_on_is_not_begun_again(case: Callable[..., Case]) -> None:
    """A look that began before the work did puts the table among those that wait once more."""
    found = case()
    key = found.states.add("a")
    going, let_go = asyncio.Event(), asyncio.Event()

    async def slow(_key: TableKey) -> None:
        going.set()
        await let_go.wait()
        found.states.known[key] = replace(found.states.known[key], partitions=(GOOD,), marker="a-1")

    found.answers.answer = slow

    async def run() -> None:
        async with found.service.running():
            await going.wait()
            looked = await asyncio.to_thread(found.inspector.look, key, forced=True)
            assert looked is not None
            found.service._waiting[key] = looked, "policy"
            await asyncio.sleep(0.3)
            assert len(found.answers.texts) == 1
            let_go.set()
            while found.service.working or found.service.backlog:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 60))
    assert found.jobs() == [("a", "FINISHED", None)]
