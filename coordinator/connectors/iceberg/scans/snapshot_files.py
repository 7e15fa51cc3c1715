"""The files of snapshots with the delete files of each, remembered by snapshot: small tables are asked often."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.locations import is_allowed
from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.properties import IcebergSettings
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.snapshots.changes import SnapshotKey, count, snapshot_key
from coordinator.kernels.storage import is_local

MOST_FILES = 1000
_MOST_MANIFEST_BYTES = 2 << 20
"""Of one snapshot: reading more, and asking each file whether it is needed, takes planning as long as Spark saves."""
_REMEMBERED_FILES = 10_000
"""Data and delete files of all snapshots; each takes some 8 kB."""


@dataclass(frozen=True, slots=True)
class _Known:
    files: tuple[Candidate, ...] | str
    count: int


class SnapshotFiles:
    """The files of one catalog's snapshots; thread-safe."""

    def __init__(self, settings: IcebergSettings) -> None:
        self._settings = settings
        self._known: OrderedDict[SnapshotKey, _Known] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, table: Table, snapshot: Snapshot) -> tuple[Candidate, ...] | str:
        """The files, or why they are not read here. Raises ProcessionError."""
        key = snapshot_key(table, snapshot)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key].files
        with mapped(table.name()[-1]):
            size = sum(manifest.manifest_length for manifest in manifests_of(table.io, snapshot))
            if size > _MOST_MANIFEST_BYTES or _files(snapshot) > MOST_FILES:
                return "it has many files"
            live = read_live(table, snapshot)
            index = DeleteIndex(live.deletes, table.specs())
            files = self.checked(table, tuple(Candidate(data, index.of(data)) for data in live.data))
        with self._lock:
            self._known[key] = _Known(files, len(live.data) + len(live.deletes))
            while sum(known.count for known in self._known.values()) > _REMEMBERED_FILES:
                self._known.popitem(last=False)
        return files

    def checked(self, table: Table, files: tuple[Candidate, ...]) -> tuple[Candidate, ...] | str:
        """The files, or why they are not read here.

        Manifests are anybody's word, and this process may read more of its disks than a table may name.
        """
        named = {path for each in files for path in (each.data.path, *(delete.path for delete in each.deletes))}
        if all(is_allowed(self._settings, path, table.location()) for path in named if is_local(path)):
            return files
        return "it has files outside of the catalog's locations"


def _files(snapshot: Snapshot) -> int:
    """Data and delete files as the snapshot's summary counts them; 0 where it does not."""
    return count(snapshot, "total-data-files") + count(snapshot, "total-delete-files")
