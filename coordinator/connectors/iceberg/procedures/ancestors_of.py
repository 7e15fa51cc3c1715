"""``CALL catalog.system.ancestors_of(schema, table_name, snapshot_id)``"""

from __future__ import annotations

from pyiceberg.table.snapshots import ancestors_of

from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from shared.spi.procedure import Argument, OutputColumn, ProcedureDeclaration, ProcedureKind

DECLARATION = ProcedureDeclaration(
    name="ancestors_of",
    kind=ProcedureKind.COORDINATOR,
    summary="The snapshots that a snapshot came from, itself first.",
    arguments=(*TABLE_ARGUMENTS, Argument("snapshot_id", "bigint", "Where to start; default: the current snapshot.")),
    output=(
        OutputColumn("snapshot_id", "bigint", "A snapshot, newest first."),
        OutputColumn("timestamp", "bigint", "When it was committed, in milliseconds since 1970 UTC."),
    ),
    example="CALL iceberg.system.ancestors_of('sales', 'orders')",
    notes="No rows for a snapshot that the table does not have, as with Iceberg.",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError when the table does not exist."""
    table = call.read()
    asked = call.arguments["snapshot_id"]
    start = table.current_snapshot() if asked is None else table.snapshot_by_id(asked)
    return [(s.snapshot_id, s.timestamp_ms) for s in ancestors_of(start, table.metadata)]
