"""A plain page for each query, so that infoUri leads somewhere, and a list of queries at ``/ui/``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from fastapi import APIRouter, Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.info import instant, query_info
from coordinator.dispatch.query import Query
from coordinator.dispatch.stats import elapsed_seconds, progress_percentage
from coordinator.server.node import json_response
from coordinator.server.query_access import QueryAccess
from coordinator.server.uris import uris_of
from shared.units import format_duration

_LISTED = 200
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#222}
pre{background:#f5f5f2;padding:1rem;overflow:auto;white-space:pre-wrap}
table{border-collapse:collapse}td,th{padding:.2rem 1rem .2rem 0;text-align:left;vertical-align:top}
.FAILED{color:#a11}.FINISHED{color:#171}
"""


def _document(title: str, body: str, status: int = 200, refresh: bool = False) -> Response:
    again = '<meta http-equiv="refresh" content="2">' if refresh else ""
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>{again}'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>"
    )
    headers = {
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    }
    return Response(page, status, media_type="text/html", headers=headers)


def _table(rows: Sequence[tuple[str, str]]) -> str:
    return "<table>" + "".join(f"<tr><th>{escape(k)}</th><td>{v}</td></tr>" for k, v in rows) + "</table>"


def _state(query: Query) -> str:
    percentage = progress_percentage(query)
    progress = f" {percentage:.0f} %" if percentage is not None and not query.state.done else ""
    return f'<span class="{query.state.value}">{query.state.value}{progress}</span>'


def _query_body(query: Query) -> str:
    rows = [
        ("State", _state(query)),
        ("User", escape(query.session.user)),
        ("Source", escape(query.session.source or "")),
        ("Created", instant(query.created) or ""),
        ("Elapsed", format_duration(elapsed_seconds(query))),
        ("Rows", str(query.output_rows)),
        ("Phase", escape(query.progress.phase)),
    ]
    seconds = [(verb, format_duration(spent)) for verb, spent in query.timeline.seconds().items()]
    parts = [f"<h1>{escape(query.id)}</h1>", _table([row for row in rows if row[1]])]
    if query.error is not None:
        parts.append(f"<h2>{escape(query.error.code.name)}</h2><pre>{escape(query.error.wire_message)}</pre>")
    parts += [f"<p>{escape(w.name)}: {escape(query.redact(w.message))}</p>" for w in query.warnings]
    parts += [f"<h2>Statement</h2><pre>{escape(query.shown_text)}</pre>", "<h2>Timeline</h2>", _table(seconds)]
    parts.append(f'<p><a href="/v1/query/{escape(query.id)}">JSON</a> · <a href="/ui/">All queries</a></p>')
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class UiRoutes:
    """Reads the registry only, what the user may see of it."""

    dispatcher: Dispatcher
    access: QueryAccess

    def router(self) -> APIRouter:
        router = APIRouter(default_response_class=Response)
        router.add_api_route("/", self.root, methods=["GET"])
        router.add_api_route("/ui/", self.list, methods=["GET"])
        router.add_api_route("/ui/query.html", self.query, methods=["GET"])
        return router

    async def root(self) -> Response:
        return Response(status_code=307, headers={"Location": "/ui/"})

    async def list(self, request: Request) -> Response:
        """The newest queries."""
        queries = (await self.access.visible(request, list(self.dispatcher.registry)[::-1]))[:_LISTED]
        rows = [
            (query.id, f'<a href="/ui/query.html?{query.id}">{_state(query)}</a> {escape(query.shown_text[:120])}')
            for query in queries
        ]
        return _document("Queries", "<h1>Queries</h1>" + _table(rows), refresh=True)

    async def query(self, request: Request) -> Response:
        """State, statement, timeline and error; JSON for clients that ask for it."""
        query_id = request.url.query.split("&")[0]
        query = self.dispatcher.registry.get(query_id)
        if query is None:
            return _document("Query not found", "<h1>Query not found</h1><p>It may have expired.</p>", 404)
        await self.access.check_view(request, query)
        if "application/json" in request.headers.get("accept", ""):
            return json_response(query_info(query, uris_of(request).base))
        return _document(query.id, _query_body(query), refresh=not query.state.done)
