"""The token by which the sidecar knows its coordinator."""

from __future__ import annotations

import time
from collections.abc import Callable

import jwt

from shared.protocol.internal_authentication import ALGORITHM, TOKEN_SECONDS, signing_key

_NODE = "procession-coordinator"


class InternalBearer:
    """Signs a token when the last one is half way through its life: every fragment carries one."""

    def __init__(self, secret: str, now: Callable[[], float] = time.time) -> None:
        self._key, self._now = signing_key(secret), now
        self._token, self._made = "", float("-inf")

    def token(self) -> str:
        now = self._now()
        if not 0 <= now - self._made < TOKEN_SECONDS / 2:
            self._token = jwt.encode({"sub": _NODE, "exp": int(now + TOKEN_SECONDS)}, self._key, ALGORITHM)
            self._made = now
        return self._token
