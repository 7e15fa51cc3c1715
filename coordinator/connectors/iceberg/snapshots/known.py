"""The snapshots that statements read, among the thousands that a table may keep."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot


def known_snapshot(table: Table, snapshot_id: int | None) -> Snapshot | None:
    """The snapshot of an id; None where the table does not have it.

    PyIceberg looks from the oldest on, and a statement wants the newest, several times for each table.
    """
    if snapshot_id is None:
        return None
    return next((each for each in reversed(table.metadata.snapshots) if each.snapshot_id == snapshot_id), None)


def newest_snapshot(table: Table) -> Snapshot | None:
    """The table's current snapshot; None for a table without any."""
    return known_snapshot(table, table.metadata.current_snapshot_id)
