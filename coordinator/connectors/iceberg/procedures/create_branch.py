"""``CALL catalog.system.create_branch(schema, table_name, branch, snapshot_id, …)``"""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.reference_arguments import (
    MAX_REF_AGE,
    MAX_SNAPSHOT_AGE,
    MIN_SNAPSHOTS,
    OUTPUT,
    created,
)
from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import commit_change
from shared.spi.procedure import Argument, ProcedureDeclaration, ProcedureKind

DECLARATION = ProcedureDeclaration(
    name="create_branch",
    kind=ProcedureKind.COORDINATOR,
    summary="Make a branch at a snapshot.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("branch", "varchar", "Name of the branch.", required=True),
        Argument("snapshot_id", "bigint", "The snapshot; default: the current one."),
        MAX_REF_AGE,
        MAX_SNAPSHOT_AGE,
        MIN_SNAPSHOTS,
        Argument("if_not_exists", "boolean", "A branch that exists already is left as it is.", default=False),
    ),
    output=OUTPUT,
    example="CALL iceberg.system.create_branch('sales', 'orders', 'audit')",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError when the branch exists already or the snapshot is unknown."""
    name = call.arguments["branch"]
    return [commit_change(call.catalog, call.schema, call.table, lambda table: created(table, name, "branch", call))]
