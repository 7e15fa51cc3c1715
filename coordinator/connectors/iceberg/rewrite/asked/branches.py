"""The branch that a call works on."""

from __future__ import annotations

from dataclasses import replace

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType

from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError, TableTarget


def at_branch(table: Table, target: TableTarget, branch: str | None) -> TableTarget:
    """The target pinned to the head of a branch, itself for None. Raises ArgumentError for an unknown branch."""
    if branch is None:
        return target
    ref = table.metadata.refs.get(branch)
    if ref is None or ref.snapshot_ref_type is not SnapshotRefType.BRANCH:
        raise ArgumentError("branch", f"Branch does not exist: {branch}", ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID)
    return replace(target, snapshot_id=ref.snapshot_id)
