"""Resource groups whose limits are those of all coordinators: asks for this one's shares, often while some wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress

import structlog

from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.shares import Asked, Path, Share

_log = structlog.get_logger(__name__)
_SOON_SECONDS = 0.25
"""Between two questions while somebody waits for what another has."""
_PAUSE_SECONDS = 0.02
_LEAST_PATIENCE_SECONDS = 5.0
"""For others to give back what they do not need; on a busy machine they take more than two questions for it."""
_PATIENCE_SECONDS = 20.0
"""How long a statement waits for an answer: until it is known that there is none."""


class SharedSlots:
    """Implements ``SlotSharing``; belongs to one event loop. ``exchange`` blocks, and raises SQLAlchemyError."""

    def __init__(
        self,
        groups: ResourceGroups,
        exchange: Callable[[Mapping[Path, Asked]], dict[Path, Share]],
        coordinators: Callable[[], int],
        interval: float,
    ) -> None:
        self._groups, self._exchange = groups, exchange
        self._count, self._interval = coordinators, interval
        self._away = False
        self._wake = asyncio.Event()
        self._questions: list[asyncio.Future[None]] = []

    @property
    def coordinators(self) -> int:
        return max(1, self._count())

    @property
    def patience(self) -> float:
        return 0.0 if self._away else max(2 * self._interval + _SOON_SECONDS, _LEAST_PATIENCE_SECONDS)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Shares are asked for meanwhile, and once before."""
        self._groups.share_with(self)
        await self._answer()
        task = asyncio.create_task(self._run(), name="group-shares")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            self._away = True  # nobody answers any more
            self._settle(self._questions)

    async def ask(self) -> None:
        if self._away:
            return
        question: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._questions.append(question)
        self._wake.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await question

    def _settle(self, questions: Iterable[asyncio.Future[None]]) -> None:
        for question in questions:
            if not question.done():
                question.set_result(None)

    def wake(self) -> None:
        self._wake.set()

    async def _run(self) -> None:
        pause = self._interval
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):  # wait_for may lose a cancellation
                    await self._wake.wait()
            self._wake.clear()
            pause = min(_SOON_SECONDS, self._interval) if await self._answer() else self._interval
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _answer(self) -> bool:
        """Whether somebody waits for what another coordinator has."""
        questions, self._questions = self._questions, []
        asked = self._groups.asked()
        try:
            shares = await asyncio.to_thread(self._exchange, asked)
        except Exception as error:  # whatever it is, the next exchange may work
            if not self._away:
                reason = " ".join(str(getattr(error, "orig", None) or error).split())
                _log.warning("limits of resource groups stay divided as they are", reason=reason)
            self._away = True
            self._groups.lose_others()
            return False
        finally:
            self._settle(questions)
        self._away = False
        self._groups.allow(shares)
        return any(
            share.contended or share.running < min(asked[path].demand.wanted, asked[path].running_limit)
            for path, share in shares.items()
        )
