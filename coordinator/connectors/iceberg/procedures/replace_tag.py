"""``CALL catalog.system.replace_tag(schema, table_name, tag, snapshot_id, …)``"""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.reference_arguments import MAX_REF_AGE, OUTPUT, replaced
from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import commit_change
from shared.spi.procedure import Argument, ProcedureDeclaration, ProcedureKind

DECLARATION = ProcedureDeclaration(
    name="replace_tag",
    kind=ProcedureKind.COORDINATOR,
    summary="Give a tag to another snapshot.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("tag", "varchar", "Name of the tag.", required=True),
        Argument("snapshot_id", "bigint", "The snapshot; default: the current one."),
        MAX_REF_AGE,
    ),
    output=OUTPUT,
    example="CALL iceberg.system.replace_tag('sales', 'orders', 'month-end', 8954597067493422955)",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError when the tag does not exist or the snapshot is unknown."""
    name = call.arguments["tag"]
    return [commit_change(call.catalog, call.schema, call.table, lambda table: replaced(table, name, "tag", call))]
