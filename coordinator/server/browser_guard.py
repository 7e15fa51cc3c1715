"""What no page of a stranger may make a browser do: other host names, and requests that come across sites.

Without authentication a coordinator trusts whoever reaches it, and a browser on the same machine does.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Collection, Mapping
from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from coordinator.server.problems import text_response
from shared.plan.kept import kept

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_STRANGE = frozenset({"cross-site", "same-site"})
_OWN = frozenset({"same-origin", "none"})
_ASKED = frozenset({b"host", b"sec-fetch-site", b"origin"})


def host_of(authority: str) -> str | None:
    """The host of ``host[:port]`` in lower case; None for what is neither a name nor an address.

    >>> host_of("[::1]:8080"), host_of("A.example:1"), host_of("a/b")
    ('::1', 'a.example', None)
    """
    found = _AUTHORITY.fullmatch(authority)
    return None if found is None else found[1].strip("[]").lower()


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens there."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class BrowserGuard:
    """ASGI layer: 403 for hosts that are not ``allowed``, and for requests that change something across sites.

    ``allowed`` None takes every host. Addresses are always taken: a page cannot point a name of its own at them.
    """

    def __init__(self, app: ASGIApp, allowed: Collection[str] | None) -> None:
        self._app = app
        is_known = _known_hosts(allowed)

        @kept(1024)
        def is_allowed(authority: str) -> bool:
            host = host_of(authority)
            return host is not None and is_known(host)

        self._is_allowed = is_allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            problem = self._problem(scope)
            if problem is not None:
                await text_response(403, problem)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _problem(self, scope: Scope) -> str | None:
        asked = _asked(scope)
        authority = asked.get(b"host", "")
        if authority and not self._is_allowed(authority):
            return "Host is not allowed: see http-server.allowed-hosts"
        if scope["method"] not in _READING and _comes_across_sites(asked, authority):
            return "Request from another site"
        return None


def _known_hosts(allowed: Collection[str] | None) -> Callable[[str], bool]:
    if allowed is None or "*" in allowed:
        return lambda _: True
    names = {name.lower() for name in allowed} | {"localhost", socket.gethostname().lower()}
    return lambda host: host in names or host.endswith(".localhost") or _is_address(host)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _asked(scope: Scope) -> dict[bytes, str]:
    """The headers that this asks for, each one's first value."""
    found: dict[bytes, str] = {}
    for name, value in scope["headers"]:
        if name in _ASKED:
            found.setdefault(name, value.decode("latin-1"))
    return found


def _comes_across_sites(found: Mapping[bytes, str], authority: str) -> bool:
    """By what browsers say and pages cannot change; clients that are no browsers say neither."""
    site = found.get(b"sec-fetch-site", "").lower()
    if site in _STRANGE:
        return True
    origin = found.get(b"origin")
    if origin is None or site in _OWN:
        return False
    scheme, separator, origin_authority = origin.lower().partition("://")
    return not separator or _with_port(origin_authority, scheme) != _with_port(authority.lower(), scheme)


def _with_port(authority: str, scheme: str) -> str:
    default = {"http": ":80", "https": ":443"}.get(scheme, "")
    return authority.removesuffix(default) if default else authority
