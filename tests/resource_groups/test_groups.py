"""The tree of groups: who starts, who waits, who is refused."""

import asyncio
from random import Random

import pytest

from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.selection import GroupSelection
from coordinator.resource_groups.specification import GroupSpec, ManagerSpec, SelectorSpec
from shared.errors import ProcessionError

pytestmark = pytest.mark.anyio


class Tree:
    """Groups over one root ``r`` with leaves, and tasks that ask for slots in them."""

    def __init__(self, root, *leaves, period=None):
        self.root = GroupSpec(name="r", sub_groups=leaves, **root)
        spec = ManagerSpec((self.root,), (SelectorSpec(("r",)),), period)
        self.groups = ResourceGroups(spec, Random(7))
        self.tasks = {}

    def selection(self, leaf=None):
        if leaf is None:
            return GroupSelection(("r",), (self.root,))
        return GroupSelection(("r", leaf), (self.root, next(g for g in self.root.sub_groups if g.name == leaf)))

    async def ask(self, query_id, leaf=None, **how):
        self.tasks[query_id] = asyncio.create_task(self.groups.acquire(self.selection(leaf), query_id, **how))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    @property
    def running(self):
        return [query_id for group in self.groups.walk() for query_id in group.running]

    async def served(self, count):
        """Release the running statement again and again; who came, in order."""
        order = []
        for _ in range(count):
            (query_id,) = self.running
            order.append(query_id)
            self.groups.release(query_id)
            await asyncio.sleep(0)
        return order


async def test_first_come_first_served():
    tree = Tree({"hard_concurrency_limit": 1, "max_queued": 10})
    for query_id in "abc":
        await tree.ask(query_id)
    (root,) = tree.groups.roots
    assert (root.running, root.queued, root.state) == (("a",), ("b", "c"), "CAN_QUEUE")
    assert await tree.served(3) == ["a", "b", "c"]
    assert (root.running_total, root.queued_total, root.state) == (0, 0, "CAN_RUN")
    assert all(task.done() and task.exception() is None for task in tree.tasks.values())


async def test_full_names_the_group_and_leaves_nothing_behind():
    tree = Tree({"hard_concurrency_limit": 1, "max_queued": 1}, GroupSpec("x", 5, 5))
    await tree.ask("a", "x")
    await tree.ask("b", "x")
    with pytest.raises(ProcessionError, match=r'Too many queued queries for "r\.x"') as failure:
        await tree.groups.acquire(tree.selection("x"), "c")
    assert failure.value.code.name == "QUERY_QUEUE_FULL"
    assert tree.groups.admission(tree.selection("x")) == "FULL"
    tree.groups.release("c")
    assert await tree.served(2) == ["a", "b"]


async def test_leaving_the_line_and_the_moment_of_the_turn():
    tree = Tree({"hard_concurrency_limit": 1, "max_queued": 10})
    for query_id in "abcd":
        await tree.ask(query_id)
    tree.tasks["b"].cancel()
    await asyncio.gather(tree.tasks["b"], return_exceptions=True)
    (root,) = tree.groups.roots
    assert root.queued == ("c", "d")
    tree.groups.release("a")
    tree.tasks["c"].cancel()  # it has its slot, but has not yet heard of it
    await asyncio.gather(tree.tasks["c"], return_exceptions=True)
    assert (root.running, root.queued) == (("d",), ())


async def test_fair_takes_turns_between_sub_groups():
    tree = Tree({"hard_concurrency_limit": 1, "max_queued": 99}, GroupSpec("x", 9, 9), GroupSpec("y", 9, 9))
    for query_id in ("x1", "x2", "x3", "x4", "y1", "y2"):
        await tree.ask(query_id, query_id[0])
    assert await tree.served(6) == ["x1", "x2", "y1", "x3", "y2", "x4"]


async def test_weighted_fair_keeps_running_queries_in_proportion():
    tree = Tree(
        {"hard_concurrency_limit": 6, "max_queued": 99, "scheduling_policy": "weighted_fair"},
        GroupSpec("x", 9, 99, scheduling_weight=2),
        GroupSpec("y", 9, 99, scheduling_weight=1),
    )
    await tree.ask("first", "x")
    for number in range(5):
        await tree.ask(f"old{number}", "x")
    for number in range(20):
        await tree.ask(f"x{number}", "x")
        await tree.ask(f"y{number}", "y")
    for query_id in ("first", *(f"old{number}" for number in range(5))):
        tree.groups.release(query_id)
    x, y = (tree.groups.find(("r", name)) for name in "xy")
    assert (x.running_total, y.running_total) == (4, 2)
    for _ in range(10):
        tree.groups.release(x.running[0])
        assert (x.running_total, y.running_total) == (4, 2)


async def test_weighted_draws_by_weight_and_prefers_groups_below_their_soft_limit():
    def tree(x_soft):
        return Tree(
            {"hard_concurrency_limit": 1, "max_queued": 999, "scheduling_policy": "weighted"},
            GroupSpec("x", 9, 999, scheduling_weight=4, soft_concurrency_limit=x_soft),
            GroupSpec("y", 9, 999, scheduling_weight=1),
        )

    async def share(tree):
        for number in range(300):
            await tree.ask(f"x{number}", "x")
            await tree.ask(f"y{number}", "y")
        return sum(query_id.startswith("x") for query_id in await tree.served(200))

    assert 140 <= await share(tree(0)) <= 180  # 160 of 200 expected: five standard deviations are 28
    assert await share(tree(1)) == 200


async def test_query_priority_is_strict_across_sub_groups():
    policy = {"scheduling_policy": "query_priority"}
    tree = Tree({"hard_concurrency_limit": 1, "max_queued": 99, **policy}, GroupSpec("x", 9, 9, **policy),
                GroupSpec("y", 9, 9, **policy))  # fmt: skip
    await tree.ask("running", "x")
    for query_id, priority in (("x1", 1), ("y5", 5), ("x3", 3), ("y3", 3), ("x5", 5)):
        await tree.ask(query_id, query_id[0], priority=priority)
    assert await tree.served(6) == ["running", "x5", "y5", "x3", "y3", "x1"]


async def test_retries_go_first():
    tree = Tree({"hard_concurrency_limit": 1, "max_queued": 9})
    for query_id in "abc":
        await tree.ask(query_id)
    await tree.ask("again", retry=True)
    assert await tree.served(4) == ["a", "again", "b", "c"]


async def test_a_group_at_its_limit_does_not_hold_up_its_sibling():
    tree = Tree({"hard_concurrency_limit": 9, "max_queued": 9}, GroupSpec("x", 1, 9), GroupSpec("y", 1, 9))
    for query_id in ("x1", "x2", "y1"):
        await tree.ask(query_id, query_id[0])
    assert sorted(tree.running) == ["x1", "y1"]


async def test_cpu_quota():
    limits = {"soft_cpu_limit": 10.0, "hard_cpu_limit": 20.0}
    tree = Tree({"hard_concurrency_limit": 4, "max_queued": 9, **limits}, period=10.0)
    (root,) = tree.groups.roots
    await tree.ask("a")
    tree.groups.release("a", cpu_seconds=15.0)
    assert root.concurrency_limit == 2  # halfway between soft and hard limit
    await tree.ask("b")
    tree.groups.release("b", cpu_seconds=10.0)
    await tree.ask("c")
    assert (root.running, root.queued) == ((), ("c",))
    tree.groups.tick(2.0, lambda _: 0.0)  # 2 CPU seconds a second come back: 25 becomes 21
    assert root.queued == ("c",)
    tree.groups.tick(1.0, lambda _: 0.0)
    assert (root.running, root.cpu_usage, root.concurrency_limit) == (("c",), 19.0, 1)


async def test_memory_and_workers_hold_new_statements_back():
    tree = Tree({"hard_concurrency_limit": 9, "max_queued": 9, "soft_memory_limit": 100.0})
    await tree.ask("a")
    tree.groups.tick(1.0, {"a": 101.0}.__getitem__)
    await tree.ask("b")
    assert tree.running == ["a"]
    tree.groups.tick(1.0, {"a": 100.0}.__getitem__)
    assert tree.running == ["a", "b"]
    tree = Tree({"hard_concurrency_limit": 9, "max_queued": 9, "workers_per_query_limit": 2})
    for query_id in "abc":
        await tree.ask(query_id)
    assert tree.running == ["a"]
    tree.groups.tick(1.0, lambda _: 0.0, workers=2)
    assert tree.running == ["a", "b"]


async def test_groups_of_templates_vanish_when_nobody_uses_them():
    user = GroupSpec("${USER}", 1, 9)
    tree = Tree({"hard_concurrency_limit": 9, "max_queued": 9}, user)
    selection = GroupSelection(("r", "alice"), (tree.root, user))
    await tree.groups.acquire(selection, "a")
    assert [group.id for group in tree.groups.walk()] == [("r",), ("r", "alice")]
    tree.groups.release("a")
    assert [group.id for group in tree.groups.walk()] == [("r",)]


async def test_reconfiguration_starts_who_now_may_and_drains_what_is_gone():
    tree = Tree({"hard_concurrency_limit": 1, "max_queued": 9}, GroupSpec("x", 9, 9))
    for query_id in "abcd":
        await tree.ask(query_id, "x")
    tree.groups.configure(ManagerSpec((GroupSpec("r", 3, 9, sub_groups=(GroupSpec("x", 2, 9),)),), ()))
    assert tree.running == ["a", "b"]
    tree.groups.configure(ManagerSpec((GroupSpec("new", 1, 1),), (SelectorSpec(("new",)),)))
    for query_id in "abcd":
        assert query_id in tree.running
        tree.groups.release(query_id)
    assert [group.id for group in tree.groups.walk()] == [("new",)]


async def test_what_has_nothing_left_to_do_waits_for_nobody_elses_slot():
    tree = Tree({"hard_concurrency_limit": 1, "max_queued": 2})
    await tree.ask("a")
    await tree.ask("b")
    await tree.ask("known", done=True)
    assert tree.tasks["known"].done()
    assert tree.running == ["a"]
    tree.groups.release("known")
    assert tree.running == ["a"]
    await tree.ask("c")
    with pytest.raises(ProcessionError, match="Too many queued queries"):
        await tree.groups.acquire(tree.selection(), "one too many", done=True)


@pytest.mark.parametrize("limits", [{"hard_concurrency_limit": 0}, {"hard_cpu_limit": 0.0, "soft_cpu_limit": 0.0}])
async def test_where_nothing_may_run_it_waits_like_the_others(limits):
    tree = Tree({"hard_concurrency_limit": 5, "max_queued": 2} | limits, period=60.0)
    await tree.ask("known", done=True)
    assert not tree.tasks["known"].done()
    tree.tasks["known"].cancel()


async def test_a_lent_slot_comes_back_and_is_lent_once():
    tree = Tree({"hard_concurrency_limit": 1, "max_queued": 5})
    for name in ("a", "b", "c"):
        await tree.ask(name)
    tree.groups.pause("a")
    assert tree.running == ["b"]
    tree.groups.pause("b")
    assert tree.running == ["b"], "one slot, one statement that lends it"
    tree.groups.resume("a")
    assert sorted(tree.running) == ["a", "b"]
    tree.groups.release("b")
    assert tree.running == ["a"]
    tree.groups.pause("a")
    assert tree.running == ["c"]
    tree.groups.release("a")
    tree.groups.resume("a")
    tree.groups.release("c")
    assert [group.running_total for group in tree.groups.walk()] == [0]
