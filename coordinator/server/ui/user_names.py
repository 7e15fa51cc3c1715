"""Who a browser says it is where nobody has to prove it: the name from a cookie, as a client's header would say it."""

from __future__ import annotations

from urllib.parse import quote, unquote

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from coordinator.server.session import RequestHeaders
from shared.protocol.headers import USER, header_name

COOKIE = "Procession-User"
UNNAMED = "anonymous"
LONGEST = 200


class UserNames:
    """ASGI layer behind authentication: pages' requests of whom it does not know get a user's header."""

    def __init__(self, app: ASGIApp, principal_header: str | None) -> None:
        self._app, self._principal_header = app, principal_header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/ui/"):
            headers = Headers(scope=scope)
            known = scope.get("state", {}).get("identity") is not None
            if not known and RequestHeaders(headers).text(USER) is None:
                name = self._name(Request(scope), headers).encode("latin-1", "replace")
                header = header_name(RequestHeaders(headers).family, USER).lower().encode()
                scope = {**scope, "headers": [*scope["headers"], (header, name)]}
        await self._app(scope, receive, send)

    def _name(self, request: Request, headers: Headers) -> str:
        chosen = readable(unquote(request.cookies.get(COOKIE, "")))
        proxied = "" if self._principal_header is None else headers.get(self._principal_header, "").strip()
        return chosen or proxied or UNNAMED


def readable(name: str) -> str:
    """A name without what no header takes."""
    return "".join(c for c in name.strip()[:LONGEST] if c.isprintable() and c.isascii()).strip()


def cookie_value(name: str) -> str:
    return quote(name, safe="")
