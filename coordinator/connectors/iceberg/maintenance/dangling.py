"""Delete files that apply to no data file any more."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live


def dangling_deletes(table: Table, snapshot: Snapshot | None) -> list[LiveFile]:
    """Live delete files of a snapshot that no live data file needs."""
    live = read_live(table, snapshot)
    index = DeleteIndex(live.deletes, table.specs())
    needed = {delete.key for data in live.data for delete in index.of(data)} if index else set()
    return [delete for delete in live.deletes if delete.key not in needed]
