"""Limits of resource groups over two coordinators and a real PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

import pytest
import sqlalchemy as sa

from coordinator.cluster.group_shares import GroupShares, row_name
from coordinator.cluster.schema import GROUP_SHARES, NODES
from coordinator.cluster.slot_sharing import SharedSlots
from coordinator.cluster.store import ClusterStore, Node
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.selection import GroupSelection
from coordinator.resource_groups.shares import Asked, Demand, Path, Share
from coordinator.resource_groups.specification import GroupSpec, ManagerSpec
from shared.errors import ErrorCode, ProcessionError
from tests.databases import new_database

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url(postgres: str) -> str:
    return new_database(postgres, "groups")


@pytest.fixture
def store(url: str) -> Iterator[ClusterStore]:
    opened = ClusterStore(url)
    with opened.engine.begin() as connection:
        connection.execute(sa.delete(NODES))
        connection.execute(sa.delete(GROUP_SHARES))
    yield opened
    opened.close()


class Coordinators:
    """Each with groups of its own; ``most`` statements ran at once, over all of them."""

    def __init__(self, store: ClusterStore, spec: GroupSpec, letters: str) -> None:
        self.store, self.spec = store, spec
        self.groups = {letter: ResourceGroups(ManagerSpec((spec,), ())) for letter in letters}
        self.running = dict.fromkeys(letters, 0)
        self.done = dict.fromkeys(letters, 0)
        self.most = 0

    @property
    def queued(self) -> int:
        return sum(root.queued_total for groups in self.groups.values() for root in groups.roots)

    @asynccontextmanager
    async def all(self, interval: float = 0.1) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for letter, groups in self.groups.items():
                suffix = letter * 5
                assert self.store.register(Node(suffix, letter, f"http://{letter}:1", "1"), 60)
                shares = GroupShares(self.store.engine, suffix)
                slots = SharedSlots(groups, shares.exchange, lambda: len(self.groups), interval)
                await stack.enter_async_context(slots.running())
            yield

    async def run(self, letter: str, name: str, seconds: float) -> None:
        groups, query_id = self.groups[letter], f"{letter}-{name}"
        await groups.acquire(GroupSelection((self.spec.name,), (self.spec,)), query_id)
        self.running[letter] += 1
        self.most = max(self.most, sum(self.running.values()))
        try:
            await asyncio.sleep(seconds)
        finally:
            self.running[letter] -= 1
            self.done[letter] += 1
            groups.release(query_id)


async def eventually(condition: Callable[[], object]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_a_limit_is_that_of_all_and_everything_is_run(store: ClusterStore, limit: int) -> None:
    async def scenario() -> None:
        both = Coordinators(store, GroupSpec("g", limit, 1000), "ab")
        random = Random(7)
        async with both.all():
            await asyncio.gather(*(both.run(random.choice("ab"), str(n), random.uniform(0, 0.05)) for n in range(60)))
        assert both.most <= limit
        assert sum(both.done.values()) == 60

    asyncio.run(asyncio.wait_for(scenario(), 200))


def test_whoever_comes_later_gets_its_fair_part(store: ClusterStore) -> None:
    """One has all slots and a long queue; the other one's statements do not wait for the end of that."""

    async def scenario() -> None:
        both = Coordinators(store, GroupSpec("g", 4, 5000), "ab")
        async with both.all():
            first = asyncio.gather(*(both.run("a", str(n), 0.1) for n in range(2000)))
            await eventually(lambda: both.running["a"] == 4)
            second = asyncio.gather(*(both.run("b", str(n), 0.1) for n in range(20)))
            await eventually(lambda: both.running == {"a": 2, "b": 2})
            await second
            assert both.done["a"] < 1200
            await eventually(lambda: both.running == {"a": 4, "b": 0})
            first.cancel()
        assert both.most <= 4

    asyncio.run(asyncio.wait_for(scenario(), 200))


def test_a_full_queue_is_that_of_all(store: ClusterStore) -> None:
    async def scenario() -> None:
        both = Coordinators(store, GroupSpec("g", 1, 10), "ab")
        async with both.all():
            holding = asyncio.create_task(both.run("a", "first", 60))
            await eventually(lambda: both.running["a"] == 1)
            waiting = [asyncio.create_task(both.run("ab"[n % 2], str(n), 0)) for n in range(10)]
            await eventually(lambda: both.queued == 10)
            for letter in "ab":
                with pytest.raises(ProcessionError) as full:
                    await both.run(letter, "one-too-many", 0)
                assert full.value.code is ErrorCode.QUERY_QUEUE_FULL
            for task in (holding, *waiting):
                task.cancel()

    asyncio.run(asyncio.wait_for(scenario(), 200))


def test_places_that_an_idle_one_has_are_given_back_before_somebody_is_refused(store: ClusterStore) -> None:
    async def scenario() -> None:
        both = Coordinators(store, GroupSpec("g", 1, 10), "ab")
        async with both.all(interval=0.5):
            tasks = [asyncio.create_task(both.run("a", str(n), 60)) for n in range(11)]
            await eventually(lambda: len(both.groups["a"].roots[0].queued) == 10)
            for task in tasks:
                task.cancel()

    asyncio.run(asyncio.wait_for(scenario(), 200))


def test_slots_of_one_that_is_gone_come_free(store: ClusterStore) -> None:
    async def scenario() -> None:
        both = Coordinators(store, GroupSpec("g", 2, 10), "a")
        assert store.register(Node("ddddd", "d", "http://d:1", "1"), 60)
        dead = {
            "path": row_name(("g",)),
            "suffix": "ddddd",
            "wanted": 2,
            "reserved": 2,
            "places": 0,
            "places_reserved": 5,
        }
        with store.engine.begin() as connection:
            connection.execute(sa.insert(GROUP_SHARES).values(**dead))
        async with both.all():
            task = asyncio.create_task(both.run("a", "1", 0))
            await asyncio.sleep(0.2)
            assert both.done["a"] == 0
            assert store.renew("ddddd", 0.1)
            await task

    asyncio.run(asyncio.wait_for(scenario(), 200))


def test_of_more_coordinators_than_slots_none_waits_for_good(store: ClusterStore) -> None:
    async def scenario() -> None:
        many = Coordinators(store, GroupSpec("g", 1, 1000), "abc")
        async with many.all():
            tasks = [asyncio.create_task(many.run(letter, str(n), 0.07)) for letter in "abc" for n in range(100)]
            await eventually(lambda: min(many.done.values()) > 0)
            for task in tasks:
                task.cancel()
        assert many.most == 1

    asyncio.run(asyncio.wait_for(scenario(), 200))


def test_others_get_what_was_taken_back_once_it_is_not_in_force_any_more(store: ClusterStore) -> None:
    """The first one may begin statements until it knows of its smaller share."""
    for letter in "ab":
        assert store.register(Node(letter * 5, letter, f"http://{letter}:1", "1"), 60)
    first, second = GroupShares(store.engine, "aaaaa"), GroupShares(store.engine, "bbbbb")
    idle, hungry = Demand(0, 0, 0, 0), Demand(0, 4, 0, 0)
    path = ("a" * 3000, "nul\x00", "\ud800")
    assert first.exchange({path: Asked(4, 10, Demand(0, 4, 0, 0))})[path].running == 4
    assert second.exchange({path: Asked(4, 10, hungry)})[path].running == 0
    assert first.exchange({path: Asked(4, 10, idle, 4, 10)})[path].running == 0
    assert second.exchange({path: Asked(4, 10, hungry)})[path].running == 0
    assert first.exchange({path: Asked(4, 10, idle, 0, 5)})[path].running == 0
    assert second.exchange({path: Asked(4, 10, hungry)})[path].running == 4


def test_an_exchange_that_fails_unexpectedly_is_tried_again() -> None:
    answers: list[Exception] = [ValueError("a NUL"), RuntimeError("broken")]

    def exchange(asked: Mapping[Path, Asked]) -> dict[Path, Share]:
        if answers:
            raise answers.pop()
        return {path: Share(1, 1) for path in asked}

    async def scenario() -> None:
        groups = ResourceGroups(ManagerSpec((GroupSpec("g", 2, 10),), ()))
        async with SharedSlots(groups, exchange, lambda: 2, 0.02).running():
            await eventually(lambda: groups.roots[0].share == Share(1, 1))

    asyncio.run(asyncio.wait_for(scenario(), 200))


def test_without_the_database_everybody_keeps_what_it_has_and_it_heals(store: ClusterStore) -> None:
    async def scenario() -> None:
        both = Coordinators(store, GroupSpec("g", 4, 1000), "ab")

        def rename(old: str, new: str) -> None:
            with store.engine.begin() as connection:
                connection.exec_driver_sql(f"ALTER TABLE {old} RENAME TO {new}")

        async with both.all():
            await eventually(lambda: {groups.roots[0].share for groups in both.groups.values()} == {Share(2, 500)})
            rename("cluster_group_shares", "away")
            try:
                await asyncio.gather(*(both.run("a", str(n), 0.05) for n in range(20)))
                assert both.most == 2
            finally:
                rename("away", "cluster_group_shares")
            again = asyncio.gather(*(both.run("a", f"again-{n}", 0.1) for n in range(900)))
            await eventually(lambda: both.most == 4)
            again.cancel()
        assert both.most == 4

    asyncio.run(asyncio.wait_for(scenario(), 200))


def test_users_that_nobody_knew_get_a_part_without_the_database(store: ClusterStore) -> None:
    async def scenario() -> None:
        child = GroupSpec("${USER}", 4, 10)
        both = Coordinators(store, GroupSpec("g", 100, 1000, sub_groups=(child,)), "ab")
        selection = GroupSelection(("g", "new-user"), (both.spec, child))
        groups = both.groups["a"]
        async with both.all():
            with store.engine.begin() as connection:
                connection.exec_driver_sql("ALTER TABLE cluster_group_shares RENAME TO away")
            try:
                for n in range(2):
                    await groups.acquire(selection, str(n))
                third = asyncio.create_task(groups.acquire(selection, "3"))
                await asyncio.sleep(0.3)
                assert not third.done()
            finally:
                with store.engine.begin() as connection:
                    connection.exec_driver_sql("ALTER TABLE away RENAME TO cluster_group_shares")
            await third

    asyncio.run(asyncio.wait_for(scenario(), 200))


def test_a_group_is_not_promised_what_its_sub_group_cannot_use(store: ClusterStore) -> None:
    """One coordinator has a long line in a sub-group of one slot: the other gets the rest of the group above."""

    async def scenario() -> None:
        small, wide = GroupSpec("small", 1, 100), GroupSpec("wide", 10, 100)
        both = Coordinators(store, GroupSpec("g", 10, 1000, sub_groups=(small, wide)), "ab")
        async with both.all():
            first, second = both.groups["a"], both.groups["b"]
            tasks = [
                asyncio.create_task(first.acquire(GroupSelection(("g", "small"), (both.spec, small)), f"a{n}"))
                for n in range(20)
            ]
            tasks += [
                asyncio.create_task(second.acquire(GroupSelection(("g", "wide"), (both.spec, wide)), f"b{n}"))
                for n in range(20)
            ]
            await eventually(lambda: second.roots[0].running_total >= 9)
            assert first.roots[0].running_total == 1
            for task in tasks:
                task.cancel()

    asyncio.run(asyncio.wait_for(scenario(), 200))


def test_cpu_limits_are_those_of_all(store: ClusterStore) -> None:
    """One spends what a group may have; the other one's statements wait until time has forgiven it."""

    async def scenario() -> None:
        spec = GroupSpec("g", 10, 100, soft_cpu_limit=10.0, hard_cpu_limit=20.0)
        both = Coordinators(store, spec, "ab")
        for groups in both.groups.values():
            groups.configure(ManagerSpec((spec,), (), cpu_quota_period=20.0))  # a CPU second each second
        selection = GroupSelection(("g",), (spec,))
        first, second = both.groups["a"], both.groups["b"]
        async with both.all():
            await first.acquire(selection, "spender")
            first.release("spender", cpu_seconds=25.0)
            await eventually(lambda: second.roots[0].others.cpu_seconds == 25.0)
            waiting = asyncio.create_task(second.acquire(selection, "waits"))
            await eventually(lambda: second.roots[0].queued == ("waits",))
            for groups in (first, second):
                groups.tick(10.0, lambda _query: 0.0)  # as if as much time had passed
            await waiting
            await eventually(lambda: second.roots[0].others.cpu_seconds == 15.0)
            # Half-way between soft and hard half of the slots are left, for both together.
            await eventually(lambda: first.roots[0].concurrency_limit + second.roots[0].concurrency_limit == 5)

    asyncio.run(asyncio.wait_for(scenario(), 200))
