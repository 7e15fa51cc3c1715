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

_MOST_FILES = 1000
_MOST_MANIFEST_BYTES = 2 << 20
"""Of one snapshot: reading more, and asking each file whether it is needed, takes planning as long as Spark saves."""
_REMEMBERED_BYTES = 4 << 20
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
        """None where there are too many to be looked at in passing. Raises ProcessionError."""
        key = (str(table.metadata.table_uuid), snapshot.snapshot_id)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key].files
        with mapped(table.name()[-1]):
            size = sum(manifest.manifest_length for manifest in snapshot.manifests(table.io))
            if size > _MOST_MANIFEST_BYTES or _files(snapshot) > _MOST_FILES:
                return None
            live = read_live(table, snapshot)
            index = DeleteIndex(live.deletes, table.specs())
            files = tuple(Candidate(data, index.of(data)) for data in live.data)
        with self._lock:
            self._known[key] = _Known(files, size)
            while sum(known.manifest_bytes for known in self._known.values()) > _REMEMBERED_BYTES:
                self._known.popitem(last=False)
        return files


def _files(snapshot: Snapshot) -> int:
    """Data and delete files as the snapshot's summary counts them; 0 where it does not."""
    told = {} if snapshot.summary is None else snapshot.summary.additional_properties
    counts = (told.get(name) or "" for name in ("total-data-files", "total-delete-files"))
    return sum(int(count) for count in counts if count.isdecimal())
