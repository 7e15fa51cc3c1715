"""A snapshot that changes nothing: whatever was made for the head before it is refused from then on."""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Transaction
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Summary

from coordinator.connectors.iceberg.snapshots.producer import SnapshotProducer
from coordinator.connectors.iceberg.snapshots.summary import summarize


class SameFiles(SnapshotProducer["SameFiles"]):
    """A REPLACE snapshot of a branch with the manifests of its head."""

    def __init__(self, transaction: Transaction, properties: Mapping[str, str], branch: str = MAIN_BRANCH) -> None:
        io, given = transaction._table.io, dict(properties)
        super().__init__(Operation.REPLACE, transaction, io, snapshot_properties=given, branch=branch)

    def _manifests(self) -> list[ManifestFile]:
        head = self._transaction.table_metadata.snapshot_by_name(self._target_branch)
        return [] if head is None else self.listed(head)

    def _summary(self, snapshot_properties: Mapping[str, str] | None = None) -> Summary:
        return summarize(
            self._transaction.table_metadata,
            self._parent_snapshot_id,
            Operation.REPLACE,
            added=(),
            removed=(),
            properties=snapshot_properties,
        )
