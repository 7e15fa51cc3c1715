"""``CALL catalog.system.set_current_snapshot(schema, table_name, snapshot_id | ref)``"""

from __future__ import annotations

from pyiceberg.table import Table

from coordinator.connectors.iceberg.procedures.rollback_to_snapshot import MOVED, made_current
from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.references import known_snapshot
from shared.spi.procedure import Argument, ArgumentError, ProcedureDeclaration, ProcedureKind

DECLARATION = ProcedureDeclaration(
    name="set_current_snapshot",
    kind=ProcedureKind.COORDINATOR,
    summary="Make any snapshot of the table current, an ancestor or not, by its id or by a branch or tag.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("snapshot_id", "bigint", "The snapshot; give either this or ref."),
        Argument("ref", "varchar", "The branch or tag whose snapshot to take; give either this or snapshot_id."),
    ),
    output=MOVED,
    example="CALL iceberg.system.set_current_snapshot(table => 'sales.orders', ref => 'before_migration')",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError unless exactly one of the two is given and known."""
    snapshot_id, ref = call.arguments["snapshot_id"], call.arguments["ref"]
    if (snapshot_id is None) == (ref is None):
        raise ArgumentError("ref", "Either snapshot_id or ref must be provided, not both")

    def stage(table: Table) -> Change[tuple[int | None, int]]:
        if ref is None:
            known_snapshot(table, snapshot_id, "Cannot roll back to unknown snapshot id")
            return made_current(table, snapshot_id)
        found = table.refs().get(ref)
        if found is None:
            raise ArgumentError("ref", f"Cannot find matching snapshot ID for ref {ref}")
        return made_current(table, found.snapshot_id)

    return [commit_change(call.catalog, call.schema, call.table, stage)]
