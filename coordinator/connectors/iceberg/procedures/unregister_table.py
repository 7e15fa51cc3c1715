"""``CALL catalog.system.unregister_table(schema, table_name)``"""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

DECLARATION = ProcedureDeclaration(
    name="unregister_table",
    kind=ProcedureKind.COORDINATOR,
    summary="Remove a table from the catalog and keep all its files.",
    arguments=declared_arguments(TableArguments),
    output=(OutputColumn("metadata_file", "varchar", "Its last metadata, for register_table."),),
    example="CALL iceberg.system.unregister_table('sales', 'orders')",
)


def answer(call: Call[TableArguments]) -> Rows:
    """Raises ProcessionError when the table does not exist."""
    return [(call.catalog.unregister(call.schema, call.table),)]
