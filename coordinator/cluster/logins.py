"""Logins under way in the database of the coordinators: one prepares a login, another may answer for it.

What the provider and the client must not lose to a reader of the database is encrypted with a key that is made of the
coordinators' shared secret.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta
from time import monotonic
from typing import TypeVar

import msgspec
from sqlalchemy import Engine, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import SQLAlchemyError

from coordinator.cluster.schema import LOGINS
from coordinator.cluster.sealing import Sealing
from coordinator.security.authentication.oauth2.login_store import MOST_LOGINS, Login, LoginStoreError

T = TypeVar("T")
_POLL_SECONDS = 0.5
_AT_ONCE = 4
_LIVE = LOGINS.c.until > func.now()


class SharedLogins:
    """Implements ``LoginStore``; belongs to one event loop."""

    def __init__(self, engine: Engine, secret: str) -> None:
        self._engine = engine
        self._sealing = Sealing(secret, "logins under way")
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def open(self, hashed: str, login: Login, seconds: float) -> Login:
        return await self._asked(lambda: self._opened(hashed, login, seconds))

    async def get(self, hashed: str) -> Login | None:
        return await self._asked(lambda: self._found(hashed))

    async def end(self, hashed: str, token: str | None, error: str | None) -> None:
        await self._asked(lambda: self._end(hashed, token, error))

    async def drop(self, hashed: str) -> None:
        await self._asked(lambda: self._drop(hashed))

    async def awaited(self, hashed: str, seconds: float) -> Login | None:
        deadline = monotonic() + seconds
        while True:
            login = await self.get(hashed)
            if (login is not None and login.ended) or monotonic() >= deadline:
                return login
            await asyncio.sleep(_POLL_SECONDS)

    async def _asked(self, ask: Callable[[], T]) -> T:
        async with self._turns:
            try:
                return await asyncio.to_thread(ask)
            except SQLAlchemyError as error:
                raise LoginStoreError("The database of the coordinators cannot be reached; try again") from error

    def _opened(self, hashed: str, login: Login, seconds: float) -> Login:
        with self._engine.begin() as connection:
            connection.execute(delete(LOGINS).where(~_LIVE))
            if connection.execute(select(func.count()).select_from(LOGINS)).scalar_one() >= MOST_LOGINS:
                raise LoginStoreError("Too many logins are under way")
            until = func.now() + timedelta(seconds=seconds)
            made = insert(LOGINS).values(
                hashed=hashed, sealed=self._seal(hashed, login), ended=login.ended, until=until
            )
            connection.execute(made.on_conflict_do_nothing())
            sealed = connection.execute(select(LOGINS.c.sealed).where(LOGINS.c.hashed == hashed)).scalar_one()
        return self._unsealed(hashed, sealed) or login

    def _found(self, hashed: str) -> Login | None:
        with self._engine.connect() as connection:
            sealed = connection.execute(select(LOGINS.c.sealed).where(LOGINS.c.hashed == hashed, _LIVE)).scalar()
        return None if sealed is None else self._unsealed(hashed, sealed)

    def _end(self, hashed: str, token: str | None, error: str | None) -> None:
        known = self._found(hashed)
        if known is None or known.ended:
            return
        ended = self._seal(hashed, replace(known, verifier="", ended=True, token=token, error=error))
        open_still = (LOGINS.c.hashed == hashed) & ~LOGINS.c.ended
        with self._engine.begin() as connection:
            connection.execute(update(LOGINS).where(open_still).values(sealed=ended, ended=True))

    def _drop(self, hashed: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(delete(LOGINS).where(LOGINS.c.hashed == hashed))

    def _seal(self, hashed: str, login: Login) -> str:
        return self._sealing.seal(hashed, asdict(login))

    def _unsealed(self, hashed: str, sealed: str) -> Login | None:
        content = self._sealing.open(hashed, sealed)
        return None if content is None else msgspec.convert(content, Login)
