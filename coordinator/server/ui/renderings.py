"""Live parts of pages that are shared by all who see the same: fifty open lists cost little more than one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

_MOST = 128


@dataclass(frozen=True, slots=True)
class Rendering:
    """``seconds`` of CPU time that it took."""

    body: bytes
    tag: str
    seconds: float


@dataclass(frozen=True, slots=True)
class _Begun:
    """``stamp``: while it is the same, so is the page."""

    at: float
    stamp: str | None
    rendering: asyncio.Task[Rendering]


class Renderings:
    """The newest of each page and of each who sees it; belongs to one event loop."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._begun: dict[Hashable, _Begun] = {}

    async def of(
        self, key: Hashable, age: float, stamp: str | None, make: Callable[[], Awaitable[Rendering]]
    ) -> tuple[Rendering, bool]:
        """One that was begun less than ``age`` seconds ago or under the same stamp; whether it was made for this."""
        begun = self._begun.get(key)
        if begun is not None and self._holds(begun, age, stamp):
            return await asyncio.shield(begun.rendering), False
        fresh = _Begun(self._now(), stamp, asyncio.ensure_future(make()))
        self._begun.pop(key, None)
        self._begun[key] = fresh
        if len(self._begun) > _MOST:
            del self._begun[next(iter(self._begun))]
        return await asyncio.shield(fresh.rendering), True

    def _holds(self, begun: _Begun, age: float, stamp: str | None) -> bool:
        """What went wrong is told to those who wait for it, and tried again for the next."""
        rendering = begun.rendering
        if rendering.done() and (rendering.cancelled() or rendering.exception() is not None):
            return False
        return self._now() - begun.at < age or (stamp is not None and begun.stamp == stamp)
