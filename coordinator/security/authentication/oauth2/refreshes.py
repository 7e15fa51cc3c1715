"""New tokens for those that have expired, without the user. Source: Trino's TokenRefresher."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from secrets import token_urlsafe
from uuid import uuid4

import structlog

from coordinator.security.authentication.oauth2.handed_tokens import Handed, HandedTokens
from coordinator.security.authentication.oauth2.login_store import Login, LoginStore, LoginStoreError
from coordinator.security.authentication.oauth2.logins import LoginError, Logins
from coordinator.security.authentication.oauth2.provider import Provider, ProviderError
from coordinator.security.authentication.oauth2.sealed_tokens import Tokens

_log = structlog.get_logger(__name__)
_KEPT_SECONDS = 60.0
_PATIENCE = 15.0
"""Seconds that another coordinator may take."""


class Refreshes:
    """Belongs to one event loop. Providers take a refresh token once, and a client may send many requests at a time.

    ``store``: where other coordinators see that one of them has used it, and what it was given.
    """

    def __init__(
        self,
        provider: Provider,
        handed: HandedTokens,
        logins: Logins,
        store: LoginStore,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider, self._handed, self._logins, self._monotonic = provider, handed, logins, monotonic
        self._store = store
        self._known: dict[bytes, tuple[float, asyncio.Future[Tokens]]] = {}

    async def login_id(self, refresh: str) -> str | None:
        """Under which a client fetches its new token; None where the user has to log in."""
        tokens = await self._tokens(refresh)
        if tokens is None:
            return None
        login_id = str(uuid4())
        try:
            await self._logins.refreshed(login_id, self._handed.to_client(tokens).token)
        except LoginError as error:
            _log.info("token not refreshed", reason=str(error))
            return None
        return login_id

    async def for_browser(self, token: str) -> Handed | None:
        """What replaces the token of a cookie that has expired; None while it is good, or where nothing can."""
        refresh = self._handed.to_renew(token)
        tokens = None if refresh is None else await self._tokens(refresh)
        return None if tokens is None else self._handed.to_browser(tokens)

    async def _tokens(self, refresh: str) -> Tokens | None:
        if not self._handed.refresh:
            return None
        now = self._monotonic()
        self._known = {key: each for key, each in self._known.items() if each[0] > now}
        digest = sha256(refresh.encode()).digest()
        _, asking = self._known.get(digest, (now, None))
        if asking is None:
            asking = asyncio.ensure_future(self._once(refresh))
            self._known[digest] = (now + _KEPT_SECONDS, asking)
        try:
            return await asyncio.shield(asking)
        except ProviderError as error:
            self._known.pop(digest, None)
            _log.info("token not refreshed", reason=str(error))
            return None

    async def _once(self, refresh: str) -> Tokens:
        """Asked of the provider here, or what another coordinator has been given. Raises ProviderError."""
        own, hashed = token_urlsafe(24), sha256(f"refresh\0{refresh}".encode()).hexdigest()
        try:
            begun = await self._store.open(hashed, Login(own), _KEPT_SECONDS)
            if begun.verifier != own:
                return self._of_another(await self._store.awaited(hashed, _PATIENCE))
        except LoginStoreError as error:
            # The others may use it too; nobody is better off if we do not.
            _log.warning("refreshed tokens cannot be shared", reason=str(error))
            return await self._provider.refreshed(refresh)
        try:
            tokens = await self._provider.refreshed(refresh)
        except ProviderError as error:
            with suppress(LoginStoreError):
                await self._store.end(hashed, None, str(error))
            raise
        with suppress(LoginStoreError):
            await self._store.end(hashed, self._handed.sealed.seal(tokens), None)
        return tokens

    def _of_another(self, login: Login | None) -> Tokens:
        tokens = None if login is None or login.token is None else self._handed.sealed.open(login.token)
        if tokens is None:
            raise ProviderError((login and login.error) or "another coordinator got no new tokens")
        return tokens
