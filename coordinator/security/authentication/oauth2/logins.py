"""Logins under way: from a client's first request to the token that it fetches. Source: Trino's OAuth2TokenExchange."""

from __future__ import annotations

import asyncio
import time
from base64 import urlsafe_b64encode
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from typing import TypeVar

import jwt
import structlog

from coordinator.security.authentication.oauth2.handed_tokens import Handed, HandedTokens
from coordinator.security.authentication.oauth2.login_store import Login, LoginStore, LoginStoreError
from coordinator.security.authentication.oauth2.provider import Provider, ProviderError

T = TypeVar("T")
_log = structlog.get_logger(__name__)
_AUDIENCE = "procession_oauth"
_ALGORITHM = "HS256"
_POLL_SECONDS = 10.0
_REFRESHED_SECONDS = 60.0
"""How long a client has to fetch the token that replaces its old one."""
_REFUSALS = {
    "access_denied": "OAuth2 server denied the login",
    "unauthorized_client": "OAuth2 server does not allow request from this Presto server",
    "server_error": "OAuth2 server had a failure",
    "temporarily_unavailable": "OAuth2 server is temporarily unavailable",
}


class LoginError(Exception):
    """What the user reads in the browser."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Both None while the user has not logged in."""

    token: str | None = None
    error: str | None = None


class Logins:
    """Belongs to one event loop. A login is known by the hash of an id that its client alone knows."""

    def __init__(
        self, provider: Provider, handed: HandedTokens, state_key: str, timeout: float, store: LoginStore
    ) -> None:
        self._provider, self._handed, self._timeout, self._store = provider, handed, timeout, store
        self._key = sha256(state_key.encode()).digest()

    async def begin(self, hashed: str, redirect_uri: str, nonce: str | None = None) -> str:
        """Where the browser goes on to; with a ``nonce`` no client waits, and this browser must come back with it.

        Raises LoginError.
        """
        login = await self._opened(hashed)
        claims: dict[str, object] = {"aud": _AUDIENCE, "exp": int(time.time() + self._timeout), "login": hashed}
        if nonce is not None:
            claims["nonce"] = hash_of(nonce)
        state = jwt.encode(claims, self._key, _ALGORITHM)
        challenge = urlsafe_b64encode(sha256(login.verifier.encode()).digest()).rstrip(b"=").decode()
        try:
            return await self._provider.login_address(redirect_uri, state, challenge)
        except ProviderError as error:
            await self._end(hashed, error=str(error))
            raise LoginError(str(error)) from error

    async def finish(
        self, state: str, code: str | None, refusal: str | None, redirect_uri: str, nonce: str | None = None
    ) -> Handed | None:
        """The browser is back: with its own token if it began with a nonce, else a client has it. Raises LoginError."""
        hashed, bound = self._decoded_state(state)
        login = await self._open(hashed)
        if bound is not None and not compare_digest(bound, hash_of(nonce or "")):
            raise LoginError("This login belongs to another browser")
        if refusal is not None or not code:
            problem = _REFUSALS.get(refusal or "", f"OAuth2 unknown error code: {(refusal or '')[:100]}")
            await self._end(hashed, error=problem)
            raise LoginError(problem)
        try:
            tokens = await self._provider.tokens(code, redirect_uri, login.verifier)
        except ProviderError as error:
            await self._end(hashed, error=str(error))
            raise LoginError(str(error)) from error
        if bound is None:
            await self._end(hashed, token=self._handed.to_client(tokens).token)
            return None
        await self._kept(self._store.drop(hashed))
        return self._handed.to_browser(tokens)

    async def refreshed(self, login_id: str, token: str) -> None:
        """A login that has ended without its user: the client has to fetch the token soon. Raises LoginError."""
        await self._kept(self._store.open(hash_of(login_id), Login("", ended=True, token=token), _REFRESHED_SECONDS))

    async def outcome(self, login_id: str) -> Outcome:
        """Of the login of this id; waits some seconds for it."""
        try:
            login = await self._store.awaited(hash_of(login_id), _POLL_SECONDS)
        except LoginStoreError as error:
            _log.warning("logins cannot be looked up", reason=str(error))
            await asyncio.sleep(1.0)
            return Outcome()  # the client asks again
        return Outcome() if login is None else Outcome(login.token, login.error)

    async def drop(self, login_id: str) -> None:
        """The client has its token; it goes by itself where it cannot be dropped now."""
        with suppress(LoginStoreError):
            await self._store.drop(hash_of(login_id))

    async def _opened(self, hashed: str) -> Login:
        """New, or the same again for a page that is opened twice."""
        login = await self._kept(self._store.open(hashed, Login(token_urlsafe(48)), self._timeout))
        if login.ended:
            raise LoginError("This login has ended")
        return login

    def _decoded_state(self, state: str) -> tuple[str, str | None]:
        """The login and the hash of its nonce."""
        try:
            claims = jwt.decode(
                state, self._key, algorithms=[_ALGORITHM], audience=_AUDIENCE, options={"require": ["exp"]}
            )
        except jwt.PyJWTError as error:
            raise LoginError("This login is unknown or took too long") from error
        return str(claims.get("login")), claims.get("nonce")

    async def _open(self, hashed: str) -> Login:
        login = await self._kept(self._store.get(hashed))
        if login is None or login.ended:
            raise LoginError("This login is unknown or has ended")
        return login

    async def _end(self, hashed: str, token: str | None = None, error: str | None = None) -> None:
        await self._kept(self._store.end(hashed, token, error))

    async def _kept(self, asked: Awaitable[T]) -> T:
        """What the store answers. Raises LoginError where it cannot."""
        try:
            return await asked
        except LoginStoreError as error:
            raise LoginError(str(error)) from error


def hash_of(login_id: str) -> str:
    """By which a browser may know a login without being able to fetch its token."""
    return sha256(login_id.encode()).hexdigest()
