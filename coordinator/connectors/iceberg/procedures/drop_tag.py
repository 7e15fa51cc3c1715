"""``CALL catalog.system.drop_tag(schema, table_name, tag, if_exists)``"""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.reference_arguments import OUTPUT, dropped
from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import commit_change
from shared.spi.procedure import Argument, ProcedureDeclaration, ProcedureKind

DECLARATION = ProcedureDeclaration(
    name="drop_tag",
    kind=ProcedureKind.COORDINATOR,
    summary="Remove a tag; its snapshot stays until it expires.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("tag", "varchar", "Name of the tag.", required=True),
        Argument("if_exists", "boolean", "A tag that does not exist is no error.", default=False),
    ),
    output=OUTPUT,
    example="CALL iceberg.system.drop_tag('sales', 'orders', 'month-end')",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError when the tag does not exist."""
    name = call.arguments["tag"]
    return [commit_change(call.catalog, call.schema, call.table, lambda table: dropped(table, name, "tag", call))]
