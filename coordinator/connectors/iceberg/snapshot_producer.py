"""PyIceberg's producer of snapshots, with delete manifests that Iceberg Java can read."""

from __future__ import annotations

from typing import Generic, TypeVar

from pyiceberg.manifest import ManifestContent, ManifestFile, ManifestWriter, write_manifest
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update.snapshot import _SnapshotProducer

from coordinator.connectors.iceberg.replace import DeleteManifestWriter

U = TypeVar("U")


class SnapshotProducer(_SnapshotProducer[U], Generic[U]):
    """What our producers have in common."""

    def listed(self, snapshot: Snapshot) -> list[ManifestFile]:
        """The manifests of a snapshot."""
        return snapshot.manifests(self._io)

    def writer(self, spec: PartitionSpec, content: ManifestContent) -> ManifestWriter:
        """A new manifest of the table's format version."""
        output = self.new_manifest_output()
        if content == ManifestContent.DELETES:
            return DeleteManifestWriter(spec, self.schema(), output, self._snapshot_id, self._compression)
        version = self._transaction.table_metadata.format_version
        return write_manifest(version, spec, self.schema(), output, self._snapshot_id, self._compression)
