"""What became of a call, and removing exactly what it wrote: after a failure, and after a coordinator's death."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, timedelta
from functools import partial
from typing import Literal

from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.maintenance.shared_folders import tables_near
from coordinator.connectors.iceberg.maintenance.unfinished_expiry import finish_later
from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.paths import normalize
from coordinator.connectors.iceberg.rewrite.committing.fencing import refuse_late
from coordinator.connectors.iceberg.rewrite.committing.journal import Journal, JournalEntry
from coordinator.connectors.iceberg.rewrite.committing.landed import (
    landed_snapshot,
    manifest_lists,
    may_live_elsewhere,
    table_of_call,
)
from coordinator.connectors.iceberg.storage import delete_files, list_directory
from coordinator.connectors.iceberg.tables.hidden_tables import remove_unfinished
from coordinator.connectors.iceberg.tables.open_commits import OpenCommit
from coordinator.connectors.iceberg.tables.purge import finish_drop_later
from coordinator.connectors.iceberg.tables.uncommitted_metadata import names, never_landed, with_manifests
from coordinator.connectors.iceberg.tables.unfinished import UnfinishedTable, is_own_folder
from shared.errors import ProcessionError

_LOG = logging.getLogger(__name__)
_WORKERS_GONE_SECONDS = 10.0
_LONGEST_PAUSE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Recovered:
    """What recovery did about one call. ``POSTPONED``: its catalog or storage cannot be reached; tried again later."""

    call_id: str
    schema: str
    table: str
    outcome: Literal["COMMITTED", "ABORTED", "POSTPONED"]
    problem: str = ""

    @property
    def waits(self) -> bool:
        """Whether it is to be tried again; what is postponed without a problem goes on by itself."""
        return self.outcome == "POSTPONED" and self.problem != ""


@dataclass(frozen=True, slots=True)
class _Left:
    """What earlier coordinators left open, as the journal has it before this one begins anything."""

    commits: tuple[OpenCommit, ...]
    calls: tuple[JournalEntry, ...]
    tables: tuple[UnfinishedTable, ...]


def recover(
    catalog: TableCatalog, journal: Journal, end_write: Callable[[str], bool] = lambda _write_id: True
) -> list[Recovered]:
    """Close every open entry of the journal; to be called at start, before any call of this coordinator begins.

    Of a database that several share only what this coordinator took over is open here: that may be done at any time,
    and is to be done again for what is postponed. A coordinator alone does that by itself.
    ``end_write`` tells whether the engine commits nothing any more of a write that an earlier process began.
    """
    outcomes, postponed = _settle_all(catalog, journal, _left(catalog, journal))
    if catalog.work.shared is None:
        _settle_later(catalog, journal, postponed)
    return [*outcomes, *_in_the_background(catalog, end_write)]


def recover_later(catalog: TableCatalog, journal: Journal, end_write: Callable[[str], bool]) -> None:
    """The same at a start at which the catalog is away; returns at once. Coordinators that share do it anyway."""
    if catalog.work.shared is None:
        _settle_later(catalog, journal, _left(catalog, journal))
        _in_the_background(catalog, end_write)


def _in_the_background(catalog: TableCatalog, end_write: Callable[[str], bool]) -> list[Recovered]:
    # Spark's own writes: the Spark that did them may need a moment to end.
    writes = [Recovered(w.id, w.schema, w.table, "POSTPONED") for w in catalog.late_writes.recover(end_write)]
    expiries = catalog.open_expiries.open_entries()
    for expiry in expiries:
        finish_later(catalog, expiry)  # many manifests may have to be read
    drops = catalog.open_drops.open_entries()
    for drop in drops:
        finish_drop_later(catalog, drop)
    named = [(e.id, e.schema, e.table) for e in expiries] + [(d.id, d.schema, d.table) for d in drops]
    return [*writes, *(Recovered(*each, "POSTPONED") for each in named)]


def _left(catalog: TableCatalog, journal: Journal) -> _Left:
    unfinished = (e for e in catalog.unfinished.open_entries() if not catalog.late_files.watches(e.schema, e.name))
    calls = journal.open_entries(catalog.settings.catalog)
    return _Left(tuple(catalog.open_commits.open_entries()), tuple(calls), tuple(unfinished))


def _settle_all(catalog: TableCatalog, journal: Journal, left: _Left) -> tuple[list[Recovered], _Left]:
    """What became of each, and what has to wait."""
    # First: from then on, no commit of a coordinator that was only suspended can land.
    may_be_sent = catalog.work.shared is not None
    commits = [recover_commit(catalog, commit, may_be_sent=may_be_sent) for commit in left.commits]
    waiting = {_folded(each) for each in commits if each.outcome == "POSTPONED"}
    calls = [_recover(catalog, journal, entry, waiting) for entry in left.calls]
    tables = [_remove(catalog, entry) for entry in left.tables]
    postponed = _Left(
        tuple(entry for entry, found in zip(left.commits, commits, strict=True) if found.waits),
        tuple(entry for entry, found in zip(left.calls, calls, strict=True) if found.waits),
        tuple(entry for entry, found in zip(left.tables, tables, strict=True) if found.waits),
    )
    return [*calls, *tables, *commits], postponed


def _settle_later(catalog: TableCatalog, journal: Journal, left: _Left, pause: float = 10.0) -> None:
    """Again and again while catalog or storage cannot be reached; returns at once."""
    if left.commits or left.calls or left.tables:
        again = partial(_settle_again, catalog, journal, left, pause)
        catalog.background.later(min(pause, _LONGEST_PAUSE_SECONDS), "unsettled-work", again)


def _settle_again(catalog: TableCatalog, journal: Journal, left: _Left, pause: float) -> None:
    try:
        outcomes, left = _settle_all(catalog, journal, left)
        for each in outcomes:
            if not each.waits:
                _LOG.warning("What an earlier start left open is settled: %s", each)
    except Exception as error:  # the journal's own file, or what nobody expects of a storage that is away
        _LOG.warning("%s: what an earlier start left open waits: %s", catalog.settings.catalog, error)
    _settle_later(catalog, journal, left, 2 * pause)


def recover_commit(catalog: TableCatalog, commit: OpenCommit, *, may_be_sent: bool) -> Recovered:
    """The metadata file of a commit that was killed before the catalog named it goes, with what it alone names.

    ``may_be_sent``: it is made one that the catalog refuses first.
    """
    outcome: Literal["COMMITTED", "ABORTED"] = "COMMITTED"
    try:
        with mapped(f"{commit.schema}.{commit.table}"):
            table = catalog.load(commit.schema, commit.table)
            if not commit.base:
                if not _is_named(catalog, commit, table):
                    delete_files(catalog.file_io(commit.location), [commit.location])
                    outcome = "ABORTED"
            elif table is not None and never_landed(table, commit.location, commit.base):
                if may_be_sent and not _bar(catalog, commit):
                    return recover_commit(catalog, commit, may_be_sent=may_be_sent)
                delete_files(table.io, with_manifests(table, commit.location, commit.base))
                outcome = "ABORTED"
    except ProcessionError as error:
        return Recovered(commit.location, commit.schema, commit.table, "POSTPONED", error.message)
    catalog.open_commits.over(commit.location)
    return Recovered(commit.location, commit.schema, commit.table, outcome)


def _is_named(catalog: TableCatalog, commit: OpenCommit, table: Table | None) -> bool:
    """Whether a table has the file as its first one, under the name that it was made for or another.

    In a folder that a user chose there may be files of anybody's beside it.
    """
    near = tables_near(catalog, [commit.location.rpartition("/")[0]])
    found = (table, *(catalog.load(*name) for name in near))
    return any(one is not None and names(one, commit.location) for one in found)


def _bar(catalog: TableCatalog, commit: OpenCommit) -> bool:
    """Make what the commit is based on an old version, so that it is refused if it is sent yet; False: it landed.

    Whoever began it may only have been suspended. Catalogs that write metadata compare versions as they take a new one.
    """
    table = catalog.open(commit.schema, commit.table)
    if table.metadata_location == commit.base:
        with catalog.open_commits.settling():
            refuse_late(table, commit.location.rpartition("/")[2])
    return never_landed(catalog.open(commit.schema, commit.table), commit.location, commit.base)


def _remove(catalog: TableCatalog, entry: UnfinishedTable) -> Recovered:
    """A table that was being filled goes; one that got its name in the last moment stays."""
    try:
        with mapped(f"{entry.schema}.{entry.shown}"):
            if catalog.load(entry.schema, entry.name) is None:
                return _never_made_or_named(catalog, entry)
            removed = remove_unfinished(catalog, entry.schema, entry.name)
    except ProcessionError as error:
        return Recovered(entry.name, entry.schema, entry.shown, "POSTPONED", error.message)
    return Recovered(entry.name, entry.schema, entry.shown, "ABORTED" if removed else "POSTPONED")


def _never_made_or_named(catalog: TableCatalog, entry: UnfinishedTable) -> Recovered:
    shown = catalog.load(entry.schema, entry.shown)
    named = shown is not None and shown.location() == entry.location
    if not named and entry.location is not None and is_own_folder(entry.location):
        io = catalog.file_io(entry.location)
        if _is_nobodys(io, entry.location):
            catalog.late_files.remove(io, entry.schema, entry.name, entry.location)
            return Recovered(entry.name, entry.schema, entry.shown, "ABORTED")
    catalog.unfinished.close(entry.schema, entry.name)
    return Recovered(entry.name, entry.schema, entry.shown, "COMMITTED" if named else "ABORTED")


def _is_nobodys(io: FileIO, location: str) -> bool:
    """More than a first metadata file is a table that someone else may have renamed meanwhile."""
    known = [file.location for file in list_directory(io, f"{location}/metadata")]
    metadata = [file for file in known if file.endswith(".metadata.json")]
    return not metadata or (len(known) == 1 and "/metadata/00000-" in metadata[0])


def _recover(
    catalog: TableCatalog, journal: Journal, entry: JournalEntry, waiting: Collection[tuple[str, str]]
) -> Recovered:
    def postponed(problem: str) -> Recovered:
        return Recovered(entry.call_id, entry.schema, entry.table, "POSTPONED", problem)

    if _folded(entry) in waiting:
        return postponed("a commit to the table is not settled yet")
    over = _workers_gone(catalog, entry)
    try:
        with mapped(f"{entry.schema}.{entry.table}"):
            landed = settle(catalog, entry, may_land=_may_land(catalog, entry), has_waited=over)
    except ProcessionError as error:
        return postponed(error.message)
    if landed is None:
        return postponed("its commit may be under way")
    if not over:
        return postponed("its workers may write on for a moment")
    outcome: Literal["COMMITTED", "ABORTED"] = "COMMITTED" if landed else "ABORTED"
    journal.close(entry.call_id, outcome)
    catalog.first_looks.pop(entry.call_id, None)
    return Recovered(entry.call_id, entry.schema, entry.table, outcome)


def settle(catalog: TableCatalog, entry: JournalEntry, *, may_land: bool, has_waited: bool) -> bool | None:
    """Whether a call's commit landed; what it wrote in vain is removed. None: it has its time yet, and all stays.

    ``may_land``: its request may be under way, and is refused from now on once it ``has_waited``. Raises what reading
    the table and deleting files raise.
    """
    table = table_of_call(catalog, entry)
    if table is None and may_live_elsewhere(catalog, entry):
        message = "%s.%s is gone, and the files of call %s stay: its metadata may be in use elsewhere"
        _LOG.warning(message, entry.schema, entry.table, entry.call_id)
        return True
    landed = None if table is None else landed_snapshot(table, entry.call_id)
    if table is not None and landed is None and may_land:
        if not has_waited:
            return None
        *schema, name = table.name()
        with catalog.open_commits.settling():
            refuse_late(catalog.open(".".join(schema), name), entry.call_id, entry.base_snapshot_id)
        table = catalog.open(".".join(schema), name)
        landed = landed_snapshot(table, entry.call_id)
    sweep(catalog.file_io(entry.metadata_directory) if table is None else table.io, entry, table, landed)
    return landed is not None


def _folded(entry: Recovered | JournalEntry) -> tuple[str, str]:
    """Its table's name: statements may spell it otherwise than the catalog."""
    return entry.schema.lower(), entry.table.lower()


def _workers_gone(catalog: TableCatalog, entry: JournalEntry) -> bool:
    """Whether nothing of a call comes any more. At the start of a coordinator alone its workers ended with it."""
    if catalog.work.shared is None:
        return True
    first = catalog.first_looks.setdefault(entry.call_id, time.monotonic())
    wait = _WORKERS_GONE_SECONDS
    if _may_land(catalog, entry):
        wait = max(wait, catalog.settings.unfinished_quiet_time)
    return time.monotonic() - first >= wait


def _may_land(catalog: TableCatalog, entry: JournalEntry) -> bool:
    """A server that makes metadata itself takes a commit that fits the table's head, however late it is sent."""
    return entry.state == "COMMITTING" and catalog.settings.type == "rest"


def sweep(io: FileIO, entry: JournalEntry, table: Table | None, landed: Snapshot | None) -> int:
    """Delete what the call wrote and no snapshot needs; how many files that were."""
    needed = _needed(entry, table, landed)
    doomed = [
        file.location
        for directory in dict.fromkeys((*entry.directories, entry.metadata_directory))
        for file in list_directory(io, directory)
        if entry.call_id in file.location.rpartition("/")[2] and normalize(file.location) not in needed
    ]
    doomed += _orphan_metadata(io, entry, table, landed)
    delete_files(io, doomed)
    return len(doomed)


def _needed(entry: JournalEntry, table: Table | None, landed: Snapshot | None) -> set[str]:
    """Normalized locations of this call that live snapshots refer to, read from the snapshots themselves."""
    if table is None:
        return set()
    needed: set[str] = set()
    # Its own snapshot may have expired by now, with later ones on the files that it added.
    heads = (table.metadata.snapshot_by_id(ref.snapshot_id) for ref in table.metadata.refs.values())
    for snapshot in (landed, table.current_snapshot(), *heads):
        if snapshot is None:
            continue
        needed.add(normalize(snapshot.manifest_list))
        needed |= {normalize(manifest.manifest_path) for manifest in manifests_of(table.io, snapshot)}
        if landed is not None or entry.state == "COMMITTING":
            live = read_live(table, snapshot, statistics=False)
            needed |= {normalize(file.path) for file in (*live.data, *live.deletes)}
    if landed is not None:
        needed |= _later_manifests(table, entry.call_id, landed)
    return needed


def _later_manifests(table: Table, call_id: str, landed: Snapshot) -> set[str]:
    """Manifest files of the call that a later snapshot still lists."""
    return {
        normalize(manifest.manifest_path)
        for snapshot in table.metadata.snapshots
        if (snapshot.sequence_number or 0) >= (landed.sequence_number or 0)
        for manifest in manifests_of(table.io, snapshot)
        if call_id in manifest.manifest_path
    }


def _orphan_metadata(io: FileIO, entry: JournalEntry, table: Table | None, landed: Snapshot | None) -> Iterable[str]:
    """Table metadata files of attempts of this call that lost: they hold our snapshot with another manifest list.

    A file of another writer that is about to be committed holds the snapshot that landed, and is left alone.
    """
    if table is None:
        return []
    known = {normalize(table.metadata_location), *(normalize(e.metadata_file) for e in table.metadata.metadata_log)}
    oldest = entry.begun_at.astimezone(UTC) - timedelta(seconds=5)
    won = None if landed is None else landed.manifest_list
    orphans = []
    for file in list_directory(io, entry.metadata_directory):
        recent = file.modified is None or file.modified >= oldest
        if not file.location.endswith(".metadata.json") or normalize(file.location) in known or not recent:
            continue
        with suppress(OSError):
            lists = manifest_lists(io, file.location, entry.call_id)
            if lists and won not in lists:
                orphans.append(file.location)
    return orphans
