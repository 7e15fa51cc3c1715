import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.resource_groups.group import ResourceGroup, ResourceGroupSettings
from shared.errors import ProcessionError

pytestmark = pytest.mark.anyio


def group(running, queued):
    return ResourceGroup(ResourceGroupSettings(hard_concurrency_limit=running, max_queued=queued))


async def started(resource_group, *ids):
    tasks = [asyncio.create_task(resource_group.acquire(i)) for i in ids]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_first_come_first_served():
    g = group(1, 10)
    a, b, c = await started(g, "a", "b", "c")
    assert (a.done(), g.running, g.queued, g.state) == (True, ("a",), ("b", "c"), "CAN_QUEUE")
    g.release("a")
    await b
    assert (g.running, g.queued) == (("b",), ("c",))
    g.release("b")
    await c
    g.release("c")
    assert (g.running, g.queued, g.state) == ((), (), "CAN_RUN")


async def test_full():
    g = group(1, 1)
    _, waiting = await started(g, "a", "b")
    with pytest.raises(ProcessionError, match='Too many queued queries for "global"') as failure:
        await g.acquire("c")
    assert failure.value.code.name == "QUERY_QUEUE_FULL"
    g.release("a")
    await waiting


async def test_leaving_the_line():
    g = group(1, 10)
    _, b, c = await started(g, "a", "b", "c")
    b.cancel()
    await asyncio.gather(b, return_exceptions=True)
    assert g.queued == ("c",)
    g.release("a")
    await c
    assert g.running == ("c",)


async def test_cancelled_in_the_moment_of_its_turn():
    g = group(1, 10)
    _, b, c = await started(g, "a", "b", "c")
    g.release("a")
    b.cancel()
    await asyncio.gather(b, return_exceptions=True)
    await c
    assert (g.running, g.queued) == (("c",), ())


@given(st.lists(st.tuples(st.sampled_from(["acquire", "release", "cancel"]), st.integers(0, 9)), max_size=40))
@settings(deadline=None)
def test_limits_hold_and_order_is_kept(steps):
    async def run():
        g, tasks, arrived = group(2, 3), {}, []
        for action, number in steps:
            name = str(number)
            if action == "acquire" and name not in tasks:
                (tasks[name],) = await started(g, name)
                if tasks[name].done() and tasks[name].exception():
                    del tasks[name]
                elif name in g.queued:
                    arrived.append(name)
            elif action == "release" and name in g.running:
                g.release(name)
                tasks.pop(name)
            elif action == "cancel" and name in g.queued:
                tasks.pop(name).cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            arrived = [n for n in arrived if n in g.queued]
            assert list(g.queued) == arrived
            assert len(g.running) <= 2
            assert len(g.queued) <= 3
            assert not g.queued or len(g.running) == 2
            assert set(tasks) == {*g.running, *g.queued}
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)

    asyncio.run(run())
