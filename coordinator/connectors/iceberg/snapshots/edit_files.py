"""A snapshot that adds and drops whole data files, with rules of its own for what may have happened meanwhile.

PyIceberg brings transactions, retries and manifest lists. Source: Iceberg ``MergingSnapshotProducer``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pyiceberg.exceptions import ValidationException
from pyiceberg.manifest import DataFile, ManifestContent, ManifestFile
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Summary

from coordinator.connectors.iceberg.manifests.live_files import LiveFile, holds_live
from coordinator.connectors.iceberg.snapshots.producer import SnapshotProducer
from coordinator.connectors.iceberg.snapshots.summary import summarize

Check = Callable[[TableMetadata], None]
"""Raises ValidationException when the metadata, as newly read, no longer allows the commit."""


class EditFiles(SnapshotProducer["EditFiles"]):
    """Adds ``added`` and drops ``dropped`` on a branch; every dropped data file must still be live.

    Without a branch the snapshot, made on that of main, is staged: it is there, and nothing reads it. Delete files that
    somebody else took out meanwhile are none to drop.

    ``check`` sees the metadata that each attempt builds on, the first one included.
    """

    def __init__(
        self,
        transaction: Transaction,
        operation: Operation,
        *,
        added: Sequence[DataFile] = (),
        dropped: Iterable[LiveFile] = (),
        check: Check = lambda _metadata: None,
        properties: Mapping[str, str] | None = None,
        branch: str | None = MAIN_BRANCH,
    ) -> None:
        io, given = transaction._table.io, dict(properties or {})
        super().__init__(operation, transaction, io, snapshot_properties=given, branch=branch)
        self._added = list(added)
        dropped = list(dropped)
        self._read = dropped
        self._dropped = {file.key: file for file in dropped}
        self._gone: set[str] = set()
        self._check = check

    def _manifests(self) -> list[ManifestFile]:
        metadata = self._transaction.table_metadata
        self._check(metadata)
        head = metadata.snapshot_by_name(self._target_branch)
        listed = [] if head is None else [m for m in self.listed(head) if holds_live(m)]
        kinds = {ManifestContent.DATA if file.is_data else ManifestContent.DELETES for file in self._dropped.values()}
        changed = self.touched([m for m in listed if m.content in kinds], self._read)
        self._gone = {key for gone in changed.values() for key in gone}
        if missing := sorted(key for key, file in self._dropped.items() if file.is_data and key not in self._gone):
            raise ValidationException(f"Missing required files to delete: {', '.join(missing[:5])}")
        return [*self.added_manifests(self._added, ManifestContent.DATA), *self.remade(listed, changed)]

    def _summary(self, snapshot_properties: Mapping[str, str] | None = None) -> Summary:
        return summarize(
            self._transaction.table_metadata,
            self._parent_snapshot_id,
            self._operation,
            added=self._added,
            removed=[file.file for key, file in self._dropped.items() if key in self._gone],
            properties=snapshot_properties,
        )
