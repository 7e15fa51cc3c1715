"""``/ui/``: how the coordinator is, and how the last hour was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.server.authentication import identity_of
from coordinator.server.lifecycle import NodeLifecycle
from coordinator.server.query_access import QueryAccess
from coordinator.server.ui.activity import INTERVAL, KEPT, Activity, running_and_queued
from coordinator.server.ui.charts import Line, line
from coordinator.server.ui.page import Context, Pages
from coordinator.server.ui.parts import Part, parts_for
from coordinator.server.ui.queries import listed
from coordinator.server.ui.statements import SOURCE
from coordinator.server.ui.visible import Visible

_LISTED = 10


@dataclass(frozen=True, slots=True)
class Card:
    """A number with its curve of the last hour."""

    title: str
    value: float
    unit: str
    curve: Line
    note: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True)
class OverviewPage:
    dispatcher: Dispatcher
    lifecycle: NodeLifecycle
    access: QueryAccess
    activity: Activity
    parts: Callable[[], Sequence[Part]]
    pages: Pages

    async def show(self, request: Request) -> Response:
        visible = Visible(self.access.control, identity_of(request))
        now = self.activity.sample()
        allowed = await self.access.may_read_information(request)

        def make() -> Context:
            queries = [q for q in visible.of(list(self.dispatcher.registry)[::-1]) if q.session.source != SOURCE]
            active = [query for query in queries if not query.state.done]
            failed = [query for query in queries if query.error is not None]
            return {
                "cards": self._cards(),
                "parts": parts_for(self.parts(), allowed),
                "active": [listed(query) for query in active[:_LISTED]],
                "failed": [listed(query) for query in failed[:_LISTED]],
                "recent": [listed(query) for query in queries[:_LISTED]],
                "state": self.lifecycle.state.value,
                "uptime": self.lifecycle.uptime,
                "now": now,
            }

        return await self.pages.show(request, "overview.html", "./", make, stamp=self.activity.stamp())

    def _cards(self) -> list[Card]:
        now, past = self.activity.sample(), self.activity.samples
        running, queued = running_and_queued(self.dispatcher)
        totals = self.dispatcher.totals
        curves: dict[str, Any] = {
            name: line([getattr(each, name) for each in past], KEPT)
            for name in ("running", "queued", "rate", "failed", "median", "slow", "memory")
        }
        minute = totals.last(60.0)
        failures = f"{minute.counts['FailedQueries']} within the last minute, {totals.counts['FailedQueries']} in all"
        ended = f"{totals.counts['CompletedQueries']} ended since the start"
        return [
            Card("Running", running, "", curves["running"], "", "queries?state=RUNNING"),
            Card("Queued", queued, "", curves["queued"], "", "queries?state=QUEUED"),
            Card("Statements a second", minute.counts["CompletedQueries"] / 60, "rate", curves["rate"], ended),
            Card("Failed a second", now.failed, "rate", curves["failed"], failures, "queries?state=FAILED"),
            Card("Latency, median", now.median, "seconds", curves["median"], f"of the last {INTERVAL:.0f} s"),
            Card("Latency, 95 %", now.slow, "seconds", curves["slow"], f"of the last {INTERVAL:.0f} s"),
            Card("Memory of this process", now.memory, "size", curves["memory"]),
        ]
