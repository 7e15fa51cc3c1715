"""What one snapshot itself did: files that it added and dropped, and the counts of its summary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.numbers import number_or


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that a snapshot added or dropped."""

    added: bool
    file: DataFile

    @property
    def status(self) -> str:
        return "ADDED" if self.added else "DELETED"

    @property
    def is_data(self) -> bool:
        return bool(self.file.content == DataFileContent.DATA)


def changes_of(io: FileIO, snapshot: Snapshot) -> Iterator[FileChange]:
    """The changes, manifest by manifest; only manifests that the snapshot wrote are read."""
    for manifest in manifests_of(io, snapshot):
        if manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        for entry in manifest.fetch_manifest_entry(io, discard_deleted=False):
            if entry.status != ManifestEntryStatus.EXISTING and entry.snapshot_id == snapshot.snapshot_id:
                yield FileChange(entry.status == ManifestEntryStatus.ADDED, entry.data_file)


SnapshotKey = tuple[str, int, str]
"""What is remembered of a snapshot is remembered by this."""


def snapshot_key(table: Table, snapshot: Snapshot) -> SnapshotKey:
    """What the snapshot reads: copies of a table have its uuid and its snapshots' ids, but their own manifests."""
    return str(table.metadata.table_uuid), snapshot.snapshot_id, str(snapshot.manifest_list)


def count(snapshot: Snapshot, name: str) -> int:
    """A number of the summary; 0 where it has none."""
    return 0 if snapshot.summary is None else number_or(snapshot.summary.additional_properties.get(name), 0)


def operation(snapshot: Snapshot) -> str | None:
    """append, overwrite, delete or replace; None for snapshots without a summary."""
    return None if snapshot.summary is None else snapshot.summary.operation.value
