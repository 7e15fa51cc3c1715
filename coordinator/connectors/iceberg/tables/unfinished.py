"""Tables that have no name of their own yet: a record of each, so that a restart can take away what a death left.

Such a table is listed nowhere (its name begins with ``UNFINISHED``); only what this coordinator recorded is touched,
since others may fill tables in the same catalog.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

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
_OWN_FOLDER = re.compile(r"-[0-9a-f]{32}/?$")


@dataclass(frozen=True, slots=True)
class UnfinishedTable:
    """``name`` is the hidden one, ``shown`` the one that it was to get; ``location`` None where the server chose."""

    schema: str
    name: str
    shown: str
    location: str | None


class UnfinishedTables:
    """The record of one catalog, in the file of its journal; thread-safe, each write durable on return."""

    def __init__(self, catalog: str, file: Path) -> None:
        self._catalog = catalog
        self._file = file
        self._engine: sa.Engine | None = None
        self._lock = threading.Lock()

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
        with self._open().begin() as connection:
            connection.execute(sa.insert(_TABLES).values(**row))

    def close(self, schema: str, name: str) -> None:
        """After the table got its name, or was taken away with all that it had."""
        its_row = (_TABLES.c.catalog == self._catalog, _TABLES.c.schema_name == schema, _TABLES.c.table_name == name)
        with self._open().begin() as connection:
            connection.execute(sa.delete(_TABLES).where(*its_row))

    def open_entries(self) -> list[UnfinishedTable]:
        """Oldest first; empty when nothing was ever recorded."""
        if not self._file.exists():
            return []
        wanted = sa.select(_TABLES).where(_TABLES.c.catalog == self._catalog).order_by(_TABLES.c.begun_at)
        with self._open().connect() as connection:
            rows = connection.execute(wanted).mappings().all()
        return [UnfinishedTable(r["schema_name"], r["table_name"], r["shown_name"], r["location"]) for r in rows]

    def _open(self) -> sa.Engine:
        with self._lock:
            if self._engine is None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._engine = sa.create_engine(f"sqlite:///{self._file}", poolclass=sa.NullPool)
                _METADATA.create_all(self._engine)
            return self._engine


def is_own_folder(location: str) -> bool:
    """Whether the folder was made for one table alone, so that all in it may go."""
    return _OWN_FOLDER.search(location) is not None
