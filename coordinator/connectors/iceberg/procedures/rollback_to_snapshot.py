"""``CALL catalog.system.rollback_to_snapshot(schema, table_name, snapshot_id)``"""

from __future__ import annotations

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.snapshots import ancestors_of
from pyiceberg.table.update import AssertRefSnapshotId, AssertTableUUID, SetSnapshotRefUpdate

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    Argument,
    Arguments,
    OutputColumn,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureResult,
)

DECLARATION = ProcedureDeclaration(
    name="rollback_to_snapshot",
    kind=ProcedureKind.COORDINATOR,
    summary="Make an earlier snapshot of the table's history its current one.",
    arguments=(
        Argument("schema", "varchar", "Schema of the table.", required=True),
        Argument("table_name", "varchar", "Name of the table.", required=True),
        Argument("snapshot_id", "bigint", "Snapshot to return to; an ancestor of the current one.", required=True),
    ),
    output=(
        OutputColumn("previous_snapshot_id", "bigint", "Current snapshot before the call."),
        OutputColumn("current_snapshot_id", "bigint", "Current snapshot after the call."),
    ),
    example="CALL iceberg.system.rollback_to_snapshot('sales', 'orders', 8954597067493422955)",
)
_ATTEMPTS = 4


class RollbackToSnapshot:
    """A metadata change only: no file is read, written or deleted."""

    declaration = DECLARATION

    def __init__(self, catalog: TableCatalog) -> None:
        self._catalog = catalog

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:  # noqa: ARG002
        """Raises ProcessionError for an unknown snapshot, one outside the history, and a lost race."""
        schema, name = arguments["schema"], arguments["table_name"]
        snapshot_id: int = arguments["snapshot_id"]
        with mapped(f"{schema}.{name}"):
            for attempt in range(_ATTEMPTS):
                table = self._catalog.open(schema, name)
                try:
                    previous = _roll_back(table, snapshot_id)
                except CommitFailedException:
                    if attempt == _ATTEMPTS - 1:
                        raise
                    continue
                return ProcedureResult(rows=[(previous, snapshot_id)])
        raise AssertionError("the last attempt returns or raises")


def _roll_back(table: Table, snapshot_id: int) -> int:
    if table.format_version > 2:
        raise ProcessionError(
            ErrorCode.NOT_SUPPORTED, "rollback_to_snapshot does not support tables of format version 3 yet"
        )
    current = table.current_snapshot()
    if table.snapshot_by_id(snapshot_id) is None:
        raise ProcessionError(
            ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID, f"Cannot roll back to unknown snapshot id: {snapshot_id}"
        )
    ancestors = {s.snapshot_id for s in ancestors_of(current, table.metadata)}
    if current is None or snapshot_id not in ancestors:
        raise ProcessionError(
            ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID,
            f"Cannot roll back to snapshot, not an ancestor of the current state: {snapshot_id}",
        )
    if current.snapshot_id != snapshot_id:
        ref = {"ref-name": "main", "type": "branch", "snapshot-id": snapshot_id}
        update = SetSnapshotRefUpdate.model_validate({"action": "set-snapshot-ref", **ref})
        guard = AssertRefSnapshotId.model_validate(
            {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": current.snapshot_id}
        )
        table.catalog.commit_table(table, (guard, AssertTableUUID(uuid=table.metadata.table_uuid)), (update,))
    return current.snapshot_id
