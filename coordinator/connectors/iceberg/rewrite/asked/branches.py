"""The branch that a call works on."""

from __future__ import annotations

from dataclasses import replace

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError, TableTarget


def at_branch(table: Table, target: TableTarget, branch: str | None) -> TableTarget:
    """The target pinned to the head of a branch, itself for None. Raises ArgumentError for an unknown branch."""
    head = None if branch is None else head_of(table, branch)
    return target if head is None else replace(target, snapshot_id=head.snapshot_id)


def head_of(table: Table, branch: str | None) -> Snapshot | None:
    """The head of a branch, of main for None, which may have none. Raises ArgumentError for an unknown branch."""
    if branch is None or branch == MAIN_BRANCH:
        return table.current_snapshot()
    ref = table.metadata.refs.get(branch)
    if ref is None or ref.snapshot_ref_type is not SnapshotRefType.BRANCH:
        raise ArgumentError("branch", f"Branch does not exist: {branch}", ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID)
    return table.snapshot_by_id(ref.snapshot_id)
