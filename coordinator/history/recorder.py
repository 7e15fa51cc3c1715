"""The event listener that writes the history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic

import structlog
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from coordinator.history.rows import Row, completed_row, created_row, procedure_row, started_row, table_rows
from coordinator.history.settings import HistorySettings
from coordinator.history.store import HistoryStore
from shared.spi.event_listener import (
    Event,
    ProcedureProgressEvent,
    QueryCompletedEvent,
    QueryCreatedEvent,
    QueryStartedEvent,
)

_log = structlog.get_logger(__name__)
_FORGETS_EVERY = 600.0
LINGER = 0.5
"""Seconds that events gather: most statements have ended by then and cost one row."""


class HistoryRecorder:
    """Writes batches, each in one transaction; one that fails is tried once more, statement by statement."""

    def __init__(self, store: HistoryStore, settings: HistorySettings, node_id: str) -> None:
        self._store, self._settings, self._node_id = store, settings, node_id
        self._forgets_at = monotonic() + LINGER

    def settle(self, node_id: str, suffix: str = "") -> None:
        """A coordinator has ended: so has what it ran, see the store. Raises SQLAlchemyError."""
        lost = self._store.settle(node_id, suffix)
        if lost:
            _log.warning("statements ran when the coordinator ended", lost=lost, node=node_id)

    def receive(self, events: Sequence[Event]) -> None:
        """Raises SQLAlchemyError where the database takes nothing; a statement that it refuses is lost alone."""
        rows = self._rows(events)
        try:
            self._store.write(*rows)
        except DBAPIError as error:
            if error.connection_invalidated or isinstance(error, OperationalError | InterfaceError):
                self._store.write(*rows)
            else:
                self._write_apart(rows)
        except (ValueError, OverflowError):  # a driver's, of values that the database has no place for
            self._write_apart(rows)
        if monotonic() >= self._forgets_at:
            self._forgets_at = monotonic() + _FORGETS_EVERY
            self._store.forget(datetime.now(UTC) - timedelta(seconds=self._settings.max_age), self._settings.max_size)

    def close(self) -> None:
        self._store.close()

    def _write_apart(self, rows: tuple[list[Row], ...]) -> None:
        for query_id in dict.fromkeys(str(row["query_id"]) for some in rows for row in some):
            own = [[row for row in some if row["query_id"] == query_id] for some in rows]
            try:
                self._store.write(*own)
            except (SQLAlchemyError, ValueError, OverflowError) as error:
                _log.warning("a statement is not in the history", query_id=query_id, problem=repr(error)[:500])

    def _rows(self, events: Sequence[Event]) -> tuple[list[Row], list[Row], list[Row], list[Row]]:
        """The last word of each statement and call; last what is known of statements that have rows already."""
        limit = self._settings.max_text
        queries: dict[str, Row] = {}
        procedures: dict[str, Row] = {}
        tables: list[Row] = []
        begun: dict[str, Row] = {}
        ended = {event.metadata.query_id for event in events if isinstance(event, QueryCompletedEvent)}
        for event in events:
            match event:
                case QueryCreatedEvent() if event.metadata.query_id not in ended:
                    queries[event.metadata.query_id] = created_row(event, limit)
                case QueryStartedEvent(query_id=query_id) if query_id in queries:
                    queries[query_id] |= started_row(event)
                case QueryStartedEvent(query_id=query_id) if query_id not in ended:
                    begun[query_id] = started_row(event)
                case QueryCompletedEvent():
                    queries[event.metadata.query_id] = completed_row(event, limit)
                    tables += table_rows(event)
                case ProcedureProgressEvent():
                    procedures[event.query_id] = procedure_row(event, self._node_id)
                case _:
                    pass
        return list(queries.values()), tables, list(procedures.values()), list(begun.values())
