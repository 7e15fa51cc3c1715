"""The files of snapshots with the delete files of each, remembered by snapshot: small tables are asked often."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.rewrite.groups import Candidate

MOST_MANIFEST_BYTES = 2 << 20
"""Of one snapshot: reading more takes planning longer than Spark would take."""
_REMEMBERED_BYTES = 16 << 20
"""Of manifests; what is read of them takes some twenty times as much."""


@dataclass(frozen=True, slots=True)
class _Known:
    files: tuple[Candidate, ...]
    manifest_bytes: int


class SnapshotFiles:
    """The files of one catalog's snapshots; thread-safe."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int], _Known] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, table: Table, snapshot: Snapshot) -> tuple[Candidate, ...] | None:
        """None where the manifests are too large to be read in passing. Raises ProcessionError."""
        key = (str(table.metadata.table_uuid), snapshot.snapshot_id)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key].files
        with mapped(table.name()[-1]):
            size = sum(manifest.manifest_length for manifest in snapshot.manifests(table.io))
            if size > MOST_MANIFEST_BYTES:
                return None
            live = read_live(table, snapshot)
            index = DeleteIndex(live.deletes, table.specs())
            files = tuple(Candidate(data, index.of(data)) for data in live.data)
        with self._lock:
            self._known[key] = _Known(files, size)
            while sum(known.manifest_bytes for known in self._known.values()) > _REMEMBERED_BYTES:
                self._known.popitem(last=False)
        return files
