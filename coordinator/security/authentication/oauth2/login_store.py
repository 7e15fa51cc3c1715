"""Where logins under way are kept: in memory, or where several coordinators see them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

MOST_LOGINS = 10_000


class LoginStoreError(Exception):
    """It cannot be reached, or is full."""


@dataclass(frozen=True, slots=True)
class Login:
    """``verifier`` proves to the provider who began it. ``token`` or ``error`` once it has ended."""

    verifier: str = field(repr=False)
    ended: bool = False
    token: str | None = field(default=None, repr=False)
    error: str | None = None


class LoginStore(Protocol):
    """Logins by the hash of their id. Every method may raise LoginStoreError."""

    async def open(self, hashed: str, login: Login, seconds: float) -> Login:
        """The login of this hash; ``login`` where there is none, forgotten after ``seconds``."""
        ...

    async def get(self, hashed: str) -> Login | None: ...

    async def end(self, hashed: str, token: str | None, error: str | None) -> None:
        """Nothing where it has ended, or is not known."""
        ...

    async def drop(self, hashed: str) -> None: ...

    async def awaited(self, hashed: str, seconds: float) -> Login | None:
        """As ``get``, once it has ended or so many seconds are over."""
        ...


@dataclass(slots=True)
class _Kept:
    login: Login
    until: float
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class LoginsInMemory:
    """Implements ``LoginStore`` for one event loop."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._kept: dict[str, _Kept] = {}

    async def open(self, hashed: str, login: Login, seconds: float) -> Login:
        now = self._monotonic()
        self._kept = {key: kept for key, kept in self._kept.items() if kept.until >= now}
        if hashed not in self._kept and len(self._kept) >= MOST_LOGINS:
            raise LoginStoreError("Too many logins are under way")
        kept = self._kept.setdefault(hashed, _Kept(login, now + seconds))
        if kept.login.ended:
            kept.ended.set()
        return kept.login

    async def get(self, hashed: str) -> Login | None:
        kept = self._kept.get(hashed)
        return None if kept is None else kept.login

    async def end(self, hashed: str, token: str | None, error: str | None) -> None:
        kept = self._kept.get(hashed)
        if kept is not None and not kept.login.ended:
            kept.login = replace(kept.login, ended=True, token=token, error=error)
            kept.ended.set()

    async def drop(self, hashed: str) -> None:
        self._kept.pop(hashed, None)

    async def awaited(self, hashed: str, seconds: float) -> Login | None:
        deadline = self._monotonic() + seconds
        while (kept := self._kept.get(hashed)) is None:
            if self._monotonic() >= deadline:
                return None
            await asyncio.sleep(0.1)  # the browser may not have come yet
        try:
            async with asyncio.timeout(max(0.0, deadline - self._monotonic())):
                await kept.ended.wait()
        except TimeoutError:
            pass
        return kept.login
