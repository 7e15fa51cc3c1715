"""Requests that no client sends: to a whole service, byte by byte. It says no, or closes, and goes on serving."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from benchmarks.fuzz.choices import Choices

PATHS = (
    "/v1/statement",
    "/v1/statement",
    "/v1/statement",
    "/v1/validate",
    "/v1/info",
    "/v1/statement/queued/x/1?slug=y",
    "/v1/statement/executing/20200101_000000_00000_aaaaa/0?slug=x",
    "/v1/statement/queued/retry/x",
    "/v1/query",
    "/v1/query?limit=x&state=NOPE",
    "/v1/query/20200101_000000_00000_aaaaa",
    "/v1/status",
    "/v1/info/state",
    "/v1/validate",
    "/v1/cluster",
    "/v1/resourceGroupState",
    "/v1/functions",
    "/v1/node",
    "/v1/jmx/mbean/x",
    "/metrics",
    "/ui/",
    "/ui/queries",
    "/ui/queries?where=history",
    "/ui/query.html",
    "/ui/lake",
    "/ui/table",
    "/ui/procedures",
    "/ui/call",
    "/ui/maintenance",
    "/ui/groups",
    "/ui/node",
    "/ui/editor",
    "/ui/names",
    "/ui/login",
    "/ui/kill",
    "/ui/plan",
    "/ui/v1/statement",
    "/ui/static/style.css",
    "/ui/../../etc/passwd",
    "/ui/%2e%2e/%2e%2e/etc/passwd",
    "/docs",
    "/openapi.json",
    "/",
    "//",
    "/v1/statement/%00",
    "/v1/%ff%fe",
    "*",
    "http://elsewhere/v1/info",
)
METHODS = (
    "GET",
    "POST",
    "GET",
    "POST",
    "GET",
    "POST",
    "PUT",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "PATCH",
    "TRACE",
    "CONNECT",
    "get",
    "\x00",
)
HEADERS = (
    "X-Presto-User",
    "X-Presto-Session",
    "X-Presto-Catalog",
    "X-Presto-Schema",
    "X-Presto-Time-Zone",
    "X-Presto-Language",
    "X-Presto-Client-Tags",
    "X-Presto-Prepared-Statement",
    "X-Presto-Transaction-Id",
    "X-Presto-Extra-Credential",
    "X-Presto-Role",
    "X-Presto-Session-Function",
    "X-Presto-Client-Info",
    "X-Presto-Source",
    "X-Trino-User",
    "Authorization",
    "Content-Type",
    "Content-Encoding",
    "Content-Length",
    "Transfer-Encoding",
    "Accept",
    "Accept-Encoding",
    "Cookie",
    "X-Forwarded-Proto",
    "X-Forwarded-Host",
    "Forwarded",
    "traceparent",
    "Range",
    "Expect",
    "Upgrade",
    "Connection",
    "Host",
)
VALUES = (
    "a",
    "",
    "a=b",
    "=",
    "a=%zz",
    "a=%00",
    "query_max_run_time=1s",
    "engine=spark",
    "x" * 5000,
    "\xff\xfe",
    "-1",
    "999999999999999999999",
    "Nowhere/City",
    "+99:99",
    "p=SELECT+1",
    "p=" + "%28" * 300,
    "NONE",
    "Basic !!!",
    "Bearer a.b.c",
    "gzip",
    "chunked",
    "application/json;q=x",
    "*/*;q=nan",
    "a,b;c=d,,,",
    "00-zz-zz-zz",
    "bytes=9-1",
    "100-continue",
    "websocket",
    "hive=ROLE{x}",
    "[",
    "{}",
)
BODIES = (b"", b"SELECT 1", b"\xff\xfe", b"{}", b"[", b'{"x": 1}', b'"SHUTTING_DOW"', b"SELECT '" + b"x" * 100_000)


def request(choices: Choices) -> bytes:
    """A request of which some is odd."""
    body = choices.pick(BODIES)
    lines = [f"{choices.pick(METHODS)} {choices.pick(PATHS)} HTTP/1.1", "Host: localhost", "X-Presto-User: fuzz"]
    if choices.chance(5):
        lines[0] = choices.pick(("", "GET", "GET / HTTP/9.9", "GET /\r\n", "PRI * HTTP/2.0"))
    lines += [f"{choices.pick(HEADERS)}: {choices.pick(VALUES)}" for _ in range(choices.below(5))]
    if not choices.chance(10):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body


def exchange(url: str, sent: bytes, seconds: float = 15, context: ssl.SSLContext | None = None) -> bytes:
    """What comes back until the server closes; nothing after a silence of so many seconds. TLS with a ``context``."""
    address = urlsplit(url)
    host = address.hostname or ""
    with contextlib.ExitStack() as open_until:
        client = open_until.enter_context(socket.create_connection((host, address.port or 80), timeout=seconds))
        if context is not None:
            client = open_until.enter_context(context.wrap_socket(client, server_hostname=host))
        answer = b""
        with contextlib.suppress(OSError):
            client.sendall(sent)
            if context is None:
                client.shutdown(socket.SHUT_WR)
            while read := client.recv(65536):
                answer += read
        return answer


def run(url: str, seed: int, numbers: Sequence[int], counts: Counter[str]) -> Iterator[dict[str, object]]:
    """Requests that are answered with 5xx, and whatever keeps the next plain one from its answer."""
    for number in numbers:
        sent = request(Choices(seed * 1_000_003 + number))
        answer = exchange(url, sent)
        status = answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/1.") else "closed"
        counts[f"http_{status}"] += 1
        if status.startswith("5"):
            yield {"seed": seed, "number": number, "what": "http", "sent": repr(sent[:600]), "got": repr(answer[:400])}
    plain = exchange(url, b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    if b" 200 " not in plain[:20]:
        yield {
            "seed": seed,
            "number": numbers[-1],
            "what": "http",
            "error": f"no plain answer after it: {plain[:100]!r}",
        }
