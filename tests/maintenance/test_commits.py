"""Commits of own statements as a trigger: which tables are looked at, when, and how often at most."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from coordinator.maintenance.commits import CommitFollower
from coordinator.maintenance.records import TableKey
from tests import virtual_time

T, U = TableKey("lake", "db", "T"), TableKey("lake", "db", "u")


def followed(
    delay: float, work: Callable[[CommitFollower], None], seconds: float, takes: float = 0.0
) -> list[TableKey]:
    """The looks within so many seconds after ``work``; the first look fails."""
    looks: list[TableKey] = []

    async def look(key: TableKey) -> None:
        looks.append(key)
        await asyncio.sleep(takes)
        if len(looks) == 1:
            raise RuntimeError("a table that cannot be looked at")

    async def run() -> None:
        follower = CommitFollower(delay, look)
        follower.known([T, U])
        task = asyncio.create_task(follower.follow_forever())
        work(follower)
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    virtual_time.run(run())
    return looks


def test_a_table_is_looked_at_once_for_many_commits_and_by_the_name_of_its_catalog() -> None:
    def commits(follower: CommitFollower) -> None:
        for _ in range(100):
            follower.committed(TableKey("lake", "db", "t"))
        follower.committed(U)
        follower.committed(TableKey("lake", "db", "new"))  # for the next round

    assert followed(0.05, commits, 0.5) == [T, U]


def test_a_commit_after_the_look_is_for_the_next_one() -> None:
    def commits(follower: CommitFollower) -> None:
        follower.committed(T)
        asyncio.get_running_loop().call_later(0.2, follower.committed, T)

    assert followed(0.05, commits, 0.8) == [T, T]


def test_looks_take_a_tenth_of_the_time_at_most() -> None:
    def commits(follower: CommitFollower) -> None:
        follower.committed(T)
        follower.committed(U)

    assert followed(0.01, commits, 0.6, takes=0.1) == [T]


def test_a_delay_of_zero_leaves_it_to_the_rounds() -> None:
    assert followed(0, lambda follower: follower.committed(T), 0.1) == []
