"""Everything of a coordinator that has a life cycle: started in order, stopped in reverse."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext

from coordinator.parts import Parts
from coordinator.recovering import close_catalogs, open_catalogs, recovering
from coordinator.values.machine import limit_arenas

Running = Callable[[], AbstractAsyncContextManager[None]]
_GARBAGE_AFTER = 10_000
"""Objects; a statement has thousands, hardly any in circles, and looking for those after every 700 took a tenth."""


@asynccontextmanager
async def running(
    parts: Parts, maintaining: Running, serving: Running, start_failed: Callable[[Exception], None]
) -> AsyncIterator[None]:
    """The coordinator at work. ``start_failed`` gets what keeps it from beginning, after what was started has ended."""
    begun = False
    limit_arenas()  # before threads make more
    try:
        async with _started(parts, maintaining, serving):
            begun = True
            yield
    except Exception as error:
        if not begun:
            start_failed(error)
        raise


@asynccontextmanager
async def _started(parts: Parts, maintaining: Running, serving: Running) -> AsyncIterator[None]:
    engines, planning, around = parts.engines, parts.planning, parts.around
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(nullcontext() if around.clustering is None else around.clustering.joined())
        auditing = around.auditing
        await stack.enter_async_context(nullcontext() if auditing is None else auditing.running())
        # Before all others, so that it is the last of them to stop: what ends while the service stops is told of too.
        around.delivery.bus.start()
        stack.push_async_callback(asyncio.to_thread, around.delivery.bus.close)
        stack.callback(engines.jobs.close)
        engines.explainer.bind(asyncio.get_running_loop())
        stack.push_async_callback(engines.explainer.aclose)
        stack.push_async_callback(planning.checkers.aclose)
        stack.push_async_callback(asyncio.to_thread, close_catalogs, parts.governed.catalogs)
        await asyncio.to_thread(open_catalogs, parts.governed.catalogs, engines.spark)
        stack.push_async_callback(asyncio.to_thread, engines.spark.stop)
        engines.spark.start()
        stack.push_async_callback(asyncio.to_thread, engines.sql.close)
        engines.sql.start()
        stack.push_async_callback(planning.pool.aclose)
        await planning.pool.start()
        file = parts.groups_file
        await stack.enter_async_context(nullcontext() if file is None else file.following(parts.groups))
        await stack.enter_async_context(maintaining())
        await stack.enter_async_context(parts.managing.following())
        await stack.enter_async_context(_with_others(parts))
        await stack.enter_async_context(serving())
        # What is loaded by now stays: a full collection that walks over it holds up the event loop for 0.1 s.
        gc.collect()
        gc.freeze()
        gc.set_threshold(_GARBAGE_AFTER)
        yield


@asynccontextmanager
async def _with_others(parts: Parts) -> AsyncIterator[None]:
    """Limits in common with other coordinators, and what those that ended left open, where there are others."""
    clustering, interval = parts.around.clustering, parts.around.config.cluster.heartbeat_interval
    if clustering is None:
        yield
        return
    membership = clustering.membership
    async with (
        clustering.sharing(parts.groups, interval),
        recovering(parts.governed.catalogs, parts.engines.spark, lambda: membership.connected, interval),
    ):
        yield
