"""Picking a staged snapshot onto the current state: Iceberg's ``CherryPickOperation`` and ``WapUtil``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.exceptions import ValidationException
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot, ancestors_of

from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, Partition
from coordinator.connectors.iceberg.partitions import partition_values

STAGED = "wap.id"
"""In the summary of a snapshot that is staged: its write-audit-publish id."""
_PUBLISHED, _SOURCE = "published-wap-id", "source-snapshot-id"


@dataclass(frozen=True, slots=True)
class Pick:
    """What a new snapshot takes over from the picked one."""

    operation: Operation
    added: tuple[DataFile, ...]
    dropped: tuple[LiveFile, ...]
    properties: Mapping[str, str]
    replaced: frozenset[Partition] | None
    """Partitions of the added files of a dynamic overwrite; None for an append."""


def properties_of(snapshot: Snapshot) -> Mapping[str, str]:
    """The snapshot's summary without its operation."""
    return {} if snapshot.summary is None else snapshot.summary.additional_properties


def staged_wap_id(snapshot: Snapshot) -> str | None:
    """The write-audit-publish id under which a snapshot was staged."""
    return properties_of(snapshot).get(STAGED)


def can_fast_forward(metadata: TableMetadata, picked: Snapshot) -> bool:
    """Whether the picked snapshot was made on the current one, so that it can become current itself."""
    current = metadata.current_snapshot()
    return picked.parent_snapshot_id == (None if current is None else current.snapshot_id)


def read_pick(table: Table, picked: Snapshot) -> Pick:
    """What to take over; raises ValidationException when only a fast-forward could pick the snapshot."""
    if picked.summary is None or not _is_pickable(picked):
        raise ValidationException(
            f"Cannot cherry-pick snapshot {picked.snapshot_id}: not append, dynamic overwrite, or fast-forward"
        )
    properties = {_SOURCE: str(picked.snapshot_id)}
    if wap_id := staged_wap_id(picked):
        properties[_PUBLISHED] = wap_id
    added, dropped = _changes(table.io, picked)
    operation = picked.summary.operation
    if operation == Operation.APPEND:
        return Pick(operation, added, (), properties, None)
    replaced = frozenset(LiveFile(file, 0).partition for file in added)
    return Pick(operation, added, dropped, properties, replaced)


def check_pick(metadata: TableMetadata, picked: Snapshot, pick: Pick, io: FileIO) -> None:
    """Raises ValidationException with Iceberg's texts when the current state no longer allows the pick."""
    line = list(ancestors_of(metadata.current_snapshot(), metadata))
    ids = [snapshot.snapshot_id for snapshot in line]
    if picked.snapshot_id in ids:
        raise ValidationException(f"Cannot cherrypick snapshot {picked.snapshot_id}: already an ancestor")
    for snapshot in line:
        if properties_of(snapshot).get(_SOURCE) == str(picked.snapshot_id):
            raise ValidationException(
                f"Cannot cherrypick snapshot {picked.snapshot_id}: already picked to create ancestor "
                f"{snapshot.snapshot_id}"
            )
    _check_wap(line, picked)
    parent = picked.parent_snapshot_id
    if pick.replaced is None:
        return
    if parent is not None and parent not in ids:
        raise ValidationException(
            f"Cannot cherry-pick overwrite not based on an ancestor of the current state: {picked.snapshot_id}"
        )
    for snapshot in line[: ids.index(parent)] if parent is not None else line:
        for file in _changes(io, snapshot)[0]:
            if LiveFile(file, 0).partition in pick.replaced:
                values = partition_values(file, metadata.specs()[file.spec_id], metadata.schema())
                text = ", ".join(f"{name}={value}" for name, value in values)
                raise ValidationException(
                    f"Cannot cherry-pick replace partitions with changed partition: PartitionData{{{text}}}"
                )


def _check_wap(line: list[Snapshot], picked: Snapshot) -> None:
    wap_id = staged_wap_id(picked)
    if wap_id and any(wap_id in (staged_wap_id(s), properties_of(s).get(_PUBLISHED)) for s in line):
        raise ValidationException(f"Duplicate request to cherry pick wap id that was published already: {wap_id}")


def _is_pickable(snapshot: Snapshot) -> bool:
    operation = None if snapshot.summary is None else snapshot.summary.operation
    if operation == Operation.APPEND:
        return True
    return operation == Operation.OVERWRITE and properties_of(snapshot).get("replace-partitions", "").lower() == "true"


def _changes(io: FileIO, snapshot: Snapshot) -> tuple[tuple[DataFile, ...], tuple[LiveFile, ...]]:
    """The data files that a snapshot itself added, and those that it dropped."""
    added: list[DataFile] = []
    dropped: list[LiveFile] = []
    for manifest in manifests_of(io, snapshot):
        if manifest.content != ManifestContent.DATA or manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        for entry in manifest.fetch_manifest_entry(io, discard_deleted=False):
            if entry.status == ManifestEntryStatus.ADDED:
                added.append(entry.data_file)
            elif entry.status == ManifestEntryStatus.DELETED:
                dropped.append(LiveFile(entry.data_file, entry.sequence_number or 0))
    return tuple(added), tuple(dropped)
