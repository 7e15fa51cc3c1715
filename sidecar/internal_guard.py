"""Only who shares the secret is answered, but for how the sidecar is, which health checks look at."""

from __future__ import annotations

import jwt
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from shared.protocol.internal_authentication import ALGORITHM, BEARER_HEADER, signing_key
from shared.protocol.sidecar import INFO_PATH, STATE_PATH, STATUS_PATH

_OPEN = frozenset({INFO_PATH, STATE_PATH, STATUS_PATH})


class InternalGuard:
    """ASGI layer; ``refusal`` answers everybody else."""

    def __init__(self, app: ASGIApp, secret: str, refusal: ASGIApp) -> None:
        self._app, self._key, self._refusal = app, signing_key(secret), refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._may(scope):
            await self._app(scope, receive, send)
        else:
            await self._refusal(scope, receive, send)

    def _may(self, scope: Scope) -> bool:
        if scope["method"] in ("GET", "HEAD") and scope["path"] in _OPEN:
            return True
        token = Headers(scope=scope).get(BEARER_HEADER, "")
        try:
            jwt.decode(token, self._key, algorithms=[ALGORITHM], options={"require": ["exp", "sub"]})
        except jwt.PyJWTError:
            return False
        return True
