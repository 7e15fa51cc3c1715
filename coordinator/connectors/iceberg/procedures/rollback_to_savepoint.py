"""``CALL catalog.system.rollback_to_savepoint(schema, table_name, instant_time)``"""

from __future__ import annotations

from pyiceberg.table import Table

from coordinator.connectors.iceberg.procedures.arguments import SavepointArguments
from coordinator.connectors.iceberg.procedures.rollback_to_snapshot import made_current
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.savepoints import savepoint_at
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

DECLARATION = ProcedureDeclaration(
    name="rollback_to_savepoint",
    kind=ProcedureKind.COORDINATOR,
    summary="Make the snapshot of a savepoint current again; the savepoint stays.",
    arguments=declared_arguments(SavepointArguments),
    output=(
        OutputColumn("rollback_savepoint_result", "boolean", "true: the table is as it was then."),
        OutputColumn("previous_snapshot_id", "bigint", "Current snapshot before the call."),
        OutputColumn("current_snapshot_id", "bigint", "Current snapshot after the call."),
    ),
    example="CALL iceberg.system.rollback_to_savepoint('sales', 'orders', '20261120080000123')",
)


def answer(call: Call[SavepointArguments]) -> Rows:
    """Raises ProcessionError when no savepoint is at that commit."""
    zone = call.context.session.time_zone

    def stage(table: Table) -> Change[tuple[int | None, int]]:
        found = savepoint_at(table, call.arguments.instant_time, zone, "instant_time")
        return made_current(table, found.snapshot.snapshot_id)

    return [(True, *commit_change(call.catalog, call.schema, call.table, stage))]
