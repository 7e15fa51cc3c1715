"""``CALL catalog.system.unregister_table(schema, table_name)``"""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind

DECLARATION = ProcedureDeclaration(
    name="unregister_table",
    kind=ProcedureKind.COORDINATOR,
    summary="Remove a table from the catalog and keep all its files.",
    arguments=TABLE_ARGUMENTS,
    output=(OutputColumn("metadata_file", "varchar", "Its last metadata, for register_table."),),
    example="CALL iceberg.system.unregister_table('sales', 'orders')",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError when the table does not exist."""
    return [(call.catalog.unregister(call.schema, call.table),)]
