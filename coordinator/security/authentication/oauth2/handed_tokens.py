"""What a client gets of the provider's tokens: the access token as it is, or both encrypted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import jwt

from coordinator.security.authentication.oauth2.sealed_tokens import SealedTokens, Tokens


@dataclass(frozen=True, slots=True)
class Handed:
    """A token for ``Authorization: Bearer``, and when it ends."""

    token: str
    expires: float


@dataclass(frozen=True, slots=True)
class HandedTokens:
    """``refresh``: whether clients get a token with which new ones can be had, which lasts ``timeout`` seconds."""

    sealed: SealedTokens
    timeout: float
    refresh: bool
    now: Callable[[], float] = time.time

    def to_client(self, tokens: Tokens) -> Handed:
        """Sealed where there is a refresh token; and an opaque one, which is then known to be of this service."""
        kept = tokens if self.refresh else replace(tokens, refresh=None)
        if kept.refresh is None and is_web_token(kept.access):
            return Handed(kept.access, _expiry(kept.access))
        return Handed(self.sealed.seal(kept), min(kept.expires or float("inf"), self.now() + self.timeout))

    def to_browser(self, tokens: Tokens) -> Handed:
        """Without the refresh token: the browser goes to the provider again, which knows its user still."""
        return self.to_client(replace(tokens, refresh=None))


def is_web_token(token: str) -> bool:
    """Whether it is a signed JSON web token, which can be read without asking the provider."""
    try:
        jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        return False
    return token.count(".") == 2


def _expiry(token: str) -> float:
    """Not verified; 0 where it says none."""
    try:
        return float(jwt.decode(token, options={"verify_signature": False}).get("exp", 0))
    except (jwt.PyJWTError, TypeError, ValueError):
        return 0.0
