"""``CALL catalog.system.remove_dangling_deletes(schema, table_name)``

Iceberg has the action but no procedure of its own: its rewrite, told to rewrite no file, runs the action alone.
"""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind

_NOTHING_BUT_DELETES = {
    "remove-dangling-deletes": "true",
    "min-file-size-bytes": "0",
    "max-file-size-bytes": str((1 << 63) - 1),
    "delete-ratio-threshold": "1.0",
}

DECLARATION = ProcedureDeclaration(
    name="remove_dangling_deletes",
    kind=ProcedureKind.COORDINATOR,
    summary="Take delete files out of the table that apply to no data file any more.",
    arguments=TABLE_ARGUMENTS,
    output=(OutputColumn("removed_delete_files_count", "integer", "Delete files that were taken out."),),
    example="CALL iceberg.system.remove_dangling_deletes('sales', 'orders')",
    notes="By data sequence numbers, as Iceberg decides it; data files whose rows are all deleted are rewritten too.",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError: what Iceberg's procedure raises."""
    call.read()
    row = call_spark(call, "rewrite_data_files", {"options": _NOTHING_BUT_DELETES})[0]
    return [[int(row.get("removed_delete_files_count") or 0)]]
