"""Tables that have no name of their own yet: a record of each, so that a restart can take away what a death left.

Such a table is listed nowhere (its name begins with ``UNFINISHED``); only what this coordinator recorded is touched,
since others may fill tables in the same catalog.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from coordinator.connectors.iceberg.tables.work_records import WorkPlace, WorkRecords, shared_form

_METADATA = sa.MetaData()
_TABLES = sa.Table(
    "unfinished_tables",
    _METADATA,
    sa.Column("catalog", sa.String, primary_key=True),
    sa.Column("schema_name", sa.String, primary_key=True),
    sa.Column("table_name", sa.String, primary_key=True),
    sa.Column("shown_name", sa.String, nullable=False),
    sa.Column("location", sa.String),
    sa.Column("begun_at", sa.String, nullable=False),
)
shared_form(_TABLES)
_OWN_FOLDER = re.compile(r"(-[0-9a-f]{32}|/procession_unfinished_[^/]+)/?$")
"""As this catalog names folders, and as a REST server does after the name that a table has until it is complete."""


@dataclass(frozen=True, slots=True)
class UnfinishedTable:
    """``name`` is the hidden one, ``shown`` the one that it was to get; ``location`` None where the server chose."""

    schema: str
    name: str
    shown: str
    location: str | None


class UnfinishedTables:
    """The record of one catalog; thread-safe, each write durable on return."""

    def __init__(self, place: WorkPlace) -> None:
        self.records = WorkRecords(place, _TABLES)
        self._catalog = place.catalog

    def begin(self, table: UnfinishedTable) -> None:
        """Before anything of the table exists."""
        row = {
            "catalog": self._catalog,
            "schema_name": table.schema,
            "table_name": table.name,
            "shown_name": table.shown,
            "location": table.location,
            "begun_at": datetime.now(UTC).isoformat(),
        }
        self.records.add(row)

    def check(self, schema: str, name: str) -> None:
        """Raises TakenOverError when another coordinator has it, and takes the table away."""
        self.records.check(self.key(schema, name))

    def close(self, schema: str, name: str) -> None:
        """After the table got its name, or was taken away with all that it had."""
        self.records.settle(self.key(schema, name))

    def open_entries(self) -> list[UnfinishedTable]:
        """Oldest first; empty when nothing was ever recorded."""
        rows = self.records.open_rows("begun_at")
        return [UnfinishedTable(r["schema_name"], r["table_name"], r["shown_name"], r["location"]) for r in rows]

    def key(self, schema: str, name: str) -> dict[str, str]:
        """Of its record."""
        return {"catalog": self._catalog, "schema_name": schema, "table_name": name}


def is_own_folder(location: str) -> bool:
    """Whether the folder was made for one table alone, so that all in it may go."""
    return _OWN_FOLDER.search(location) is not None
