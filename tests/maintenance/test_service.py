"""The service over a lake of states and statements that tests answer: what it starts, when, and what it remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.maintenance.inspection import Inspector
from coordinator.maintenance.lake import Lake
from coordinator.maintenance.policies import Policy, TablePolicy
from coordinator.maintenance.records import Pause, TableKey
from coordinator.maintenance.service import MaintenanceService
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.maintenance.statements import OwnStatements
from coordinator.maintenance.store import MaintenanceStore
from shared.errors import ErrorCode, ProcessionError
from shared.spi.maintenance import CommitRates, TableState
from tests.maintenance.states import NOW, partition, table

BAD = partition(files=40)
GOOD = partition(files=1)
CONFLICT = ProcessionError(ErrorCode.TRANSACTION_CONFLICT, "somebody was faster")


class States:
    """Stands in for ``Lake``."""

    def __init__(self) -> None:
        self.known: dict[TableKey, TableState] = {}
        self.looks = self.asked = 0
        self.tells_markers = True
        self.broken: set[TableKey] = set()
        self.policies: dict[TableKey, tuple[Policy, ...]] = {}

    def add(self, name: str, *, catalog: str = "lake", bad: bool = True) -> TableKey:
        key = TableKey(catalog, "db", name)
        self.known[key] = replace(table(BAD if bad else GOOD), catalog=catalog, table=name, marker=f"{name}-0")
        return key

    def tables(self) -> tuple[list[TableKey], frozenset[str]]:
        return list(self.known), frozenset({"lake", "other"})

    def marker(self, key: TableKey) -> str | None:
        self.asked += 1
        return self.known[key].marker

    def markers(self, keys: Iterable[TableKey]) -> dict[TableKey, str]:
        return {key: self.known[key].marker for key in keys if key in self.known and self.tells_markers}

    def attached(self, key: TableKey) -> tuple[Policy, ...]:
        return self.policies.get(key, ())

    def state(self, key: TableKey, policy: TablePolicy, now: datetime) -> TableState | None:
        self.looks += 1
        if key in self.broken:
            raise ProcessionError(ErrorCode.ICEBERG_INVALID_METADATA, "manifest is broken")
        return self.known.get(key)


class Answers:
    """Stands in for ``OwnStatements``: a call makes its table good, unless ``answer`` does something else."""

    def __init__(self, states: States) -> None:
        self.states = states
        self.texts: list[str] = []
        self.seconds: list[float | None] = []
        self.at_once = self.most_at_once = 0
        self.users_wait = False
        self.answer: Callable[[TableKey], Awaitable[None]] | None = None
        self.begins_after = 0.0

    async def run(self, text: str, begun: Callable[[str], Awaitable[None]], seconds: float | None = None) -> None:
        self.texts.append(text)
        self.seconds.append(seconds)
        await asyncio.sleep(self.begins_after)
        await begun(f"query-{len(self.texts)}")
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            key = next(k for k in self.states.known if f"'{k.table}'" in text and f'"{k.catalog}"' in text)
            if self.answer is not None:
                async with asyncio.timeout(seconds):
                    await self.answer(key)
            else:
                await asyncio.sleep(0.01)
                self.states.known[key] = replace(self.states.known[key], partitions=(GOOD,), marker=f"{key.table}-1")
        finally:
            self.at_once -= 1


class Case:
    """One service with its surroundings; ``now`` is what its clock shows."""

    def __init__(self, home: Path, **settings: Any) -> None:
        values = {
            "maintenance.enabled": True,
            "maintenance.dry-run": False,
            "maintenance.scan-interval": "50ms",
            "maintenance.max-per-catalog": 2,
        }
        self.settings = MaintenanceSettings.model_validate({**values, **settings})
        self.now = NOW
        self.is_its_turn = True
        self.states = States()
        self.answers = Answers(self.states)
        self.store = MaintenanceStore(home / "m.db")
        self.lake = cast(Lake, self.states)
        self.inspector = Inspector(self.settings, lambda: (), self.lake, self.store, lambda: self.now)
        self.service = self.restarted()

    def restarted(self) -> MaintenanceService:
        return MaintenanceService(
            self.settings,
            self.lake,
            self.inspector,
            self.answers,
            self.store,
            lambda: self.now,
            lambda: self.is_its_turn,
        )

    def work(self) -> None:
        """Until it has nothing to start."""

        self.service = self.restarted()

        async def run() -> None:
            async with self.service.running():
                while self.busy():
                    await asyncio.sleep(0.01)

        asyncio.run(asyncio.wait_for(run(), 120))

    def busy(self) -> bool:
        waiting = bool(self.service.backlog) and not self.answers.users_wait
        return not self.service.rounds or bool(self.service.working) or waiting

    def jobs(self) -> list[tuple[str, str, str | None]]:
        return [(job.key.table, job.state, job.error) for job in reversed(self.store.jobs(100))]

    def verdicts(self, step: str = "rewrite_data_files") -> list[tuple[str, str]]:
        found = [d for d in reversed(self.store.decisions(100)) if d.step in (step, "look")]
        return [(decision.verdict, decision.reason) for decision in found]


@pytest.fixture
def case(tmp_path: Path) -> Callable[..., Case]:
    return partial(Case, tmp_path)


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


def test_a_round_over_a_thousand_tables_that_did_not_change_asks_for_none_of_them(case: Callable[..., Case]) -> None:
    found = case()
    for number in range(1000):
        found.states.add(f"t{number}", bad=False)
    asyncio.run(found.service.round())
    assert found.states.looks == 1000
    found.states.asked = 0
    asyncio.run(found.service.round())
    assert (found.states.looks, found.states.asked) == (1000, 0)
    found.states.tells_markers = False  # as REST servers are
    asyncio.run(found.service.round())
    assert (found.states.looks, found.states.asked) == (1000, 1000)


def test_a_table_that_was_written_just_now_is_looked_at_again_when_it_has_cooled_down(
    case: Callable[..., Case],
) -> None:
    """Nothing changes it any more: it must not wait for the look at unchanged tables, hours later."""
    found = case()
    key = found.states.add("t")
    hot = partition(files=12, last_change=NOW)
    found.states.known[key] = replace(found.states.known[key], partitions=(hot,), rates=CommitRates(5, 0, 0, 300.0))
    found.work()
    assert found.jobs() == []
    assert "being written just now" in found.verdicts()[-1][1]
    look = found.store.look(key)
    assert look is not None
    assert (look.state, look.reason) == ("HEALTHY", "1 partitions would be due, but are being written just now")
    found.now = NOW + timedelta(minutes=9)
    found.work()
    assert found.jobs() == []
    found.now = NOW + timedelta(minutes=11)
    found.work()
    assert found.jobs() == [("t", "FINISHED", None)]


def test_what_a_dry_run_found_is_done_when_it_is_over(case: Callable[..., Case]) -> None:
    dry = case(**{"maintenance.dry-run": True})
    dry.states.add("a")
    dry.work()
    looks = dry.states.looks
    dry.now += timedelta(hours=1)
    dry.work()
    assert dry.states.looks == looks, "an unchanged table is not looked at in every round"
    found = case()
    found.states = dry.states
    found.now = dry.now
    found.answers.states = dry.states
    found.lake = cast(Lake, found.states)
    found.inspector = Inspector(found.settings, lambda: (), found.lake, found.store, lambda: found.now)
    found.work()
    assert found.jobs() == [("a", "FINISHED", None)]


def test_while_nothing_can_begin_tables_that_wait_are_not_looked_at(case: Callable[..., Case]) -> None:
    found = case(**{"maintenance.window": "Mon 13:00-14:00"})
    for name in "abc":
        found.states.add(name)
    found.work()
    looks = found.states.looks
    found.now += timedelta(minutes=30)
    found.work()
    assert found.states.looks == looks
    found.now += timedelta(minutes=30)
    found.work()
    assert len(found.jobs()) == 3


def test_two_tables_at_once_do_not_spend_one_budget_twice(case: Callable[..., Case]) -> None:
    found = case(**{"maintenance.budget.bytes-per-day": f"{BAD.size * 3 // 2}B"})
    for name in "ab":
        found.states.add(name)
    found.answers.begins_after = 0.3  # a statement is admitted before it has an id, and a job
    found.work()
    assert len(found.answers.texts) == 1
    assert any("of the bytes of a day" in reason for _, reason in found.verdicts())


def test_other_numbers_alone_are_no_news_while_work_waits(case: Callable[..., Case]) -> None:
    found = case(**{"maintenance.budget.bytes-per-day": "1kB"})
    key = found.states.add("a")
    found.work()
    for number in range(50):
        found.now += timedelta(seconds=30)
        files = partition(files=41 + number)
        found.states.known[key] = replace(found.states.known[key], partitions=(files,), marker=f"a-{number}")
        found.inspector.look(key)
    assert len(found.verdicts()) == 1
    found.now += timedelta(hours=1)
    found.inspector.look(key, forced=True)
    assert len(found.verdicts()) == 2


def test_what_waits_longest_overtakes_what_gains_more(case: Callable[..., Case]) -> None:
    found = case(**{"maintenance.max-concurrent-jobs": 1, "maintenance.max-per-catalog": 1})
    old, new = found.states.add("old"), found.states.add("new")
    found.states.known[new] = replace(found.states.known[new], partitions=(partition(files=80),))
    first = found.inspector.look(old)
    assert first is not None
    found.now += timedelta(hours=5)
    for key in (old, new):
        inspection = found.inspector.look(key, forced=True)
        assert inspection is not None
        found.service._waiting[key] = inspection, "policy"
    assert sorted([new, old], key=lambda key: found.service._turn(key, {})) == [old, new]


def test_a_commit_of_an_own_statement_is_a_trigger(case: Callable[..., Case]) -> None:
    found = case(**{"maintenance.scan-interval": "1h", "maintenance.commit-delay": "10ms"})
    key = found.states.add("a", bad=False)

    async def run() -> None:
        async with found.service.running():
            while not found.service.rounds:
                await asyncio.sleep(0.01)
            found.states.add("a")
            found.states.known[key] = replace(found.states.known[key], marker="a-written")
            found.service.committed(TableKey("lake", "DB", "A"))
            while not found.store.jobs(1) or found.store.jobs(1)[0].state == "RUNNING":
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 20))
    (job,) = found.store.jobs(10)
    assert (job.trigger, job.state) == ("commit", "FINISHED")


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

    asyncio.run(asyncio.wait_for(run(), 20))
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

    asyncio.run(asyncio.wait_for(run(), 20))
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

    asyncio.run(asyncio.wait_for(run(), 20))
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

    asyncio.run(asyncio.wait_for(run(), 20))
    assert found.jobs() == [("a", "FINISHED", None)]
