"""Every file that a table's metadata refers to, each manifest read once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

Role = Literal["data", "deletes", "manifest", "manifest_list", "metadata", "statistics"]


@dataclass(frozen=True, slots=True)
class TableFile:
    """A referenced file; ``size`` as the metadata says, None where it does not. ``live``: of the current snapshot."""

    location: str
    role: Role
    size: int | None
    live: bool
    file: DataFile | None = None


def referenced_files(table: Table) -> Iterator[TableFile]:
    """The files, the current snapshot's first; files of several snapshots may come once a manifest."""
    current = table.current_snapshot()
    seen: set[str] = set()
    if current is not None:
        yield from _of_snapshot(table, current, seen, live=True)
    for snapshot in table.snapshots():
        if current is None or snapshot.snapshot_id != current.snapshot_id:
            yield from _of_snapshot(table, snapshot, seen, live=False)
    metadata = table.metadata
    yield TableFile(table.metadata_location, "metadata", None, live=True)
    for entry in metadata.metadata_log:
        yield TableFile(entry.metadata_file, "metadata", None, live=False)
    now = None if current is None else current.snapshot_id
    for statistics in (*metadata.statistics, *metadata.partition_statistics):
        live = statistics.snapshot_id == now
        yield TableFile(statistics.statistics_path, "statistics", statistics.file_size_in_bytes, live)


def _of_snapshot(table: Table, snapshot: Snapshot, seen: set[str], *, live: bool) -> Iterator[TableFile]:
    yield TableFile(snapshot.manifest_list, "manifest_list", None, live)
    for manifest in snapshot.manifests(table.io):
        if manifest.manifest_path in seen:
            continue
        seen.add(manifest.manifest_path)
        yield TableFile(manifest.manifest_path, "manifest", manifest.manifest_length, live)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            file = entry.data_file
            role: Role = "data" if file.content == DataFileContent.DATA else "deletes"
            yield TableFile(file.file_path, role, file.file_size_in_bytes, live, file)
