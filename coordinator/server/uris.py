"""URIs in answers, as the client can reach them: forwarded scheme and host, and a gateway's prefix."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from fastapi import Request
from starlette.datastructures import Headers

from coordinator.server.browser_guard import host_of
from coordinator.server.problems import bad_request
from coordinator.server.session import RequestHeaders
from shared.protocol import headers as names
from shared.protocol.headers import header_name

_PORTS = {"http": 80, "https": 443}
"""Of the schemes that there are, what an address need not say."""


@dataclass(frozen=True, slots=True)
class Uris:
    """``base`` has no trailing slash; ``prefix`` (X-Presto-Prefix-Url) wraps every URI that leaves."""

    base: str
    prefix: str | None = None

    def _leaving(self, uri: str) -> str:
        if self.prefix is None:
            return uri
        return self.prefix + urlsafe_b64encode(uri.encode()).decode()

    def info(self, query_id: str) -> str:
        return self._leaving(f"{self.base}/ui/query.html?{query_id}")

    def end_early(self, query_id: str, slug: str) -> str:
        """Where the client has the rest of its rows left out."""
        return self._leaving(f"{self.base}/v1/statement/partial/{query_id}/0?slug={slug}")

    def segment(self, what: str, query_id: str, secret: str) -> str:
        """Where a segment of rows is fetched (``download``) or acknowledged (``ack``)."""
        return self._leaving(f"{self.base}/v1/spooled/{what}/{query_id}/{secret}")

    def page(self, kind: str, query_id: str, token: int, slug: str, target_size: str | None) -> str:
        """The next poll; a chosen result size rides along to executing polls."""
        uri = f"{self.base}/v1/statement/{kind}/{query_id}/{token}?slug={slug}"
        if target_size is not None and kind == "executing":
            uri += f"&targetResultSize={quote(target_size)}"
        return self._leaving(uri)


def uris_of(request: Request) -> Uris:
    """From ``Host`` or what a trusted proxy forwards, and the prefix header; a 400 for a prefix that is no URL."""
    headers = request.headers
    scheme, host = request.url.scheme, headers.get("host") or request.url.netloc
    through_peer: str | None = getattr(request.state, "base", None)
    if getattr(request.app.state, "process_forwarded", False):
        scheme = _forwarded(headers, "x-forwarded-proto", _PORTS.__contains__) or scheme
        forwarded = _forwarded(headers, "x-forwarded-host", lambda text: host_of(text) is not None)
        host = host if forwarded is None else _with_port(forwarded, scheme, headers)
    session_headers = RequestHeaders(headers)
    prefix = session_headers.text(names.PREFIX_URL)
    if prefix is not None and not _is_url(prefix):
        name = header_name(session_headers.family, names.PREFIX_URL)
        raise bad_request(f"Invalid {name} header: {prefix}")
    return Uris(through_peer or f"{scheme}://{host}", prefix)


def _forwarded(headers: Headers, name: str, is_sane: Callable[[str], bool]) -> str | None:
    text = headers.get(name, "").split(",")[0].strip()
    if text and not is_sane(text):
        raise bad_request(f"Invalid {name} header")
    return text or None


def _with_port(host: str, scheme: str, headers: Headers) -> str:
    """Trino Gateway, and Jetty's and AWS' balancers, say the port in a header of its own."""
    port = _forwarded(headers, "x-forwarded-port", _is_port)
    if port is None or urlsplit(f"//{host}").port is not None or int(port) == _PORTS.get(scheme):
        return host
    return f"{host}:{port}"


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) < 65_536


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in _PORTS and bool(parts.netloc)
