"""Metadata files of commits that never landed, and the manifests that only they name.

A commit writes its metadata file before it asks the catalog to name it. One that was killed in between leaves a file
that nothing refers to; only such a one is ever told to go whose base the table's own log still has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta

from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.manifests.metadata_files import read_raw
from coordinator.connectors.iceberg.manifests.version_three import list_manifests
from coordinator.connectors.iceberg.paths import normalize
from coordinator.connectors.iceberg.storage import list_directory

_CLOCKS_DIFFER = timedelta(seconds=60)
_SUFFIX = ".metadata.json"


def never_landed(table: Table, location: str, base: str | None) -> bool:
    """Whether the metadata file at ``location``, made of ``base``, was certainly never the table's.

    Had it been committed, the log would have it right after its base: nothing is known where that was dropped.
    """
    known = _known(table)
    return normalize(location) not in known and base is not None and normalize(base) in known


def names(table: Table, location: str) -> bool:
    """Whether the metadata file is the table's, or was."""
    return normalize(location) in _known(table)


def of_ended_writes(table: Table, ids: Collection[str], since: datetime) -> Iterator[str]:
    """Metadata files with a snapshot of one of the writes ``ids``, which commit nothing any more, and never did.

    The names of a write's manifest lists hold its id. ``table`` must have been loaded after they were ended.
    """
    landed = {one for one in ids for s in table.metadata.snapshots if one in s.manifest_list}
    wanted = [one for one in ids if one not in landed]
    if not wanted:
        return
    known, oldest = _known(table), since.astimezone(UTC) - _CLOCKS_DIFFER
    for file in list_directory(table.io, _directory(table)):
        recent = file.modified is None or file.modified >= oldest
        if recent and file.location.endswith(_SUFFIX) and normalize(file.location) not in known:
            lists, base = _contents(table.io, file.location)
            if any(one in each for one in wanted for each in lists) and never_landed(table, file.location, base):
                yield file.location


def with_manifests(table: Table, location: str, base: str) -> list[str]:
    """The uncommitted metadata file and what it alone names: the manifest lists and manifests of its snapshots.

    Data files are not among them: they may be anybody's.
    """
    try:
        added = _snapshots(table.io, location) - _snapshots(table.io, base)
    except (OSError, ValueError, KeyError):
        return [location]  # written in part, or its base is gone
    there = {snapshot.snapshot_id for snapshot in table.metadata.snapshots}
    found = [location]
    for number, manifest_list in added:
        if number in there:
            continue
        found.append(manifest_list)
        snapshot = Snapshot(snapshot_id=number, manifest_list=manifest_list)
        try:
            manifests = list_manifests(table.io, snapshot, table.format_version)
        except (OSError, ValueError):
            continue
        found += [manifest.manifest_path for manifest in manifests if manifest.added_snapshot_id == number]
    return found


def _known(table: Table) -> set[str]:
    named = [table.metadata_location, *(entry.metadata_file for entry in table.metadata.metadata_log)]
    return {normalize(location) for location in named if location}  # a REST server may keep its own to itself


def _directory(table: Table) -> str:
    return table.location_provider().new_metadata_location("x").rpartition("/")[0]


def _contents(io: FileIO, location: str) -> tuple[list[str], str | None]:
    """The manifest lists in a metadata file, and the file that it was made of; nothing for one that is broken."""
    try:
        raw = read_raw(io, location)
        log = raw.get("metadata-log") or []
        lists = [each["manifest-list"] for each in raw.get("snapshots") or []]  # type: ignore[attr-defined]
        return lists, log[-1]["metadata-file"] if log else None  # type: ignore[index]
    except (OSError, ValueError, KeyError, TypeError):
        return [], None


def _snapshots(io: FileIO, location: str) -> set[tuple[int, str]]:
    found = read_raw(io, location).get("snapshots") or []
    return {(each["snapshot-id"], each["manifest-list"]) for each in found}  # type: ignore[attr-defined]
