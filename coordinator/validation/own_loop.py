"""A pool of planners on an event loop of its own.

A statement takes the loop several turns from the line to its plan. On the server's loop a turn is as long as a thousand
clients make it, and planners stood idle with hundreds of statements in the line (docs/adr/0004).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import uvloop

from coordinator.validation.pool import PoolStats, ValidationPool
from coordinator.validation.worker import PlannerFactory
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

T = TypeVar("T")


@dataclass(slots=True)
class _Asked:
    """A statement on its way between two loops: without the futures for threads, whose locks took as long as the rest.

    ``planned`` is of the loop that asks; the methods are called on the pool's.
    """

    text: str
    session: Session
    planned: asyncio.Future[PlannedStatement]
    planning: asyncio.Task[PlannedStatement] | None = None

    def begin(self, pool: ValidationPool) -> None:
        self.planning = asyncio.get_running_loop().create_task(pool.plan(self.text, self.session))
        self.planning.add_done_callback(self._ended)

    def cancel(self) -> None:
        if self.planning is not None:
            self.planning.cancel()

    def _ended(self, planning: asyncio.Task[PlannedStatement]) -> None:
        if not planning.cancelled():
            planning.exception()  # it is seen, even if nobody waits any more
        with suppress(RuntimeError):  # the loop that asked is closed: nobody waits
            self.planned.get_loop().call_soon_threadsafe(_settle, self.planned, planning)


def _settle(planned: asyncio.Future[PlannedStatement], planning: asyncio.Task[PlannedStatement]) -> None:
    if planned.done():
        return
    if planning.cancelled():
        planned.cancel()
    elif (error := planning.exception()) is not None:
        planned.set_exception(error)
    else:
        planned.set_result(planning.result())


class PoolOnItsOwnLoop:
    """What a ValidationPool does, asked from another loop. ``aclose`` ends the thread; started once."""

    def __init__(self, pool: ValidationPool) -> None:
        self._pool = pool
        # As the server's: Python's own takes twice as long for the same turns.
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="planning", daemon=True)
        self._lock, self._closing = threading.Lock(), False

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
            self._close()
            await self._end()
            raise

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        """As the pool's; cancelling it cancels the planning."""
        asked = _Asked(text, session, asyncio.get_running_loop().create_future())
        with self._lock:
            # What a loop is given after its last turn waits for ever.
            if self._closing or not self._thread.is_alive():
                message = "Statements are not planned any more: shutting down"
                raise ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, message)
            self._loop.call_soon_threadsafe(asked.begin, self._pool)
        try:
            return await asked.planned
        except asyncio.CancelledError:
            with suppress(RuntimeError):  # the loop is closed, and its tasks have ended
                self._loop.call_soon_threadsafe(asked.cancel)
            raise

    def change(self, factory: PlannerFactory, value: object) -> None:
        """As the pool's: what is asked afterwards is planned with the change."""
        with self._lock:
            if self._thread.is_alive() and not self._closing:
                self._loop.call_soon_threadsafe(self._pool.change, factory, value)
            else:
                self._pool.change(factory, value)

    def stats(self) -> PoolStats:
        """As the pool's."""
        return self._pool.stats()

    async def aclose(self) -> None:
        """As the pool's; then its thread ends."""
        if not self._thread.is_alive():
            return
        if not self._close():
            await asyncio.to_thread(self._thread.join)
            return
        try:
            # It fails all statements that were given before.
            await self._ask(self._pool.aclose())
        finally:
            await self._end()

    def _close(self) -> bool:
        """From now on statements are refused; whether they were not before."""
        with self._lock:
            before, self._closing = self._closing, True
        return not before

    async def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)

    async def _ask(self, work: Coroutine[None, None, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
