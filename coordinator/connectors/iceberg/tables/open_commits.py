"""Commits of ours that are under way: which metadata file each writes, recorded before that file exists.

The catalog names it in a second step; a coordinator that is killed in between leaves it to the next start.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa

from coordinator.connectors.iceberg.tables.unfinished import is_own_folder
from coordinator.connectors.iceberg.tables.work_records import WorkPlace, WorkRecords, shared_form

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
shared_form(_COMMITS)


@dataclass(frozen=True, slots=True)
class OpenCommit:
    """``location`` is the metadata file that is written, ``base`` the one that it takes the place of.

    Empty for the first one of a table, in a folder that a user chose.
    """

    location: str
    schema: str
    table: str
    base: str


class OpenCommits:
    """The record of one catalog; thread-safe, each write durable on return."""

    def __init__(self, place: WorkPlace) -> None:
        self.records = WorkRecords(place, _COMMITS)
        self.check_call: Callable[[str], None] = lambda _call_id: None
        """Raises when the call of an id, which is about to commit, is another coordinator's by now."""
        self.unsettled: Callable[[OpenCommit], None] = lambda _commit: None
        """Told of a commit of which nobody knows whether it landed."""
        self._catalog = place.catalog
        self._under_way: dict[str, OpenCommit] = {}
        self._here = threading.local()

    def begun(self, table: tuple[str, ...], location: str, base: str) -> bool:
        """Implements ``CommitRecord``: what is below a folder made for one table goes with that."""
        if not base and is_own_folder(location.rpartition("/metadata/")[0]):
            return False
        row = {
            "location": location,
            "catalog": self._catalog,
            "schema_name": ".".join(table[:-1]),
            "table_name": table[-1],
            "base": base,
        }
        self.records.add(row)
        self._under_way[location] = OpenCommit(location, row["schema_name"], row["table_name"], base)
        return True

    def unknown(self, location: str) -> None:
        """Implements ``CommitRecord``: a table's first file is for the next start."""
        commit = self._under_way.pop(location, None)
        if commit is not None and commit.base and not getattr(self._here, "settles", False):
            self.unsettled(commit)

    @contextmanager
    def settling(self) -> Iterator[None]:
        """Around a commit of this thread that settles others: what it leaves itself is for the next start alone."""
        self._here.settles = True
        try:
            yield
        finally:
            self._here.settles = False

    def is_mine(self, location: str) -> bool:
        """Whether no other coordinator has it, or has settled it. Raises NotCommittedError where that is unknown."""
        return self.records.is_mine({"location": location})

    def check(self, location: str | None, calls: Collection[str]) -> None:
        """Implements ``CommitRecord``."""
        if location is not None:
            self.records.check({"location": location})
        for call_id in calls:
            self.check_call(call_id)

    def over(self, location: str) -> None:
        """Implements ``CommitRecord``: what cannot be forgotten now is looked at again at the next start."""
        self._under_way.pop(location, None)
        try:
            self.records.settle({"location": location})
        except sa.exc.SQLAlchemyError as error:
            _LOG.warning("The record of the commit of %s stays open: %s", location, error)

    def open_entries(self) -> list[OpenCommit]:
        """Empty when nothing was ever recorded."""
        rows = self.records.open_rows()
        return [OpenCommit(r["location"], r["schema_name"], r["table_name"], r["base"]) for r in rows]
