"""``/ui/queries``: what runs and what ran, by filters that stand in the address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fastapi import Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.events import execution_info
from coordinator.dispatch.query import Query
from coordinator.dispatch.stats import elapsed_seconds, progress_percentage
from coordinator.history.reader import HistoryReader, Order, Record, WrongPageError
from coordinator.history.rows import from_micros
from coordinator.server.authentication import identity_of
from coordinator.server.query_access import QueryAccess
from coordinator.server.ui.activity import Activity
from coordinator.server.ui.page import Context, Pages
from coordinator.server.ui.query_filter import FIELDS, SORTINGS, STATES, Asked, asked
from coordinator.server.ui.visible import Visible
from coordinator.server.ui.words import first_line

PAGE_SIZE = 50
_MOST_PAGES = 10_000


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


@dataclass(frozen=True, slots=True)
class QueriesPage:
    dispatcher: Dispatcher
    access: QueryAccess
    history: HistoryReader | None
    activity: Activity
    pages: Pages

    async def show(self, request: Request) -> Response:
        wanted = asked(request.query_params)
        visible = Visible(self.access.control, identity_of(request))

        def make() -> Context:
            found = self._past(wanted, visible) if wanted.past else self._present(wanted, visible)
            return found | {
                "asked": wanted,
                "fields": FIELDS,
                "states": STATES,
                "sortings": tuple(SORTINGS),
                "has_history": self.history is not None,
            }

        stamp = None if wanted.past else f"{self.activity.stamp()} {wanted}"
        return await self.pages.show(request, "queries.html", "queries", make, stamp=stamp)

    def _present(self, wanted: Asked, visible: Visible) -> dict[str, object]:
        takes = wanted.takes()
        found = [query for query in visible.of(list(self.dispatcher.registry)[::-1]) if takes(query)]
        if wanted.sort != "created":
            found.sort(key=SORTINGS[wanted.sort], reverse=not wanted.ascending)
        elif wanted.ascending:
            found.reverse()
        number = int(wanted.page) if wanted.page.isdecimal() and len(wanted.page) < 6 else 1
        number = min(max(1, number), _MOST_PAGES, max(1, -(-len(found) // PAGE_SIZE)))
        shown = found[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
        return {
            "queries": [listed(query) for query in shown],
            "total": len(found),
            "earlier": wanted.address(page=str(number - 1)) if number > 1 else None,
            "later": wanted.address(page=str(number + 1)) if number * PAGE_SIZE < len(found) else None,
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


def listed(query: Query) -> Listed:
    """A query in memory."""
    engine = execution_info(query, query.planned).engine
    return Listed(
        query.id,
        query.state.value,
        query.session.user,
        query.session.source or "",
        ".".join(query.resource_group),
        engine or "",
        query.created,
        elapsed_seconds(query),
        query.output_rows,
        first_line(query.shown_text),
        "" if query.error is None else query.error.code.name,
        progress_percentage(query),
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
