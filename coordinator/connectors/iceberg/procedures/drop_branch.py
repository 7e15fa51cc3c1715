"""``CALL catalog.system.drop_branch(schema, table_name, branch, if_exists)``"""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.reference_arguments import OUTPUT, dropped
from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import commit_change
from shared.spi.procedure import Argument, ProcedureDeclaration, ProcedureKind

DECLARATION = ProcedureDeclaration(
    name="drop_branch",
    kind=ProcedureKind.COORDINATOR,
    summary="Remove a branch; its snapshots stay until they expire.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("branch", "varchar", "Name of the branch.", required=True),
        Argument("if_exists", "boolean", "A branch that does not exist is no error.", default=False),
    ),
    output=OUTPUT,
    example="CALL iceberg.system.drop_branch('sales', 'orders', 'audit')",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError when the branch does not exist."""
    name = call.arguments["branch"]
    return [commit_change(call.catalog, call.schema, call.table, lambda table: dropped(table, name, "branch", call))]
