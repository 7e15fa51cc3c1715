"""``CALL catalog.system.replace_branch(schema, table_name, branch, snapshot_id, …)``"""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.reference_arguments import (
    MAX_REF_AGE,
    MAX_SNAPSHOT_AGE,
    MIN_SNAPSHOTS,
    OUTPUT,
    replaced,
)
from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import commit_change
from shared.spi.procedure import Argument, ProcedureDeclaration, ProcedureKind

DECLARATION = ProcedureDeclaration(
    name="replace_branch",
    kind=ProcedureKind.COORDINATOR,
    summary="Set a branch to any snapshot, an ancestor or not.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("branch", "varchar", "Name of the branch.", required=True),
        Argument("snapshot_id", "bigint", "The snapshot; default: the current one."),
        MAX_REF_AGE,
        MAX_SNAPSHOT_AGE,
        MIN_SNAPSHOTS,
    ),
    output=OUTPUT,
    example="CALL iceberg.system.replace_branch('sales', 'orders', 'audit', 8954597067493422955)",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError when the branch does not exist or the snapshot is unknown."""
    name = call.arguments["branch"]
    return [commit_change(call.catalog, call.schema, call.table, lambda table: replaced(table, name, "branch", call))]
