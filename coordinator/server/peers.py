"""How coordinators of one cluster know each other's requests, and what one tells the other of the client's.

A request carries a JSON web token for one owner and one request: who asks, as the first coordinator has found, and
the address under which the client reached it. It is signed with the shared secret and good for a minute.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import jwt
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from coordinator.server.problems import text_response
from shared.protocol.internal_authentication import ALGORITHM, BEARER_HEADER, signing_key
from shared.spi.access_control import Identity

_SECONDS = 60
_SKEW_SECONDS = 120
"""By which the clocks of two machines may differ."""


def request_line(scope: Scope) -> str:
    """Method, path and query of a request, as they came."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    return f"{scope['method']} {(path + b'?' + query if query else path).decode('latin-1')}"


@dataclass(frozen=True, slots=True)
class FromPeer:
    """``base`` is the address that the client asked, ``client`` its own, ``identity`` as whom it was let in."""

    base: str
    client: str | None
    identity: Identity | None


@dataclass(frozen=True, slots=True)
class PeerTokens:
    """``suffix`` is this coordinator's."""

    suffix: str
    secret: str

    def sign(self, owner: str, scope: Scope, base: str, identity: Identity | None) -> str:
        """For one request to the coordinator of suffix ``owner``."""
        who = None
        if identity is not None:
            who = [identity.user, identity.principal, list(identity.groups), [list(role) for role in identity.roles]]
        claims = {
            "sub": self.suffix,
            "aud": f"coordinator/{owner}",
            "exp": int(time.time()) + _SECONDS,
            "request": request_line(scope),
            "base": base,
            "client": scope["client"][0] if scope.get("client") else None,
            "identity": who,
        }
        return jwt.encode(claims, signing_key(self.secret), ALGORITHM)

    def read(self, token: str, scope: Scope) -> FromPeer:
        """What a request to this coordinator comes with. Raises ValueError for a token of another kind."""
        wanted = ["exp", "sub", "aud", "request", "base"]
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                signing_key(self.secret),
                algorithms=[ALGORITHM],
                audience=f"coordinator/{self.suffix}",
                leeway=_SKEW_SECONDS,
                options={"require": wanted},
            )
        except jwt.PyJWTError as error:
            raise ValueError(str(error)) from error
        if claims["request"] != request_line(scope):
            raise ValueError("it is for another request")
        base, client = str(claims["base"]), claims.get("client")
        match claims.get("identity"):
            case None:
                return FromPeer(base, client, None)
            case [user, principal, groups, roles]:
                named = tuple((str(catalog), str(role)) for catalog, role in roles)
                return FromPeer(base, client, Identity(user, principal, tuple(groups), named))
            case _:
                raise ValueError("it names nobody")


class PeerGuard:
    """ASGI layer: a request of another coordinator comes with the identity that it has found; 401 for a wrong token."""

    def __init__(self, app: ASGIApp, tokens: PeerTokens) -> None:
        self._app, self._tokens = app, tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = Headers(scope=scope).get(BEARER_HEADER) if scope["type"] == "http" else None
        if token is not None:
            try:
                found = self._tokens.read(token, scope)
            except ValueError:
                await text_response(401, "Unauthorized")(scope, receive, send)
                return
            scope.setdefault("state", {}).update(peer=True, base=found.base, identity=found.identity)
            scope["client"] = None if found.client is None else (found.client, 0)
        await self._app(scope, receive, send)
