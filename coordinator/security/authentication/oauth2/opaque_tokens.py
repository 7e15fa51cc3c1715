"""Access tokens that only the provider can read: what it says of them, believed for a short time."""

from __future__ import annotations

import hashlib
import hmac
import time
from asyncio import Future, ensure_future, shield
from collections import OrderedDict
from collections.abc import Callable
from secrets import token_bytes
from typing import Protocol

from coordinator.security.authentication.oauth2.provider import ProviderError

Claims = dict[str, object]
_MOST = 10_000
_MOST_ASKING = 100


class Asked(Protocol):
    async def __call__(self, token: str, *, ours: bool) -> Claims: ...


class OpaqueTokens:
    """Belongs to one event loop. Tokens are kept by a keyed digest alone; failures are not kept."""

    def __init__(self, ask: Asked, seconds: float, now: Callable[[], float] = time.time) -> None:
        self._ask, self._seconds, self._now = ask, seconds, now
        self._key = token_bytes(32)
        self._known: OrderedDict[bytes, tuple[float, Claims]] = OrderedDict()
        self._asking: dict[bytes, Future[Claims]] = {}

    def remembers(self, token: str) -> bool:
        """Whether a token from elsewhere was good not long ago."""
        return self._known.get(self._digest(token, ours=False), (0.0, {}))[0] > self._now()

    async def claims(self, token: str, *, ours: bool) -> Claims:
        """Raises ProviderError."""
        digest = self._digest(token, ours)
        until, claims = self._known.get(digest, (0.0, {}))
        if until > self._now():
            return claims
        asking = self._asking.get(digest)
        if asking is None and len(self._asking) >= _MOST_ASKING:
            raise ProviderError("too many tokens wait for the provider's word")
        if asking is None:  # a client sends several requests at a time
            asking = self._asking[digest] = ensure_future(self._ask(token, ours=ours))
            asking.add_done_callback(lambda done: self._told(digest, done))
        return await shield(asking)

    def _digest(self, token: str, ours: bool) -> bytes:
        return hmac.digest(self._key, f"{ours}{token}".encode("utf-8", "surrogatepass"), hashlib.sha256)

    def _told(self, digest: bytes, done: Future[Claims]) -> None:
        del self._asking[digest]
        if done.cancelled() or done.exception() is not None:
            return
        claims = done.result()
        expires = claims.get("exp")
        until = self._now() + self._seconds
        self._known[digest] = (min(until, expires) if isinstance(expires, int | float) else until, claims)
        self._known.move_to_end(digest)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
