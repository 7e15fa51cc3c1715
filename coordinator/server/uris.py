"""URIs in answers, as the client can reach them: forwarded scheme and host, and a gateway's prefix."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from fastapi import Request

from coordinator.server.problems import bad_request
from coordinator.server.session import RequestHeaders
from shared.protocol import headers as names
from shared.protocol.headers import header_name


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

    def page(self, kind: str, query_id: str, token: int, slug: str, target_size: str | None) -> str:
        """The next poll; a chosen result size rides along to executing polls."""
        uri = f"{self.base}/v1/statement/{kind}/{query_id}/{token}?slug={slug}"
        if target_size is not None and kind == "executing":
            uri += f"&targetResultSize={quote(target_size)}"
        return self._leaving(uri)


def uris_of(request: Request) -> Uris:
    """From ``X-Forwarded-Proto``, ``X-Forwarded-Host`` and the prefix header; a 400 for a prefix that is no URL."""
    headers = request.headers
    scheme = headers.get("x-forwarded-proto", "").split(",")[0].strip() or request.url.scheme
    host = headers.get("x-forwarded-host", "").split(",")[0].strip() or headers.get("host") or request.url.netloc
    session_headers = RequestHeaders(headers)
    prefix = session_headers.text(names.PREFIX_URL)
    if prefix is not None and not _is_url(prefix):
        name = header_name(session_headers.family, names.PREFIX_URL)
        raise bad_request(f"Invalid {name} header: {prefix}")
    return Uris(f"{scheme}://{host}", prefix)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
