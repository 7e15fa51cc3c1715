"""The end of the planners' loop: what is asked then is refused, and nobody waits for ever. The pool is a fake."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from coordinator.validation.own_loop import PoolOnItsOwnLoop
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

pytestmark = pytest.mark.anyio


class FakePool:
    """Plans nothing before it ends, and ends when it is let."""

    def __init__(self) -> None:
        self.closing, self.go_on = threading.Event(), threading.Event()
        self.asked, self.given = 0, list[asyncio.Future[Any]]()

    async def start(self) -> None: ...

    async def plan(self, text: str, session: Session) -> Any:
        self.asked += 1
        self.given.append(asyncio.get_running_loop().create_future())
        return await self.given[-1]

    async def aclose(self) -> None:
        self.closing.set()
        await asyncio.to_thread(self.go_on.wait, 10)
        for each in self.given:
            each.set_exception(ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, "Server is shutting down"))


@pytest.mark.slow
async def test_what_is_asked_while_it_ends_is_refused() -> None:
    fake: Any = FakePool()
    pool, session = PoolOnItsOwnLoop(fake), Session(user="u")
    await pool.start()
    async with asyncio.timeout(60):
        early = [asyncio.create_task(pool.plan("SELECT 1", session)) for _ in range(20)]
        await asyncio.sleep(0)
        ends = [asyncio.create_task(pool.aclose()) for _ in range(2)]
        await asyncio.to_thread(fake.closing.wait, 10)
        with pytest.raises(ProcessionError) as late:
            await pool.plan("SELECT 2", session)
        fake.go_on.set()
        await asyncio.gather(*ends)
        answers = await asyncio.gather(*early, return_exceptions=True)
    assert late.value.code is ErrorCode.SERVER_SHUTTING_DOWN
    assert fake.asked == 20
    assert all(isinstance(a, ProcessionError) and a.code is ErrorCode.SERVER_SHUTTING_DOWN for a in answers)
