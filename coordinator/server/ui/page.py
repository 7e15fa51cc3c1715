"""Templates to responses: rendered away from the event loop, everything escaped, under a strict policy."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import thread_time
from typing import TypeVar

from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from coordinator.server.authentication import authenticated_identity, identity_of
from coordinator.server.ui import words
from coordinator.server.ui.form_tokens import FormTokens
from coordinator.server.ui.pace import Pace
from coordinator.server.ui.renderings import Rendering, Renderings

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Vary": "X-Fragment, Cookie",
}
T = TypeVar("T")
FRAGMENT = "x-fragment"
_ROWS = 1000
_SESSION = ("x-presto-", "x-trino-")
INTERVALS = "X-Refresh-Intervals"
"""How many of its intervals a page waits until it asks again."""
Context = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Section:
    """An entry of the navigation."""

    href: str
    title: str


SECTIONS = (
    Section("./", "Overview"),
    Section("queries", "Queries"),
    Section("lake", "Lake"),
    Section("procedures", "Procedures"),
    Section("maintenance", "Maintenance"),
    Section("groups", "Resource groups"),
    Section("node", "Node"),
    Section("editor", "Editor"),
)


def make_environment() -> Environment:
    """Every template escapes; a name that is not there is an error."""
    loader = FileSystemLoader(Path(__file__).parent / "templates")
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, auto_reload=False, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {
        "duration": words.duration,
        "size": words.size,
        "count": words.count,
        "moment": words.moment,
        "ago": words.ago,
        "first_line": words.first_line,
        "shown": words.shown,
        "query_row": _query_row(made),
    }
    made.tests["numeric"] = words.is_numeric
    return made


def _query_row(environment: Environment) -> Callable[[object, bool], object]:
    """Rows of lists, most of which are of statements that have ended and so are the same as the last time."""

    @lru_cache(_ROWS)
    def row(listed: object, with_node: bool) -> object:
        macros = environment.get_template("macros.html").module
        return macros.query_row(listed, with_node)  # type: ignore[attr-defined]

    return row


class Pages:
    """Renders for one server."""

    def __init__(
        self,
        version: str,
        environment: str,
        tokens: FormTokens,
        login: str,
        threads: Executor,
        process_forwarded: bool = False,
    ) -> None:
        """``login``: ``name``, ``session`` or nothing, as users may log in and out here.

        ``threads`` are for pages alone: who asks for many keeps no statement waiting.
        """
        self._threads, self._login = threads, login
        self._pace, self._renderings = Pace(), Renderings()
        self._process_forwarded = process_forwarded
        self._templates = make_environment()
        self._common: dict[str, object] = {"version": version, "environment": environment}
        self.tokens = tokens

    async def show(
        self, request: Request, template: str, section: str, make: Callable[[], Context], status: int = 200
    ) -> Response:
        """The page, or its part that changes; 304 where the browser has it already. ``make`` runs on a thread."""
        rendering = await self._rendering(request, template, section, make)
        return self._response(request, rendering, rendering.seconds, status)

    async def live(
        self,
        request: Request,
        template: str,
        section: str,
        every: int,
        begin: Callable[[], Awaitable[Callable[[], Context]]],
        *,
        stamp: str | None = None,
    ) -> Response:
        """As ``show``, of a page that asks again ``every`` so many seconds, whose part that changes is shared.

        What ``begin`` gives runs on a thread. ``stamp``: while it is the same, so is the page.
        """

        async def render() -> Rendering:
            make = await begin()
            return await self._rendering(request, template, section, lambda: {"every": every, **make()})

        if FRAGMENT not in request.headers:
            return self._response(request, await render(), 0.0)
        identity, login = identity_of(request), self._login if self.is_secure(request) else "name"
        session = tuple(sorted(each for each in request.headers.items() if each[0].startswith(_SESSION)))
        address = (request.url.path, request.url.query)
        key = (identity, login, authenticated_identity(request) is None, session, *address)
        rendering, made = await self._renderings.of(key, every, stamp, render)
        return self._response(request, rendering, rendering.seconds if made else 0.0)

    async def _rendering(self, request: Request, template: str, section: str, make: Callable[[], Context]) -> Rendering:
        user, login = identity_of(request).user, self._login if self.is_secure(request) else "name"
        common = self._common | {
            "layout": "fragment.html" if FRAGMENT in request.headers else "layout.html",
            "section": section,
            "sections": SECTIONS,
            "login": login,
            "user": user if login == "name" or authenticated_identity(request) is not None else "",
            "form_token": self.tokens.of(request),
        }
        return await self.aside(lambda: self._render(template, common, make))

    def _response(self, request: Request, rendering: Rendering, seconds: float, status: int = 200) -> Response:
        """``seconds`` of CPU time are counted for who asked."""
        headers = HEADERS | {"ETag": rendering.tag}
        if FRAGMENT in request.headers:
            headers[INTERVALS] = f"{self._pace.count(seconds):.1f}"
            if request.headers.get("if-none-match") == rendering.tag:
                return Response(status_code=304, headers=headers)
        return Response(rendering.body, status, media_type="text/html", headers=headers)

    def is_secure(self, request: Request) -> bool:
        """Over TLS, ours or that of a proxy that is believed: elsewhere users say who they are."""
        forwarded = request.headers.get("x-forwarded-proto", "").split(",")[0].strip().lower()
        return request.url.scheme == "https" or (self._process_forwarded and forwarded == "https")

    async def aside(self, make: Callable[[], T]) -> T:
        """What ``make`` gives on a thread of the pages."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, make)

    def _render(self, template: str, common: Context, make: Callable[[], Context]) -> Rendering:
        begun = thread_time()
        text = self._templates.get_template(template).render({**common, **make()})
        body = text.encode("utf-8", "replace")
        return Rendering(body, tag_of(body), thread_time() - begun)


def tag_of(content: bytes) -> str:
    """The ``ETag`` of a content."""
    return f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'


def see_other(where: str) -> Response:
    """After a form; ``where`` is one of our own pages, relative to ``/ui/``."""
    return Response(status_code=303, headers=HEADERS | {"Location": where})


def wants_page(request: Request) -> bool:
    """A browser that opens a page, and no program."""
    return "text/html" in request.headers.get("accept", "")
