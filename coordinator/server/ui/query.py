"""``/ui/query.html?{id}``: one query, and ending it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import aiohttp
import msgspec
from fastapi import Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.failures import killed
from coordinator.dispatch.info import query_info
from coordinator.dispatch.query import Query
from coordinator.dispatch.stats import progress_percentage, statement_stats
from coordinator.explain.analyzed import Stats
from coordinator.explain.json_format import distributed_json, distributed_trees, pretty
from coordinator.history.reader import HistoryReader, Record
from coordinator.history.rows import completed_row, from_micros, table_rows
from coordinator.security.redaction import HIDDEN
from coordinator.server.authentication import identity_of
from coordinator.server.node import json_response
from coordinator.server.problems import ProblemError
from coordinator.server.query_access import QueryAccess, owner_of
from coordinator.server.settings import Cluster
from coordinator.server.ui.charts import stacked
from coordinator.server.ui.error_place import marked_lines
from coordinator.server.ui.page import Context, Pages, see_other, wants_page
from coordinator.server.ui.plan_tree import (
    Drawing,
    distributed_drawing,
    distributed_plan,
    logical_drawing,
    logical_plan,
    with_numbers,
)
from coordinator.server.ui.visible import Visible
from coordinator.server.ui.words import count, size
from coordinator.server.uris import uris_of
from coordinator.vocabulary.statement_facts import restored
from shared.plan.fragment import SubPlan

_TEXT = 200_000
_REASON = 1000
_FORM = 16_000


@dataclass(frozen=True, slots=True)
class QueryPage:
    """Of the registry, and of the history for what it has forgotten."""

    dispatcher: Dispatcher
    access: QueryAccess
    history: HistoryReader | None
    pages: Pages
    cluster: Cluster | None = None

    async def show(self, request: Request) -> Response:
        """JSON for clients that ask for it."""
        query_id = request.url.query.split("&")[0]
        query = self.dispatcher.registry.get(query_id)
        if query is None:
            return await self._past(request, query_id)
        await self.access.check_view(request, query)
        if "application/json" in request.headers.get("accept", ""):
            return json_response(query_info(query, uris_of(request).base))
        visible = Visible(self.access.control, identity_of(request))

        def make() -> Context:
            event = self.dispatcher.events.described(query)
            record = completed_row(event, _TEXT) | {"tables": table_rows(event)}
            record |= {"plan": event.metadata.plan, "json_plan": None}
            return _context(record, _live_drawing(query)) | {
                "progress": progress_percentage(query),
                "stats": statement_stats(query, stages=True),
                "phase": query.redact(query.progress.phase),
                "may_kill": not query.state.done and visible.may_kill(owner_of(query)),
                "done": query.state.done,
                "in_memory": True,
            }

        return await self.pages.show(request, "query.html", "queries", make)

    async def _past(self, request: Request, query_id: str) -> Response:
        record = None
        if self.history is not None and query_id:
            visible = Visible(self.access.control, identity_of(request))
            record = await self.pages.aside(partial(self.history.one, query_id, visible.may_see))
        if record is None:
            if not wants_page(request):
                raise ProblemError(404, "Query not found")
            made = {"title": "Query not found", "text": "It may have expired, or it is not yours to see."}
            return await self.pages.show(request, "problem.html", "queries", lambda: made, 404)
        kept = record

        def make() -> Context:
            plan = logical_plan(kept["json_plan"])
            drawing = None if plan is None else logical_drawing(plan, str)
            return _context(kept, drawing) | {
                "progress": None,
                "stats": None,
                "phase": "",
                "may_kill": False,
                "done": True,
                "in_memory": False,
            }

        return await self.pages.show(request, "query.html", "queries", make)

    async def kill(self, request: Request) -> Response:
        """A form of the page: the reason is what the query's owner reads."""
        fields = await self.pages.tokens.form(request, _FORM)
        query_id, reason = fields.get("query", ""), fields.get("reason", "").strip()[:_REASON]
        query = self.dispatcher.registry.get(query_id)
        if query is None:
            await self._kill_elsewhere(request, query_id, reason)
        else:
            await self.access.check_kill(request, query)
            query.fail(killed(reason))
        return see_other(f"query.html?{query_id}")

    async def _kill_elsewhere(self, request: Request, query_id: str, reason: str) -> None:
        """By the coordinator that runs it, which asks its access control. Raises ProblemError."""
        status = None
        if self.cluster is not None:
            try:
                status = await self.cluster.owners.kill(query_id, reason, identity_of(request))
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise ProblemError(503, f"The coordinator of query {query_id} cannot be reached") from error
        if status not in (200, 409):
            raise ProblemError(
                403 if status == 403 else 404, "Query not found" if status != 403 else "Cannot kill query"
            )


def _context(record: Record, drawing: Drawing | None) -> dict[str, object]:
    text = record["query"] or ""
    verbs = msgspec.json.decode(record["verbs"] or "{}", type=dict[str, float])
    return {
        "query": record,
        "created": from_micros(record["created"]),
        "started": from_micros(record["started"]),
        "ended": from_micros(record["ended"]),
        "text": text,
        "marked": marked_lines(text, record.get("error_line"), record.get("error_column")),
        "timeline": stacked(list(verbs.items())),
        "verdicts": _of_json(record["verdicts"]) or [],
        "warnings": _of_json(record["warnings"]) or [],
        "session": _of_json(record["session_properties"]) or {},
        "tags": _of_json(record["client_tags"]) or [],
        "tables": [dict(table) | {"names": _of_json(table["columns"]) or []} for table in record["tables"]],
        "drawing": None if drawing is None else with_numbers(drawing, *_numbers(record)),
    }


def _numbers(record: Record) -> tuple[str, str]:
    out, read = (record["output_rows"], record["output_bytes"]), (record["input_rows"], record["input_bytes"])
    return _amount(*out), _amount(*read)


def _amount(rows: int | None, size_: int | None) -> str:
    return f"{count(rows)} rows, {size(size_)}" if rows else ""


def _live_drawing(query: Query) -> Drawing | None:
    """By fragments where they are still known, else as EXPLAIN shows the plan; none of a statement with secrets."""
    planned = query.planned
    if planned is None or HIDDEN in query.shown_text:
        return None
    if planned.subplan is not None:
        verdicts = {each.fragment_id: (each.verdict, each.reason or "") for each in tuple(query.verdicts)}
        fragments = distributed_plan(_measured(query, planned.subplan))
        return None if fragments is None else distributed_drawing(fragments, verdicts, query.redact)
    if planned.facts is not None:
        plan = logical_plan(restored(planned.facts.plan.json))
        return None if plan is None else logical_drawing(plan, query.redact)
    return None


def _measured(query: Query, subplan: SubPlan) -> str:
    """The plan with the rows of its nodes, where the engine told of them."""
    if not query.operators:
        return distributed_json(subplan)
    explained = query.planned is not None and query.planned.query_type == "EXPLAIN"
    stats = Stats(subplan, query.operators, None if explained else query.output_rows)
    return pretty(distributed_trees(subplan, stats.as_json))


def _of_json(content: str | None) -> object:
    return None if content is None else msgspec.json.decode(content)
