"""The slots of resource groups that statements wait for, hold while they run, and lend while their client is slow."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from coordinator.dispatch.clock import Clock
from coordinator.dispatch.query import Query
from coordinator.dispatch.settings import DispatchSettings
from coordinator.dispatch.states import QueryState
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.query_type import query_type_of
from coordinator.resource_groups.selection import criteria_of
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows
from shared.spi.session import Session


class Slots:
    """Belongs to the dispatcher's event loop."""

    def __init__(
        self, groups: ResourceGroups, settings: DispatchSettings, clock: Clock, distributed: Collection[str]
    ) -> None:
        """``distributed``: names of procedures, by whose calls selectors tell statements apart before their plan."""
        self._groups = groups
        self._settings = settings
        self._clock = clock
        self._distributed = distributed
        self._ticked = clock.monotonic()

    async def acquire(self, query: Query, planned: PlannedStatement | None) -> None:
        """Wait for a slot, which is given back when the query ends."""
        if planned is None:
            query_type = query_type_of(query.text, query.session, self._distributed)
        else:
            query_type = planned.query_type
        selection = self._groups.select(criteria_of(query.session, query_type))
        query.resource_group = selection.path
        query.limits = selection.specs[-1].limits
        query.transition(QueryState.QUEUED)
        with query.timeline.measure("queue"):
            await self._groups.acquire(
                selection,
                query.id,
                priority=_priority(query.session),
                retry=query.attempt > 0,
                done=planned is not None and isinstance(planned.work, ReturnRows),
            )
        query.on_done(self._release)
        query.transition(QueryState.DISPATCHING)

    def _release(self, query: Query) -> None:
        # As in Presto, what failed through no fault of the user's does not count against the group.
        blameless = query.error is not None and query.error.code.type != "USER_ERROR"
        self._groups.release(query.id, 0.0 if blameless else query.cpu_seconds)

    def lend(self, query: Query) -> None:
        """An engine that waits for its client uses nothing that a slot stands for; others may run meanwhile."""
        if query.buffer.waiting_seconds >= self._settings.stalled_after:
            self._groups.pause(query.id)
        else:
            self._groups.resume(query.id)

    def tick(self, active: Iterable[Query]) -> None:
        """Tell the groups of the time that has passed, and of the memory that their queries hold."""
        now, before = self._clock.monotonic(), self._ticked
        self._ticked = now
        running = {query.id: query.progress for query in active if query.state.dispatched and not query.state.done}
        workers = max((progress.nodes for progress in running.values()), default=1)
        memory = {query_id: float(progress.peak_memory_bytes) for query_id, progress in running.items()}
        self._groups.tick(now - before, lambda query_id: memory.get(query_id, 0.0), max(1, workers))


def _priority(session: Session) -> int:
    try:
        return int(session.properties.get("query_priority", "1"))
    except ValueError:
        return 1  # the planner refuses the value
