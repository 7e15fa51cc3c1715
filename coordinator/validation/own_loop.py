"""A pool of planners on an event loop of its own.

A statement takes the loop several turns from the line to its plan. On the server's loop a turn is as long as a thousand
clients make it, and planners stood idle with hundreds of statements in the line (docs/adr/0004).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import TypeVar

from coordinator.validation.pool import PoolStats, ValidationPool
from coordinator.validation.worker import PlannerFactory
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

T = TypeVar("T")


class PoolOnItsOwnLoop:
    """What a ValidationPool does, asked from another loop. ``aclose`` ends the thread; started once."""

    def __init__(self, pool: ValidationPool) -> None:
        self._pool = pool
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="planning", daemon=True)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    async def start(self) -> None:
        """As the pool's."""
        # Planners die with the thread that made them, so they are made by this one, which lives until ``aclose``.
        self._thread.start()
        try:
            await self._ask(self._pool.start())
        except BaseException:
            await self._end()
            raise

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        """As the pool's; cancelling it cancels the planning."""
        if not self._thread.is_alive() or self._loop.is_closed():
            raise ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, "Statements are not planned any more: shutting down")
        return await self._ask(self._pool.plan(text, session))

    def change(self, factory: PlannerFactory, value: object) -> None:
        """As the pool's: what is asked afterwards is planned with the change."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._pool.change, factory, value)
        else:
            self._pool.change(factory, value)

    def stats(self) -> PoolStats:
        """As the pool's."""
        return self._pool.stats()

    async def aclose(self) -> None:
        """As the pool's; then its thread ends."""
        if self._thread.is_alive():
            await self._ask(self._pool.aclose())
            await self._end()

    async def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)

    async def _ask(self, work: Coroutine[None, None, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
