"""Whom a browser has logged in as, signed, so that pages need no password with each request and we remember nobody."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Callable
from secrets import compare_digest, token_bytes

import msgspec

from coordinator.security.authentication.authenticator import Authenticated

LASTING = 8 * 3600.0
"""Seconds until a browser has to log in again, at most."""
_LONGEST = 3800
"""Characters of a cookie that browsers take."""


class _Content(msgspec.Struct, frozen=True):
    principal: str
    user: str
    expires: float


class BrowserSessions:
    """Issues and reads them. Coordinators that share ``secret`` take each other's; without one they end with us."""

    def __init__(self, secret: str | None = None, clock: Callable[[], float] = time.time) -> None:
        named = None if secret is None else f"browser sessions of {secret}".encode()
        self._key = token_bytes(32) if named is None else hashlib.sha256(named).digest()
        self._clock = clock

    def issue(self, who: Authenticated, expires: float | None = None) -> tuple[str, int] | None:
        """The content of a cookie and the seconds that it lasts; None for names that no cookie takes."""
        now = self._clock()
        until = min(now + LASTING, expires if expires is not None else now + LASTING)
        content = _encoded(msgspec.json.encode(_Content(who.principal, who.user, until)))
        found = f"{content}.{self._signature(content)}"
        return (found, max(0, int(until - now))) if len(found) <= _LONGEST else None

    def read(self, cookie: str | None) -> Authenticated | None:
        """Who it was issued for; None for what is not ours, was changed, or has ended."""
        content, _, signature = (cookie or "").partition(".")
        if not compare_digest(self._signature(content).encode(), signature.encode()):
            return None
        try:
            found = msgspec.json.decode(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)), type=_Content)
        except (binascii.Error, ValueError):
            return None
        return Authenticated(found.principal, found.user) if found.expires > self._clock() else None

    def _signature(self, content: str) -> str:
        return _encoded(hmac.new(self._key, content.encode(), "sha256").digest())


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
