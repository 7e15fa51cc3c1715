"""``CALL catalog.system.rewrite_position_delete_files(…)``, answered by Iceberg's own procedure in Spark."""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark
from shared.spi.procedure import Argument, OutputColumn, ProcedureDeclaration, ProcedureKind

_COUNTS = (
    ("rewritten_delete_files_count", "integer", "Delete files that were replaced."),
    ("added_delete_files_count", "integer", "Delete files that were written."),
    ("rewritten_bytes_count", "bigint", "Bytes of the replaced files."),
    ("added_bytes_count", "bigint", "Bytes of the written files."),
)

DECLARATION = ProcedureDeclaration(
    name="rewrite_position_delete_files",
    kind=ProcedureKind.COORDINATOR,
    summary="Join small position delete files, and drop positions in data files that are gone.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("options", "map(varchar,varchar)", "Iceberg's options by name, such as 'rewrite-all' to 'true'."),
    ),
    output=tuple(OutputColumn(name, kind, doc) for name, kind, doc in _COUNTS),
    example="CALL iceberg.system.rewrite_position_delete_files('sales', 'orders')",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError: what Iceberg's procedure raises, unknown options among it."""
    call.read()
    row = call_spark(call, "rewrite_position_delete_files", {"options": call.arguments["options"] or None})[0]
    return [[int(row[name]) for name, _, _ in _COUNTS]]
