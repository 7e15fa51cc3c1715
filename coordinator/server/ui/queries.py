"""``/ui/queries``: what runs and what ran, by filters that stand in the address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import msgspec
from fastapi import Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.events import engine_of
from coordinator.dispatch.query import Query
from coordinator.dispatch.stats import elapsed_seconds, progress_percentage
from coordinator.history.reader import HistoryReader, Order, Record, WrongPageError
from coordinator.history.rows import from_micros
from coordinator.server.authentication import identity_of
from coordinator.server.peer_queries import Gathered, gathered, only_peers
from coordinator.server.query_access import QueryAccess
from coordinator.server.settings import Cluster
from coordinator.server.ui.activity import Activity
from coordinator.server.ui.page import Context, Pages
from coordinator.server.ui.query_filter import FIELDS, SORTINGS, STATES, Asked, asked
from coordinator.server.ui.visible import Visible
from coordinator.server.ui.words import first_line

PAGE_SIZE = 50
_EVERY = 3
_MOST_PAGES = 10_000
_MOST_SHARED = 40
"""Pages of a list that several coordinators have parts of: each sends all pages up to the one that is shown."""
PEER_LIST = "/v1/peer/listed"


@dataclass(frozen=True, slots=True)
class Listed:
    """A row of the list."""

    query_id: str
    state: str
    user: str
    source: str
    group: str
    engine: str
    created: datetime | None
    elapsed: float | None
    rows: int | None
    line: str
    error: str
    progress: float | None = None
    node: str = ""
    """The coordinator, where there are several."""


@dataclass(frozen=True, slots=True)
class Part:
    """The first of one coordinator's queries of a list, each with what it is sorted by, and how many there are."""

    total: int = 0
    rows: tuple[tuple[tuple[float, str], Listed], ...] = ()


@dataclass(frozen=True, slots=True)
class QueriesPage:
    dispatcher: Dispatcher
    access: QueryAccess
    history: HistoryReader | None
    activity: Activity
    pages: Pages
    node_id: str = ""
    cluster: Cluster | None = None

    async def show(self, request: Request) -> Response:
        wanted = asked(request.query_params)
        visible = Visible(self.access.control, identity_of(request))

        async def begin() -> Callable[[], Context]:
            others: Gathered[Part] = Gathered()
            if not wanted.past:
                others = await gathered(self.cluster, request, f"{PEER_LIST}?{request.url.query}", Part)
            return lambda: self._context(wanted, visible, others)

        stamp = None if wanted.past or self.cluster is not None else self.activity.stamp()
        return await self.pages.live(request, "queries.html", "queries", _EVERY, begin, stamp=stamp)

    def _context(self, wanted: Asked, visible: Visible, others: Gathered[Part]) -> Context:
        found = self._past(wanted, visible) if wanted.past else self._present(wanted, visible, others)
        return found | {
            "silent": others.silent,
            "asked": wanted,
            "fields": FIELDS,
            "states": STATES,
            "sortings": tuple(SORTINGS),
            "has_history": self.history is not None,
        }

    async def part(self, request: Request) -> Response:
        """For another coordinator: what this one alone has of the same list."""
        only_peers(request)
        wanted, visible = asked(request.query_params), Visible(self.access.control, identity_of(request))
        found = await self.pages.aside(lambda: self._part(wanted, visible, min(_number(wanted), _MOST_SHARED)))
        return Response(msgspec.json.encode(found), media_type="application/json")

    def _part(self, wanted: Asked, visible: Visible, pages: int) -> Part:
        takes = wanted.takes()
        found = [query for query in visible.of(list(self.dispatcher.registry)[::-1]) if takes(query)]
        sorting = SORTINGS[wanted.sort]
        if wanted.sort != "created":
            found.sort(key=sorting, reverse=not wanted.ascending)
        elif wanted.ascending:
            found.reverse()
        node = "" if self.cluster is None else self.node_id
        return Part(len(found), tuple((sorting(query), listed(query, node)) for query in found[: pages * PAGE_SIZE]))

    def _present(self, wanted: Asked, visible: Visible, others: Gathered[Part]) -> dict[str, object]:
        number = min(max(1, _number(wanted)), _MOST_PAGES if self.cluster is None else _MOST_SHARED)
        parts = [self._part(wanted, visible, number), *others.answers.values()]
        total = sum(part.total for part in parts)
        number = min(number, max(1, -(-total // PAGE_SIZE)))
        rows = [row for part in parts for row in part.rows]
        if len(parts) > 1:
            rows.sort(key=lambda row: row[0], reverse=not wanted.ascending)
        shown = rows[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
        return {
            "queries": [row for _, row in shown],
            "total": total,
            "earlier": wanted.address(page=str(number - 1)) if number > 1 else None,
            "later": wanted.address(page=str(number + 1)) if number * PAGE_SIZE < total else None,
            "number": number,
            "problems": wanted.problems,
        }

    def _past(self, wanted: Asked, visible: Visible) -> dict[str, object]:
        problems = list(wanted.problems)
        records: list[Record] = []
        after = None
        if self.history is None:
            problems.append("No history is kept (history.enabled=false)")
        else:
            try:
                order = Order(wanted.sort, wanted.ascending)
                page = self.history.page(wanted.history(), visible.may_see, PAGE_SIZE, wanted.page or None, order)
                records, after = list(page.records), page.next
            except WrongPageError:
                problems.append("This is no page of the list")
        return {
            "queries": [of_record(record) for record in records],
            "total": None,
            "earlier": wanted.address(page="") if wanted.page else None,
            "later": None if after is None else wanted.address(page=after),
            "number": None,
            "problems": tuple(problems),
        }


def _number(wanted: Asked) -> int:
    return int(wanted.page) if wanted.page.isdecimal() and len(wanted.page) < 6 else 1


def listed(query: Query, node: str = "") -> Listed:
    """A query in memory."""
    return Listed(
        query.id,
        query.state.value,
        query.session.user,
        query.session.source or "",
        ".".join(query.resource_group),
        engine_of(query) or "",
        query.created,
        elapsed_seconds(query),
        query.output_rows,
        first_line(query.shown_text),
        "" if query.error is None else query.error.code.name,
        progress_percentage(query),
        node,
    )


def of_record(record: Record) -> Listed:
    """A query of the history."""
    elapsed = record["elapsed_ms"]
    return Listed(
        record["query_id"],
        record["state"],
        record["user_name"],
        record["source"] or "",
        record["resource_group"] or "",
        record["engine"] or "",
        from_micros(record["created"]),
        None if elapsed is None else elapsed / 1000,
        record["output_rows"],
        first_line(record["query"] or ""),
        record["error_name"] or "",
    )
