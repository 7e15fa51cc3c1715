"""Commits of ours that are under way: which metadata file each writes, recorded before that file exists.

The catalog names it in a second step; a coordinator that is killed in between leaves it to the next start.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

_LOG = logging.getLogger(__name__)
_METADATA = sa.MetaData()
_COMMITS = sa.Table(
    "open_commits",
    _METADATA,
    sa.Column("location", sa.String, primary_key=True),
    sa.Column("catalog", sa.String, nullable=False),
    sa.Column("schema_name", sa.String, nullable=False),
    sa.Column("table_name", sa.String, nullable=False),
    sa.Column("base", sa.String, nullable=False),
)


@dataclass(frozen=True, slots=True)
class OpenCommit:
    """``location`` is the metadata file that is written, ``base`` the one that it takes the place of."""

    location: str
    schema: str
    table: str
    base: str


class OpenCommits:
    """The record of one catalog, in the file of its journal; thread-safe, each write durable on return."""

    def __init__(self, catalog: str, file: Path) -> None:
        self._catalog = catalog
        self._file = file
        self._engine: sa.Engine | None = None
        self._lock = threading.Lock()

    def begun(self, table: tuple[str, ...], location: str, base: str) -> None:
        """Implements ``CommitRecord``."""
        row = {
            "location": location,
            "catalog": self._catalog,
            "schema_name": ".".join(table[:-1]),
            "table_name": table[-1],
            "base": base,
        }
        with self._open().begin() as connection:
            connection.execute(sa.insert(_COMMITS).values(**row))

    def over(self, location: str) -> None:
        """Implements ``CommitRecord``: what cannot be forgotten now is looked at again at the next start."""
        try:
            self._forget(location)
        except sa.exc.SQLAlchemyError as error:
            _LOG.warning("The record of the commit of %s stays open: %s", location, error)

    def _forget(self, location: str) -> None:
        with self._open().begin() as connection:
            connection.execute(sa.delete(_COMMITS).where(_COMMITS.c.location == location))

    def open_entries(self) -> list[OpenCommit]:
        """Empty when nothing was ever recorded."""
        if not self._file.exists():
            return []
        with self._open().connect() as connection:
            rows = connection.execute(sa.select(_COMMITS).where(_COMMITS.c.catalog == self._catalog)).mappings().all()
        return [OpenCommit(r["location"], r["schema_name"], r["table_name"], r["base"]) for r in rows]

    def _open(self) -> sa.Engine:
        with self._lock:
            if self._engine is None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                engine = sa.create_engine(f"sqlite:///{self._file}", poolclass=sa.NullPool)
                with engine.begin() as connection:  # of several that begin, one makes it
                    connection.execute(sa.schema.CreateTable(_COMMITS, if_not_exists=True))
                self._engine = engine
            return self._engine
