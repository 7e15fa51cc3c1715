"""Who is told of events in this service: the history, and the listeners of the configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import structlog

from coordinator.config import CoordinatorConfig
from coordinator.connectors.system.history import Exact, Record
from coordinator.events.bus import EventBus, NamedListener
from coordinator.events.load import load_listeners
from coordinator.events.tracing import tracing_listener
from coordinator.history.reader import HistoryFilter, HistoryReader
from coordinator.history.recorder import LINGER, HistoryRecorder
from coordinator.history.store import HistoryStore, postgres_address, sqlite_address
from coordinator.security.current_session import current_session
from coordinator.values.database_files import set_aside_if_damaged
from shared.errors import ProcessionError
from shared.spi.access_control import Identity, SystemAccessControl, identity_of_session
from shared.spi.event_listener import Event, ListenerContext, ProcedureProgressEvent
from shared.spi.jobs import Job

_log = structlog.get_logger("coordinator")


def _nothing_to_settle(_node_id: str, _suffix: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class EventDelivery:
    """``history`` is None where none is kept."""

    bus: EventBus
    service: ListenerContext
    history: HistoryReader | None
    anyone: bool
    each_creation: bool
    """Whether somebody beside the history hears of statements that begin."""
    settle: Callable[[str, str], None] = _nothing_to_settle
    """Called with the ``node.id`` of a coordinator that has ended, and the end of the ids of what it ran."""

    def job(self, job: Job) -> None:
        """A procedure call begins, goes on or has ended."""
        self.bus.publish(partial(_progress, job))


def load_event_delivery(config: CoordinatorConfig, service: ListenerContext) -> EventDelivery:
    """Opens the history, makes the listeners; nothing is delivered before the bus starts. Raises ConfigurationError."""
    listeners = list(load_listeners(config.event_listeners, service, config.events.max_queued))
    if config.tracing.enabled:
        listeners.append(
            NamedListener("tracing", tracing_listener(config.tracing, service), 1.0, config.events.max_queued)
        )
    reader: HistoryReader | None = None
    settle: Callable[[str, str], None] = _nothing_to_settle
    if config.history.enabled:
        store = HistoryStore(_history_address(config, service))
        reader = HistoryReader(store.engine)
        recorder = HistoryRecorder(store, config.history, service.node_id)
        if config.cluster.state_url is None:
            recorder.settle(service.node_id)
        else:
            settle = recorder.settle
        listeners.insert(0, NamedListener("history", recorder, LINGER, config.history.max_queued, starts=True))
    inlet = max(config.events.max_queued, config.history.max_queued)
    others = bool(config.event_listeners)
    return EventDelivery(EventBus(listeners, inlet), service, reader, bool(listeners), others, settle)


def _history_address(config: CoordinatorConfig, service: ListenerContext) -> str:
    """In the database that coordinators share, or in a file of the only one."""
    if config.cluster.state_url is not None:
        return postgres_address(config.cluster.state_url)
    file = service.data_dir / "history.db"
    set_aside_if_damaged(file, "history")
    return sqlite_address(file)


def _progress(job: Job) -> Event:
    return ProcedureProgressEvent(
        time=datetime.now(UTC),
        query_id=job.job_id,
        user=job.user,
        procedure=job.procedure,
        table=job.table,
        state=job.state,
        started=job.started,
        ended=job.ended,
        phase=job.phase,
        completed=job.completed,
        total=job.total,
        error=job.error,
    )


class HistoryView:
    """Implements ``HistoryTables``: what the statement at work may see."""

    def __init__(self, reader: HistoryReader, control: SystemAccessControl) -> None:
        self._reader, self._control = reader, control

    def queries(self, exact: Exact) -> Iterable[Record]:
        return self._reader.records(_filter(exact), self._visible())

    def tables(self, exact: Exact) -> Iterable[Record]:
        table = _only(exact, "table")
        named = None if table is None or "." in table else table
        wanted = HistoryFilter(user=_only(exact, "user"), query_ids=exact.get("query_id"), table=named)
        return self._reader.tables(wanted, self._visible())

    def plans(self, exact: Exact) -> Iterator[dict[str, object]]:
        visible = self._visible()
        for record in self._reader.records(HistoryFilter(query_ids=exact.get("query_id")), visible):
            whole = self._reader.one(record["query_id"], visible)
            if whole is not None and whole["plan"] is not None:
                yield whole

    def procedures(self) -> Iterable[Record]:
        return self._reader.procedures(self._visible())

    def _visible(self) -> Callable[[Identity], bool]:
        session = current_session()
        if session is None:
            return lambda _owner: True
        return partial(may_see_queries_of, self._control, identity_of_session(session))


def may_see_queries_of(control: SystemAccessControl, identity: Identity, owner: Identity) -> bool:
    """Whether ``identity`` sees what ``owner`` ran."""
    try:
        control.check_can_view_query_owned_by(identity, owner)
    except ProcessionError:
        return False
    return True


def _filter(exact: Exact) -> HistoryFilter:
    return HistoryFilter(
        state=_only(exact, "state"),
        user=_only(exact, "user"),
        source=_only(exact, "source"),
        engine=_only(exact, "engine"),
        query_type=_only(exact, "query_type"),
        error=_only(exact, "error_name"),
        trace_id=_only(exact, "trace_id"),
        query_ids=exact.get("query_id"),
    )


def _only(exact: Exact, column: str) -> str | None:
    values = exact.get(column)
    return str(next(iter(values))) if values is not None and len(values) == 1 else None
