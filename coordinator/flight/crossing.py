"""From the server's event loop to the coordinator's and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")


class Crossing:
    """Runs on the loop of the coordinator what belongs there, for callers on another one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    async def run(self, work: Coroutine[None, None, T]) -> T:
        """Its result; if the caller is cancelled, so is the work."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def call(self, function: Callable[[], T]) -> T:
        """The result of a function that does not wait."""

        async def work() -> T:
            return function()

        return await self.run(work())

    async def each(self, items: AsyncIterator[T]) -> AsyncIterator[T]:
        """What an iterator of the other loop gives."""
        while True:
            found = await self.run(_next(items))
            if not found:
                return
            yield found[0]

    def soon(self, function: Callable[[], object]) -> None:
        """Call it there, and do not wait."""
        self._loop.call_soon_threadsafe(function)


async def _next(items: AsyncIterator[T]) -> tuple[T, ...]:
    try:
        return (await anext(items),)
    except StopAsyncIteration:
        return ()
