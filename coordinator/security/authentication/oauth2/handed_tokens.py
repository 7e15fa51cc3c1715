"""What a client gets of the provider's tokens: the access token as it is, or both encrypted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import jwt

from coordinator.security.authentication.oauth2.sealed_tokens import SealedTokens, Tokens

LONGEST_COOKIE = 3800
"""Characters that browsers take."""


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
        until = self.now() + self.timeout
        lasting = until if kept.refresh is not None else min(kept.expires or until, until)
        return Handed(self.sealed.seal(kept), lasting)

    def to_browser(self, tokens: Tokens) -> Handed:
        """The same; where that is too long for a cookie without the refresh token, so that its user logs in again."""
        handed = self.to_client(tokens)
        return handed if len(handed.token) <= LONGEST_COOKIE else self.to_client(replace(tokens, refresh=None))

    def to_renew(self, token: str) -> str | None:
        """The refresh token in one of ours whose access token says that it has ended; None for any other."""
        ours = self.sealed.open(token)
        if ours is None or ours.refresh is None:
            return None
        expires = _expiry(ours.access) if is_web_token(ours.access) else ours.expires
        return ours.refresh if expires and expires <= self.now() else None


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
