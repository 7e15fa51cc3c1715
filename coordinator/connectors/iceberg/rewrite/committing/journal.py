"""A durable record of every rewrite: written before each effect, so that a restart can finish or undo the call."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import sqlalchemy as sa

State = Literal["BEGUN", "COMMITTING", "COMMITTED", "ABORTED"]
"""BEGUN: tasks may be writing. COMMITTING: a commit was sent and may have landed. The other two are final."""

_METADATA = sa.MetaData()
_CALLS = sa.Table(
    "rewrite_calls",
    _METADATA,
    sa.Column("call_id", sa.String, primary_key=True),
    sa.Column("catalog", sa.String, nullable=False),
    sa.Column("schema_name", sa.String, nullable=False),
    sa.Column("table_name", sa.String, nullable=False),
    sa.Column("query_id", sa.String, nullable=False),
    sa.Column("base_snapshot_id", sa.BigInteger, nullable=False),
    sa.Column("directories", sa.String, nullable=False),
    sa.Column("metadata_directory", sa.String, nullable=False),
    sa.Column("begun_at", sa.String, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("files", sa.String, nullable=False, server_default="[]"),
)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One call. ``directories`` hold every file that its tasks may write; their names carry ``call_id``.

    ``files`` are the data files that its commit adds, known from COMMITTING on.
    """

    call_id: str
    catalog: str
    schema: str
    table: str
    query_id: str
    base_snapshot_id: int
    directories: tuple[str, ...]
    metadata_directory: str
    begun_at: datetime
    state: State = "BEGUN"
    files: tuple[str, ...] = ()


class Journal:
    """The journal of one catalog in an SQLite file; made on first use, thread-safe, each write durable on return."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._engine: sa.Engine | None = None
        self._lock = threading.Lock()

    def begin(self, entry: JournalEntry) -> None:
        """Record the intent, before any file of the call exists."""
        row = {
            "call_id": entry.call_id,
            "catalog": entry.catalog,
            "schema_name": entry.schema,
            "table_name": entry.table,
            "query_id": entry.query_id,
            "base_snapshot_id": entry.base_snapshot_id,
            "directories": json.dumps(entry.directories),
            "metadata_directory": entry.metadata_directory,
            "begun_at": entry.begun_at.isoformat(),
            "state": entry.state,
        }
        with self._open().begin() as connection:
            connection.execute(sa.insert(_CALLS).values(**row))

    def extended(self, call_id: str, directories: Sequence[str]) -> None:
        """Record all directories of a call, before a file is written to a new one."""
        self._update(call_id, directories=json.dumps(list(directories)))

    def committing(self, call_id: str, files: Sequence[str]) -> None:
        """Record the files that are about to be committed, before the commit is sent."""
        self._update(call_id, state="COMMITTING", files=json.dumps(list(files)))

    def close(self, call_id: str, state: Literal["COMMITTED", "ABORTED"]) -> None:
        """Record the outcome, after the call's last effect."""
        self._update(call_id, state=state)

    def open_entries(self, catalog: str) -> list[JournalEntry]:
        """Calls without an outcome, oldest first; empty when the journal was never written."""
        if not self.file.exists():
            return []
        unfinished = _CALLS.c.state.in_(("BEGUN", "COMMITTING"))
        statement = sa.select(_CALLS).where(_CALLS.c.catalog == catalog, unfinished).order_by(_CALLS.c.begun_at)
        with self._open().connect() as connection:
            return [_entry(row) for row in connection.execute(statement)]

    def entry(self, call_id: str) -> JournalEntry | None:
        """One call, finished or not."""
        with self._open().connect() as connection:
            row = connection.execute(sa.select(_CALLS).where(_CALLS.c.call_id == call_id)).one_or_none()
            return None if row is None else _entry(row)

    def _update(self, call_id: str, **values: str) -> None:
        with self._open().begin() as connection:
            connection.execute(sa.update(_CALLS).where(_CALLS.c.call_id == call_id).values(**values))

    def _open(self) -> sa.Engine:
        with self._lock:
            if self._engine is None:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                self._engine = sa.create_engine(f"sqlite:///{self.file}", poolclass=sa.NullPool)
                _METADATA.create_all(self._engine)
            return self._engine


def _entry(row: sa.Row[tuple[object, ...]]) -> JournalEntry:
    fields = row._mapping
    return JournalEntry(
        call_id=fields["call_id"],
        catalog=fields["catalog"],
        schema=fields["schema_name"],
        table=fields["table_name"],
        query_id=fields["query_id"],
        base_snapshot_id=fields["base_snapshot_id"],
        directories=tuple(json.loads(fields["directories"])),
        metadata_directory=fields["metadata_directory"],
        begun_at=datetime.fromisoformat(fields["begun_at"]),
        state=fields["state"],
        files=tuple(json.loads(fields["files"])),
    )
