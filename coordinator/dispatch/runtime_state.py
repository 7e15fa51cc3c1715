"""The queries of a dispatcher as ``system.runtime`` shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from coordinator.connectors.system.runtime import NodeState, QueryState
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.failures import killed
from coordinator.dispatch.query import Query
from coordinator.dispatch.states import QueryState as State
from coordinator.dispatch.stats import queued_seconds, statement_stats
from coordinator.security.current_session import current_session
from shared.spi.session import Session


class OtherCoordinators(Protocol):
    """Of the same cluster; may be called in any thread but the event loop's."""

    def others(self) -> Sequence[NodeState]: ...

    def queries(self, session: Session) -> Sequence[QueryState]:
        """Of those that answer, what a session's statements may see."""
        ...

    def kill(self, session: Session, query_id: str, message: str) -> bool | None:
        """As ``RuntimeState.kill``, for a query of one of them."""
        ...


class DispatcherState:
    """Reads the registry; in any thread, since the registry hands out copies and a query's figures are plain values."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        node: Callable[[], NodeState],
        may_view: Callable[[Session | None, Session], bool] = lambda _session, _owner: True,
        check_kill: Callable[[Session, Session], None] = lambda _session, _owner: None,
        others: OtherCoordinators | None = None,
    ) -> None:
        """``may_view``: whether a session's statements may see a query of another session.

        ``check_kill`` raises when they may not end it. ``others``: where there are several.
        """
        self._others = others
        self._check_kill = check_kill
        self._dispatcher = dispatcher
        self._node = node
        self._may_view = may_view

    def node(self) -> NodeState:
        return self._node()

    def nodes(self) -> Sequence[NodeState]:
        return [self._node(), *(() if self._others is None else self._others.others())]

    def queries(self) -> Sequence[QueryState]:
        """Every remembered query that the statement at work may see, on all coordinators, oldest first."""
        session, node = current_session(), self._node().node_id
        registry = self._dispatcher.registry
        mine = [state_of(query, node) for query in registry if self._may_view(session, query.session)]
        if self._others is None or session is None:
            return mine
        return sorted((*mine, *self._others.queries(session)), key=lambda query: query.created)

    def kill(self, session: Session, query_id: str, message: str) -> bool | None:
        """Implements ``RuntimeState.kill``."""
        query = self._dispatcher.registry.get(query_id)
        if query is None:
            return None if self._others is None else self._others.kill(session, query_id, message)
        if not self._may_view(session, query.session):
            return None
        self._check_kill(session, query.session)
        if query.state.done:
            return False

        def end() -> None:
            query.fail(killed(message))

        query.call_on_loop(end)
        return True


def state_of(query: Query, node_id: str) -> QueryState:
    """A query of the coordinator ``node_id`` now."""
    stats = statement_stats(query)
    timeline = query.timeline.seconds()
    return QueryState(
        query_id=query.id,
        node_id=node_id,
        state=query.state.value,
        user=query.session.user,
        source=query.session.source,
        text=query.shown_text,
        resource_group=query.resource_group,
        queued_seconds=queued_seconds(query),
        analysis_seconds=sum(timeline.get(verb, 0.0) for verb in ("parse", "analyze")),
        created=query.created,
        started=_started(query),
        last_access=query.last_access_time,
        ended=query.ended,
        transaction_id=query.session.transaction_id,
        splits=(stats.totalSplits, stats.queuedSplits, stats.runningSplits, stats.completedSplits),
        output_rows=query.output_rows,
        output_bytes=query.output_bytes,
        processed_rows=stats.processedRows,
    )


def _started(query: Query) -> datetime | None:
    """When it left the queue."""
    if not query.entered(State.DISPATCHING):
        return None
    waited = query.seconds_between(State.WAITING_FOR_PREREQUISITES, (State.DISPATCHING,))
    return query.created + timedelta(seconds=waited)
