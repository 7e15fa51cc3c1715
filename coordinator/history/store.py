"""The database of the history: opening it, writing batches, forgetting what is old, settling what a crash left open."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Table, bindparam, create_engine, delete, event, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from coordinator.history.rows import Row, micros
from coordinator.history.schema import PROCEDURES, QUERIES, TABLES, migrate_history
from coordinator.values.migrations import NewerSchemaError
from coordinator.values.storable_texts import keep_storable
from shared.errors import ErrorCode
from shared.properties import ConfigurationError

_CONNECTION = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Of PostgreSQL: a server that is not there any more is given up."""
_FORGOTTEN_AT_ONCE = 500
LOST = "The coordinator ended while the statement ran"


def postgres_address(url: str) -> str:
    """Of ``state.url``."""
    return "postgresql+psycopg2:" + url.removeprefix("postgresql:")


def sqlite_address(file: Path) -> str:
    return f"sqlite:///{file}"


class HistoryStore:
    """Owns its connections; ``write`` and ``forget`` are called on one thread, reading is done on any."""

    def __init__(self, address: str) -> None:
        """Opens it and brings it up to date. Raises ConfigurationError."""
        self.engine = _engine(address)
        try:
            migrate_history(self.engine)
        except (SQLAlchemyError, NewerSchemaError) as error:
            self.engine.dispose()
            reason = getattr(error, "orig", None) or error
            shown = self.engine.url.render_as_string(hide_password=True)
            raise ConfigurationError(f"the history cannot be opened ({shown}): {reason}") from error
        self._postgres = self.engine.dialect.name == "postgresql"
        self._writes = {table.name: self._replacing(table) for table in (QUERIES, TABLES, PROCEDURES)}
        self._lock = threading.Lock()

    def write(
        self, queries: Sequence[Row], tables: Sequence[Row], procedures: Sequence[Row], begun: Sequence[Row] = ()
    ) -> None:
        """All of it or nothing; a row that is known is replaced. ``begun`` says more of statements that run."""
        with self._lock, self.engine.begin() as connection:
            for table, rows in ((QUERIES, queries), (TABLES, tables), (PROCEDURES, procedures)):
                if rows:
                    sql, names = self._writes[table.name]
                    values = rows if names is None else [tuple(row[name] for name in names) for row in rows]
                    connection.exec_driver_sql(sql, values)
            if begun:
                running = (QUERIES.c.query_id == bindparam("of")) & QUERIES.c.ended.is_(None)
                connection.execute(update(QUERIES).where(running), [{**row, "of": row["query_id"]} for row in begun])

    def settle(self, node_id: str, suffix: str = "") -> int:
        """End what ran when the coordinator of this name ended; how many statements.

        With ``suffix`` only what it ran during the start whose query ids end so.
        """
        code, now = ErrorCode.SERVER_SHUTTING_DOWN, micros(datetime.now(UTC))
        lost = {
            "state": "FAILED",
            "ended": now,
            "error_code": code.code,
            "error_name": code.name,
            "error_type": code.type,
            "error_message": LOST,
        }
        with self._lock, self.engine.begin() as connection:
            open_queries, open_calls = (
                (table.c.node_id == node_id) & table.c.ended.is_(None) & table.c.query_id.endswith(suffix)
                for table in (QUERIES, PROCEDURES)
            )
            found = connection.execute(update(QUERIES).where(open_queries).values(lost)).rowcount
            connection.execute(update(PROCEDURES).where(open_calls).values(state="LOST", ended=now, error=LOST))
        return int(found)

    def forget(self, before: datetime, max_size: int) -> int:
        """Remove statements that began before a moment, and the oldest while all are larger than ``max_size``."""
        removed, excess = 0, self.size() - max_size
        while some := self._oldest(micros(before), excess):
            excess -= sum(some.values())
            with self._lock, self.engine.begin() as connection:
                for table in (QUERIES, TABLES, PROCEDURES):
                    connection.execute(delete(table).where(table.c.query_id.in_(some)))
            removed += len(some)
        if removed and not self._postgres:
            with self._lock, self.engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA incremental_vacuum")
        return removed

    def size(self) -> int:
        """Bytes of all statements, about."""
        with self.engine.connect() as connection:
            return int(connection.execute(select(func.coalesce(func.sum(QUERIES.c.size), 0))).scalar_one())

    def close(self) -> None:
        self.engine.dispose()

    def _oldest(self, before: int | None, excess: int) -> dict[str, int]:
        """Some of those to remove, with their sizes; ended ones only."""
        oldest = select(QUERIES.c.query_id, QUERIES.c.created, QUERIES.c.size).where(QUERIES.c.ended.is_not(None))
        oldest = oldest.order_by(QUERIES.c.created, QUERIES.c.query_id).limit(_FORGOTTEN_AT_ONCE)
        with self.engine.connect() as connection:
            found = connection.execute(oldest).all()
        chosen: dict[str, int] = {}
        for query_id, created, size in found:
            if excess <= 0 and (before is None or created >= before):
                break
            excess -= size
            chosen[query_id] = size
        return chosen

    def _replacing(self, table: Table) -> tuple[str, Sequence[str] | None]:
        """The text in the driver's own form, and the order of its values if they go by position.

        Given to the driver as it is, since a row of fifty columns costs twice as much through SQLAlchemy.
        """
        keys = [column.name for column in table.primary_key]
        if self._postgres:
            made: Any = postgresql.insert(table)
        else:
            made = sqlite.insert(table)
        values = {c.name: made.excluded[c.name] for c in table.columns if c.name not in keys}
        whole = made.on_conflict_do_update(index_elements=keys, set_=values)
        compiled = whole.compile(dialect=self.engine.dialect)
        return str(compiled), compiled.positiontup if compiled.positional else None


def _engine(address: str) -> Engine:
    if not address.startswith("sqlite:"):
        engine = create_engine(address, pool_pre_ping=True, connect_args=_CONNECTION)
        keep_storable(engine)
        return engine
    Path(address.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(address, connect_args={"timeout": 30.0})
    keep_storable(engine)

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _record: object) -> None:
        # Before the first table is made; afterwards it changes nothing.
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        # The last moments may be lost with the machine, never with the process.
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")

    return engine
