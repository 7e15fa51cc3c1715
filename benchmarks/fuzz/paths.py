"""Requests to every path of a service's OpenAPI, with odd parameters, headers and bodies, as one user beside another.

No answer is a 5xx, has a stack trace or a word of the other user, or takes long; and the service goes on.
"""

from __future__ import annotations

import ssl
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.routing import APIRoute

from benchmarks.fuzz.choices import Choices
from benchmarks.fuzz.requests import BODIES, HEADERS, VALUES, exchange
from shared.protocol import headers as names

TRACES = (b"Traceback (most recent", b'File "', b".py\x22, line", b"site-packages", b"\tat ", b"Exception in")
SLOW_SECONDS = 10.0
_FAMILIES = tuple(
    f"X-{family}-{value}"
    for family in ("Presto", "Trino")
    for name, value in sorted(vars(names).items())
    if name.isupper() and isinstance(value, str)
)
_PARTS = (
    "x", "", "0", "-1", "1", "9" * 40, "..", "%2e%2e", "../../info", "%00", "%ff%fe", "a" * 5000, "%0d%0aX-A:%20b", "*",
    "' OR 1=1 --", "${jndi:ldap://x}", "{{7*7}}", "global", "global.user", "NaN", "é", "null", "true", "[]", ";", "%",
)  # fmt: skip
_ODD_HEADERS = (
    "X-HTTP-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-For", "X-Real-IP", "X-Forwarded-Prefix",
    "X-Presto-Internal-Bearer", "X-Trino-Internal-Bearer", "X-Presto-Principal", "X-Presto-Expression-Optimizer-Level",
    "Origin", "Referer", "Sec-Fetch-Site", "If-None-Match", "If-Modified-Since", "TE", "Via", "Trailer",
)  # fmt: skip
_PLANTED = ("a; DROP TABLE t", "() { :; }", "%n%n%n", "\x01\x02", "Basic Og==", "Bearer ", "Negotiate YII=", "1e999")


@dataclass(frozen=True)
class Target:
    """A service to be asked.

    ``credentials`` are headers of the user who asks. ``known`` are ids, slugs and groups of the other user, and
    ``hidden`` words that only the other user may see. ``refused`` are statuses over 499 that are right, by path.
    """

    url: str
    operations: Sequence[tuple[str, str]]
    context: ssl.SSLContext | None = None
    credentials: Mapping[str, str] = field(default_factory=dict)
    known: Sequence[str] = ()
    hidden: Sequence[str] = ()
    unasked: Sequence[str] = ()
    refused: Sequence[bytes] = ()


def operations(openapi: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Methods and path templates; those that end the service are not among them."""
    found = [(method.upper(), path) for path, methods in openapi["paths"].items() for method in methods]
    return sorted(each for each in found if each != ("PUT", "/v1/info/state"))


def routes(app: FastAPI) -> list[tuple[str, str]]:
    """The same of a service that serves no OpenAPI."""
    found = ((method, route.path) for route in app.routes if isinstance(route, APIRoute) for method in route.methods)
    return sorted(each for each in found if each != ("PUT", "/v1/info/state"))


def request(target: Target, choices: Choices) -> bytes:
    """A request whose path the service has."""
    method, template = choices.pick(target.operations)
    parts = (*target.known, *_PARTS)
    path = ""
    for piece in template.split("/")[1:]:
        path += "/" + (choices.pick(parts) if piece.startswith("{") else piece)
    asked = [
        f"{choices.pick(('slug', 'state', 'limit', 'user', 'pretty', 'x'))}={choices.pick(parts)}"
        for _ in range(choices.below(3))
    ]
    path = quote(path + ("?" + "&".join(asked) if asked else ""), safe="/?&=%*:;.,!'()[]{}$")
    body = choices.pick(BODIES)
    lines = [f"{choices.pick((method, method, method, 'GET', 'POST', 'PUT', 'DELETE'))} {path} HTTP/1.1"]
    lines += ["Host: localhost", *(f"{name}: {value}" for name, value in target.credentials.items())]
    for _ in range(choices.below(4)):
        name = choices.pick((*_FAMILIES, *_ODD_HEADERS, *HEADERS))
        lines.append(f"{name}: {choices.pick((*VALUES, *_PLANTED, *target.known))}")
    lines += [f"Content-Length: {len(body)}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace") + body


def run(target: Target, seed: int, numbers: Sequence[int], counts: Counter[str]) -> Iterator[dict[str, object]]:
    """What is wrong with answers, one entry each."""
    hidden = [word.encode() for word in target.hidden]
    for number in numbers:
        sent = request(target, Choices(seed * 1_000_003 + number))
        if any(word.encode() in sent for word in target.unasked):
            continue
        begun = time.monotonic()
        answer = exchange(target.url, sent, 3 * SLOW_SECONDS, target.context)
        seconds = time.monotonic() - begun
        status = answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/1.") else "closed"
        counts[f"http_{status}"] += 1
        problems = [f"status {status}"] if status.startswith("5") and status.encode() not in target.refused else []
        problems += [f"{word!r}" for word in (*TRACES, *hidden) if word in answer and word not in sent]
        problems += [f"{seconds:.1f} s"] if seconds > SLOW_SECONDS else []
        if problems:
            told = {"sent": repr(sent[:900]), "got": repr(answer[:600])}
            yield {"seed": seed, "number": number, "what": "http", "wrong": problems, **told}
