"""``/ui/``: how the coordinator is, and how the last hour was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec
from fastapi import Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.query import Query
from coordinator.dispatch.totals import Window
from coordinator.server.authentication import identity_of
from coordinator.server.lifecycle import NodeLifecycle
from coordinator.server.peer_queries import gathered, only_peers
from coordinator.server.query_access import QueryAccess
from coordinator.server.settings import Cluster
from coordinator.server.ui.activity import INTERVAL, KEPT, Activity, Sample
from coordinator.server.ui.charts import Line, line
from coordinator.server.ui.page import Context, Pages
from coordinator.server.ui.parts import Part, parts_for
from coordinator.server.ui.queries import Listed, listed
from coordinator.server.ui.statements import SOURCE
from coordinator.server.ui.visible import Visible

_LISTED = 10
PEER_OVERVIEW = "/v1/peer/overview"
_LOOKED_AT = 500


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
class Newest:
    """Of one coordinator: what runs or waits, what failed last, what came last."""

    active: tuple[Listed, ...] = ()
    failed: tuple[Listed, ...] = ()
    recent: tuple[Listed, ...] = ()


def _first(rows: list[Listed]) -> list[Listed]:
    """The newest of all coordinators; each gave its own in this order."""
    return sorted(rows, key=lambda row: row.created.timestamp() if row.created else 0.0, reverse=True)[:_LISTED]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Now, within the last minute, and since the start."""

    now: Sample
    minute: Window
    ever: Counter[str]


@dataclass(frozen=True, slots=True)
class OverviewPage:
    dispatcher: Dispatcher
    lifecycle: NodeLifecycle
    access: QueryAccess
    activity: Activity
    parts: Callable[[], Sequence[Part]]
    pages: Pages
    node_id: str = ""
    cluster: Cluster | None = None

    async def show(self, request: Request) -> Response:
        visible = Visible(self.access.control, identity_of(request))
        others = await gathered(self.cluster, request, PEER_OVERVIEW, Newest)
        # On the event loop, to which these belong.
        numbers = Numbers(
            self.activity.sample(), self.dispatcher.totals.last(60.0), self.dispatcher.totals.counts.copy()
        )
        running = self._active()
        allowed = await self.access.may_read_information(request)

        def make() -> Context:
            parts = [self._newest(visible, running), *others.answers.values()]
            return {
                "silent": others.silent,
                "node": self.node_id if self.cluster is not None else "",
                "cards": _cards(numbers, self.activity.samples),
                "parts": parts_for(self.parts(), allowed),
                "active": _first([each for part in parts for each in part.active]),
                "failed": _first([each for part in parts for each in part.failed]),
                "recent": _first([each for part in parts for each in part.recent]),
                "state": self.lifecycle.state.value,
                "uptime": self.lifecycle.uptime,
            }

        stamp = None if self.cluster is not None else self.activity.stamp()
        return await self.pages.show(request, "overview.html", "./", make, stamp=stamp)

    async def part(self, request: Request) -> Response:
        """For another coordinator: the queries that this one alone has."""
        only_peers(request)
        visible, running = Visible(self.access.control, identity_of(request)), self._active()
        found = await self.pages.aside(lambda: self._newest(visible, running))
        return Response(msgspec.json.encode(found), media_type="application/json")

    def _newest(self, visible: Visible, running: Sequence[Query]) -> Newest:
        newest = islice(reversed(list(self.dispatcher.registry)), _LOOKED_AT)
        queries = [query for query in visible.of(newest) if query.session.source != SOURCE]
        failed = [query for query in queries if query.error is not None]
        active = [query for query in visible.of(running) if query.session.source != SOURCE]
        node = "" if self.cluster is None else self.node_id
        return Newest(*(tuple(listed(query, node) for query in each[:_LISTED]) for each in (active, failed, queries)))

    def _active(self) -> list[Query]:
        """The newest first; ids begin with their moment."""
        groups = (group for root in self.dispatcher.groups.roots for group in root.walk())
        ids = sorted({each for group in groups for each in (*group.running, *group.queued)}, reverse=True)
        found = (self.dispatcher.registry.get(each) for each in ids[:_LOOKED_AT])
        return [query for query in found if query is not None and not query.state.done]


def _cards(numbers: Numbers, past: Sequence[Sample]) -> list[Card]:
    now, minute, ever = numbers.now, numbers.minute.counts, numbers.ever
    curves = {
        name: line([getattr(each, name) for each in past], KEPT)
        for name in ("running", "queued", "rate", "failed", "median", "slow", "memory")
    }
    failures = f"{minute['FailedQueries']} within the last minute, {ever['FailedQueries']} in all"
    ended, recent = f"{ever['CompletedQueries']} ended since the start", f"of the last {INTERVAL:.0f} s"
    return [
        Card("Running", now.running, "", curves["running"], "", "queries?state=RUNNING"),
        Card("Queued", now.queued, "", curves["queued"], "", "queries?state=QUEUED"),
        Card("Statements a second", minute["CompletedQueries"] / 60, "rate", curves["rate"], ended),
        Card("Failed a second", now.failed, "rate", curves["failed"], failures, "queries?state=FAILED"),
        Card("Latency, median", now.median, "seconds", curves["median"], recent),
        Card("Latency, 95 %", now.slow, "seconds", curves["slow"], recent),
        Card("Memory of this process", now.memory, "size", curves["memory"]),
    ]
