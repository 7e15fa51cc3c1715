"""``CALL catalog.system.create_tag(schema, table_name, tag, snapshot_id, …)``"""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.reference_arguments import MAX_REF_AGE, OUTPUT, created
from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import commit_change
from shared.spi.procedure import Argument, ProcedureDeclaration, ProcedureKind

DECLARATION = ProcedureDeclaration(
    name="create_tag",
    kind=ProcedureKind.COORDINATOR,
    summary="Give a snapshot a name that stays.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("tag", "varchar", "Name of the tag.", required=True),
        Argument("snapshot_id", "bigint", "The snapshot; default: the current one."),
        MAX_REF_AGE,
        Argument("if_not_exists", "boolean", "A tag that exists already is left as it is.", default=False),
    ),
    output=OUTPUT,
    example="CALL iceberg.system.create_tag('sales', 'orders', 'month-end')",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError when the tag exists already or the snapshot is unknown."""
    name = call.arguments["tag"]
    return [commit_change(call.catalog, call.schema, call.table, lambda table: created(table, name, "tag", call))]
