"""Logins under way: from a client's first request to the token that it fetches. Source: Trino's OAuth2TokenExchange."""

from __future__ import annotations

import asyncio
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe

import jwt

from coordinator.security.authentication.oauth2.handed_tokens import Handed, HandedTokens
from coordinator.security.authentication.oauth2.provider import Provider, ProviderError

_AUDIENCE = "procession_oauth"
_ALGORITHM = "HS256"
_MOST = 10_000
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


@dataclass(slots=True)
class _Login:
    verifier: str
    begun: float
    token: str | None = None
    error: str | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Both None while the user has not logged in."""

    token: str | None = None
    error: str | None = None


class Logins:
    """Belongs to one event loop. A login is known by the hash of an id that its client alone knows."""

    def __init__(
        self,
        provider: Provider,
        handed: HandedTokens,
        state_key: str,
        timeout: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider, self._handed, self._timeout, self._monotonic = provider, handed, timeout, monotonic
        self._key = sha256(state_key.encode()).digest()
        self._logins: dict[str, _Login] = {}

    async def begin(self, hashed: str, redirect_uri: str, nonce: str | None = None) -> str:
        """Where the browser goes on to; with a ``nonce`` no client waits, and this browser must come back with it.

        Raises LoginError.
        """
        self._forget_old()
        login = self._opened(hashed)
        claims: dict[str, object] = {"aud": _AUDIENCE, "exp": int(time.time() + self._timeout), "login": hashed}
        if nonce is not None:
            claims["nonce"] = hash_of(nonce)
        state = jwt.encode(claims, self._key, _ALGORITHM)
        challenge = urlsafe_b64encode(sha256(login.verifier.encode()).digest()).rstrip(b"=").decode()
        try:
            return await self._provider.login_address(redirect_uri, state, challenge)
        except ProviderError as error:
            self._end(login, error=str(error))
            raise LoginError(str(error)) from error

    async def finish(
        self, state: str, code: str | None, refusal: str | None, redirect_uri: str, nonce: str | None = None
    ) -> Handed | None:
        """The browser is back: with its own token if it began with a nonce, else a client has it. Raises LoginError."""
        hashed, bound = self._decoded_state(state)
        login = self._open(hashed)
        if bound is not None and not compare_digest(bound, hash_of(nonce or "")):
            raise LoginError("This login belongs to another browser")
        if refusal is not None or not code:
            problem = _REFUSALS.get(refusal or "", f"OAuth2 unknown error code: {(refusal or '')[:100]}")
            self._end(login, error=problem)
            raise LoginError(problem)
        try:
            tokens = await self._provider.tokens(code, redirect_uri, login.verifier)
        except ProviderError as error:
            self._end(login, error=str(error))
            raise LoginError(str(error)) from error
        if bound is None:
            self._end(login, token=self._handed.to_client(tokens).token)
            return None
        self._logins.pop(hashed, None)
        return self._handed.to_browser(tokens)

    def refreshed(self, login_id: str, token: str) -> None:
        """A login that has ended without its user: the client has to fetch the token soon."""
        self._forget_old()
        if len(self._logins) >= _MOST:
            raise LoginError("Too many logins are under way")
        login = self._logins[hash_of(login_id)] = _Login("", self._monotonic() - self._timeout + _REFRESHED_SECONDS)
        self._end(login, token=token)

    async def outcome(self, login_id: str) -> Outcome:
        """Of the login of this id; waits some seconds for it."""
        deadline = self._monotonic() + _POLL_SECONDS
        while (login := self._logins.get(hash_of(login_id))) is None:
            if self._monotonic() >= deadline:
                return Outcome()
            await asyncio.sleep(0.1)  # the browser may not have come yet
        try:
            async with asyncio.timeout(max(0.0, deadline - self._monotonic())):
                await login.ended.wait()
        except TimeoutError:
            return Outcome()
        return Outcome(login.token, login.error)

    def drop(self, login_id: str) -> None:
        """The client has its token."""
        self._logins.pop(hash_of(login_id), None)

    def _opened(self, hashed: str) -> _Login:
        """New, or the same again for a page that is opened twice."""
        known = self._logins.get(hashed)
        if known is not None and not known.ended.is_set():
            return known
        if known is not None or len(self._logins) >= _MOST:
            raise LoginError("This login has ended" if known is not None else "Too many logins are under way")
        made = self._logins[hashed] = _Login(token_urlsafe(48), self._monotonic())
        return made

    def _decoded_state(self, state: str) -> tuple[str, str | None]:
        """The login and the hash of its nonce."""
        try:
            claims = jwt.decode(
                state, self._key, algorithms=[_ALGORITHM], audience=_AUDIENCE, options={"require": ["exp"]}
            )
        except jwt.PyJWTError as error:
            raise LoginError("This login is unknown or took too long") from error
        return str(claims.get("login")), claims.get("nonce")

    def _open(self, hashed: str) -> _Login:
        login = self._logins.get(hashed)
        if login is None or login.ended.is_set():
            raise LoginError("This login is unknown or has ended")
        return login

    def _end(self, login: _Login, token: str | None = None, error: str | None = None) -> None:
        login.token, login.error = token, error
        login.ended.set()

    def _forget_old(self) -> None:
        oldest = self._monotonic() - self._timeout
        for hashed in [hashed for hashed, login in self._logins.items() if login.begun < oldest]:
            del self._logins[hashed]


def hash_of(login_id: str) -> str:
    """By which a browser may know a login without being able to fetch its token."""
    return sha256(login_id.encode()).hexdigest()
