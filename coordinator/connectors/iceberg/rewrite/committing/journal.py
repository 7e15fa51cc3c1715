"""A durable record of every rewrite: written before each effect, so that a restart can finish or undo the call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

import sqlalchemy as sa

from coordinator.connectors.iceberg.tables.work_records import Row, WorkPlace, WorkRecords, shared_form

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
shared_form(_CALLS)


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
    """The journal of one catalog; thread-safe, each write durable on return."""

    def __init__(self, place: WorkPlace) -> None:
        self.records = WorkRecords(place, _CALLS, lambda table: table.c.state.in_(("BEGUN", "COMMITTING")))
        self._catalog = place.catalog

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
        self.records.add(row)

    def extended(self, call_id: str, directories: Sequence[str]) -> None:
        """Record all directories of a call, before a file is written to a new one. Raises TakenOverError."""
        self.records.change({"call_id": call_id}, {"directories": json.dumps(list(directories))})

    def committing(self, call_id: str, files: Sequence[str]) -> None:
        """Record the files that are about to be committed, before the commit is sent. Raises TakenOverError."""
        self.records.change({"call_id": call_id}, {"state": "COMMITTING", "files": json.dumps(list(files))})

    def check(self, call_id: str) -> None:
        """Raises TakenOverError when another coordinator has the call, and undoes or finishes it."""
        self.records.check({"call_id": call_id})

    def close(self, call_id: str, state: Literal["COMMITTED", "ABORTED"]) -> None:
        """Record the outcome, after the call's last effect."""
        self.records.settle({"call_id": call_id}, {"state": state})

    def open_entries(self, catalog: str) -> list[JournalEntry]:
        """Calls without an outcome, oldest first; empty when the journal was never written."""
        return [_entry(row) for row in self.records.open_rows("begun_at") if row["catalog"] == catalog]

    def entry(self, call_id: str) -> JournalEntry | None:
        """One call, finished or not."""
        row = self.records.row({"call_id": call_id})
        return None if row is None else _entry(row)

    def settled_by_another(self, call_id: str) -> State | None:
        """The state of a call that another coordinator took over; None for one of this coordinator's own."""
        row = self.records.taken_over({"call_id": call_id})
        return None if row is None else cast(State, row["state"])


def _entry(fields: Row) -> JournalEntry:
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
