"""``/ui/``: how the coordinators are, and how the last hour was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import msgspec
from fastapi import Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.query import Query
from coordinator.server.authentication import identity_of
from coordinator.server.lifecycle import NodeLifecycle
from coordinator.server.peer_queries import Gathered, gathered, only_peers
from coordinator.server.query_access import QueryAccess
from coordinator.server.settings import Cluster
from coordinator.server.ui.activity import INTERVAL, KEPT, Activity
from coordinator.server.ui.charts import Line, line
from coordinator.server.ui.figures import Figures, figures_of, together
from coordinator.server.ui.page import Context, Pages
from coordinator.server.ui.parts import Part, parts_for
from coordinator.server.ui.queries import Listed, listed
from coordinator.server.ui.statements import SOURCE
from coordinator.server.ui.visible import Visible

_LISTED = 10
_EVERY = 5
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
    """Of one coordinator: what runs or waits, what failed last, what came last, and how it is."""

    active: tuple[Listed, ...] = ()
    failed: tuple[Listed, ...] = ()
    recent: tuple[Listed, ...] = ()
    figures: Figures | None = None
    """None where a coordinator of an older version says nothing of them."""
    parts: tuple[Part, ...] = ()


def _first(rows: list[Listed]) -> list[Listed]:
    """The newest of all coordinators; each gave its own in this order."""
    return sorted(rows, key=lambda row: row.created.timestamp() if row.created else 0.0, reverse=True)[:_LISTED]


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

        async def begin() -> Callable[[], Context]:
            others = await gathered(self.cluster, request, PEER_OVERVIEW, Newest)
            own = await self._own(request)
            return lambda: self._context(own(visible), others)

        stamp = None if self.cluster is not None else self.activity.stamp()
        return await self.pages.live(request, "overview.html", "./", _EVERY, begin, stamp=stamp)

    def _context(self, own: Newest, others: Gathered[Newest]) -> Context:
        found = [own, *others.answers.values()]
        several = self.cluster is not None
        return {
            "silent": others.silent,
            "node": self.node_id if several else "",
            "cards": _cards(together([each.figures for each in found if each.figures is not None]), several),
            "parts": _parts_of({"" if not several else self.node_id: own, **others.answers}),
            "active": _first([each for newest in found for each in newest.active]),
            "failed": _first([each for newest in found for each in newest.failed]),
            "recent": _first([each for newest in found for each in newest.recent]),
            "state": self.lifecycle.state.value,
            "uptime": self.lifecycle.uptime,
        }

    async def part(self, request: Request) -> Response:
        """For another coordinator: what this one alone has."""
        only_peers(request)
        visible, own = Visible(self.access.control, identity_of(request)), await self._own(request)
        found = await self.pages.aside(lambda: msgspec.json.encode(own(visible)))
        return Response(found, media_type="application/json")

    async def _own(self, request: Request) -> Callable[[Visible], Newest]:
        """What belongs to the event loop is read now, the rest on the thread that calls what this gives."""
        figures, running = figures_of(self.dispatcher, self.activity), self._active()
        allowed = await self.access.may_read_information(request)

        def make(visible: Visible) -> Newest:
            parts = tuple(parts_for(self.parts(), allowed))
            return replace(self._newest(visible, running), figures=figures, parts=parts)

        return make

    def _newest(self, visible: Visible, running: Sequence[Query]) -> Newest:
        newest = islice(reversed(list(self.dispatcher.registry)), _LOOKED_AT)
        queries = [query for query in visible.of(newest) if query.session.source != SOURCE]
        failed = [query for query in queries if query.error is not None]
        active = [query for query in visible.of(running) if query.session.source != SOURCE]
        node = "" if self.cluster is None else self.node_id
        first = [tuple(listed(query, node) for query in each[:_LISTED]) for each in (active, failed, queries)]
        return Newest(first[0], first[1], first[2])

    def _active(self) -> list[Query]:
        """The newest first; ids begin with their moment."""
        groups = (group for root in self.dispatcher.groups.roots for group in root.walk())
        ids = sorted({each for group in groups for each in (*group.running, *group.queued)}, reverse=True)
        found = (self.dispatcher.registry.get(each) for each in ids[:_LOOKED_AT])
        return [query for query in found if query is not None and not query.state.done]


def _parts_of(found: Mapping[str, Newest]) -> dict[str, Sequence[Part]]:
    return {node: newest.parts for node, newest in found.items() if newest.parts}


def _cards(figures: Figures, several: bool) -> list[Card]:
    now, minute, ever = figures.now, figures.minute, figures.ever
    curves = {
        name: line([getattr(each, name) for each in figures.past], KEPT)
        for name in ("running", "queued", "rate", "failed", "median", "slow", "memory")
    }
    failures = f"{minute['FailedQueries']} within the last minute, {ever['FailedQueries']} in all"
    ended, recent = f"{ever['CompletedQueries']} ended since the start", f"of the last {INTERVAL:.0f} s"
    memory = "Memory of the coordinators" if several else "Memory of this process"
    return [
        Card("Running", now.running, "", curves["running"], "", "queries?state=RUNNING"),
        Card("Queued", now.queued, "", curves["queued"], "", "queries?state=QUEUED"),
        Card("Statements a second", minute["CompletedQueries"] / 60, "rate", curves["rate"], ended),
        Card("Failed a second", now.failed, "rate", curves["failed"], failures, "queries?state=FAILED"),
        Card("Latency, median", now.median, "seconds", curves["median"], recent),
        Card("Latency, 95 %", now.slow, "seconds", curves["slow"], recent),
        Card(memory, now.memory, "size", curves["memory"]),
    ]
