"""Commits of other programs as a trigger, over a lake of states."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from coordinator.maintenance.records import TableKey
from coordinator.maintenance.watch import CommitWatch
from tests.maintenance.cases import Case


def commit(found: Case, key: TableKey, marker: str) -> None:
    found.states.known[key] = replace(found.states.known[key], marker=marker)


@pytest.mark.parametrize("at_once", [True, False])
def test_only_what_changed_since_the_last_look_or_question_is_told(case: Callable[..., Case], at_once: bool) -> None:
    found = case()
    found.states.tells_markers = at_once
    a, b, c = (found.states.add(name, bad=False) for name in "abc")
    found.inspector.look(a)
    found.inspector.look(b)
    commit(found, b, "b-written")
    watch = CommitWatch(found.lake, 10.0, found.store.marks)
    assert watch.changed([a, b, c]) == [b], "the last look at it was before; one without a look is for the next round"
    assert watch.changed([a, b, c]) == []
    commit(found, c, "c-written")
    commit(found, a, "a-written")
    assert watch.changed([a, b, c]) == [a, c]
    del found.states.known[a]
    commit(found, c, "c-again")
    assert watch.changed([b, c]) == [c]
    assert watch.changed([]) == []


def test_catalogs_that_are_asked_table_by_table_have_a_tenth_of_the_time_by_turns(
    case: Callable[..., Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = case()
    found.states.tells_markers = False
    keys = [found.states.add(f"t{number}", bad=False) for number in range(10)]
    asked: list[TableKey] = []
    clock = [0.0]

    def ask(key: TableKey) -> str:
        asked.append(key)
        clock[0] += 0.4
        return "m"

    monkeypatch.setattr(found.states, "marker_if_cheap", ask)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    watch = CommitWatch(found.lake, 10.0, found.store.marks)
    for _ in range(4):
        watch.changed(keys)
    assert asked == (keys * 2)[:12], "three a second of ten, each before any comes again"


def work_of(found: Case, key: TableKey, seconds: float, work: Callable[[], None]) -> list[Any]:
    """The jobs that the service begins within so many seconds after another program's commit."""

    async def run() -> None:
        async with found.service.running():
            while not found.service.rounds:
                await asyncio.sleep(0.01)
            work()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                if any(job.state != "RUNNING" for job in found.store.jobs(1)):
                    return
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 120))
    return [(job.key, job.trigger, job.state) for job in found.store.jobs(10)]


SETTINGS = {
    "maintenance.scan-interval": "1h",
    "maintenance.commit-delay": "10ms",
    "maintenance.commit-check-interval": "20ms",
}


def written(found: Case, key: TableKey) -> Callable[[], None]:
    def work() -> None:
        found.states.add(key.table)
        commit(found, key, "written by another program")

    return work


def test_a_commit_of_another_program_is_a_trigger(case: Callable[..., Case]) -> None:
    found = case(**SETTINGS)
    key = found.states.add("a", bad=False)
    assert work_of(found, key, 60, written(found, key)) == [(key, "commit", "FINISHED")]


@pytest.mark.parametrize("settings", [{"maintenance.commit-check-interval": "0s"}, {"maintenance.commit-delay": "0s"}])
def test_zero_leaves_it_to_the_rounds(case: Callable[..., Case], settings: dict[str, str]) -> None:
    found = case(**{**SETTINGS, **settings})
    key = found.states.add("a", bad=False)
    assert work_of(found, key, 0.4, written(found, key)) == []


def test_a_coordinator_whose_turn_it_is_not_watches_nothing(case: Callable[..., Case]) -> None:
    found = case(**SETTINGS)
    found.is_its_turn = False
    key = found.states.add("a", bad=False)
    assert work_of(found, key, 0.4, written(found, key)) == []
