"""``CALL catalog.system.show_savepoints(schema, table_name)``"""

from __future__ import annotations

from coordinator.connectors.iceberg.instants import instant
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.savepoints import savepoints, tag_of
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

DECLARATION = ProcedureDeclaration(
    name="show_savepoints",
    kind=ProcedureKind.COORDINATOR,
    summary="The savepoints of a table, the newest first.",
    arguments=declared_arguments(TableArguments),
    output=(
        OutputColumn("savepoint_time", "varchar", "Time of the commit that is kept: yyyyMMddHHmmssSSS in UTC."),
        OutputColumn("snapshot_id", "bigint", "The snapshot that is kept."),
        OutputColumn("savepoint", "varchar", "Name of the tag."),
        OutputColumn("user", "varchar", "Who made it."),
        OutputColumn("comments", "varchar", "Why the savepoint was made."),
        OutputColumn("created_at", "varchar", "When it was made, in UTC."),
    ),
    example="CALL iceberg.system.show_savepoints('sales', 'orders')",
)


def answer(call: Call[TableArguments]) -> Rows:
    """Raises ProcessionError when the table does not exist."""
    return [
        (
            instant(found.snapshot.timestamp_ms),
            found.snapshot.snapshot_id,
            tag_of(found.snapshot.snapshot_id),
            found.user,
            found.comments,
            found.created_at,
        )
        for found in savepoints(call.read())
    ]
