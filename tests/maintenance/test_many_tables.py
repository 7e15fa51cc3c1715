"""What the service spares with thousands of tables, and that none of them is forgotten or kept waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest

from coordinator.maintenance.inspection import Inspector
from coordinator.maintenance.lake import Lake
from coordinator.maintenance.records import TableKey
from shared.spi.maintenance import CommitRates
from tests.maintenance.cases import BAD, Case
from tests.maintenance.states import NOW, partition


@pytest.mark.slow
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

    asyncio.run(asyncio.wait_for(run(), 60))
    (job,) = found.store.jobs(10)
    assert (job.trigger, job.state) == ("commit", "FINISHED")
