"""What became of a table's rows since a snapshot, told from the operations of the snapshots between."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from shared.spi.materialized_views import NO_SNAPSHOT, BaseChanges


def current_id(table: Table) -> int:
    """Of the newest snapshot."""
    snapshot = table.current_snapshot()
    return NO_SNAPSHOT if snapshot is None else snapshot.snapshot_id


def snapshots_since(table: Table, snapshot_id: int) -> list[Snapshot] | None:
    """Those after ``snapshot_id`` and up to the newest, which comes first; None where that one is no ancestor."""
    found: list[Snapshot] = []
    snapshot = table.current_snapshot()
    while snapshot is not None:
        if snapshot.snapshot_id == snapshot_id:
            return found
        found.append(snapshot)
        parent = snapshot.parent_snapshot_id
        if parent is None:
            return found if snapshot_id == NO_SNAPSHOT else None
        snapshot = table.snapshot_by_id(parent)
    return found if snapshot_id == NO_SNAPSHOT and not found else None


def same_rows(table: Table, snapshot_id: int) -> bool:
    """Whether the newest snapshot has the rows of that one: compactions alone have come between."""
    between = snapshots_since(table, snapshot_id)
    return between is not None and all(_operation(s) is Operation.REPLACE for s in between)


def changes_since(table: Table, snapshot_id: int) -> BaseChanges:
    """Compactions (REPLACE) change no rows; an APPEND only adds some."""
    between = snapshots_since(table, snapshot_id)
    name = ".".join(table.name()[-2:])
    if between is None:
        known = table.snapshot_by_id(snapshot_id) is not None
        what = "is not in its history" if known else "is not there any more"
        return BaseChanges(True, why=f"snapshot {snapshot_id} of {name} {what}")
    changing = [s for s in between if _operation(s) is not Operation.REPLACE]
    if not changing:
        return BaseChanges(False)
    first_ms = changing[-1].timestamp_ms
    other = next((op for s in changing if (op := _operation(s)) is not Operation.APPEND), None)
    if other is not None or any(s.summary is None for s in changing):
        return BaseChanges(True, first_ms=first_ms, why=f"rows of {name} were changed")
    return BaseChanges(True, appended=True, first_ms=first_ms, why=f"rows were added to {name}")


def _operation(snapshot: Snapshot) -> Operation | None:
    return None if snapshot.summary is None else snapshot.summary.operation
