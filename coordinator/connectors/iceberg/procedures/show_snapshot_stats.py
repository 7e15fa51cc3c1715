"""``CALL catalog.system.show_snapshot_stats(schema, table_name, snapshot_id)``"""

from __future__ import annotations

from coordinator.connectors.iceberg.instants import from_millis
from coordinator.connectors.iceberg.procedures.arguments import SnapshotArguments
from coordinator.connectors.iceberg.procedures.show_snapshot_files import chosen_snapshot
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.changes import changes_of, operation
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

DECLARATION = ProcedureDeclaration(
    name="show_snapshot_stats",
    kind=ProcedureKind.COORDINATOR,
    summary="How much a snapshot wrote, from its manifests.",
    arguments=declared_arguments(SnapshotArguments),
    output=(
        OutputColumn("snapshot_id", "bigint", "The snapshot."),
        OutputColumn("committed_at", "timestamp with time zone", "When it was committed."),
        OutputColumn("operation", "varchar", "append, overwrite, delete or replace."),
        OutputColumn("total_files_written", "bigint", "Files that it added, delete files too."),
        OutputColumn("total_bytes_written", "bigint", "Bytes of these files."),
        OutputColumn("total_records_written", "bigint", "Rows of the data files among them."),
        OutputColumn("total_deletes_written", "bigint", "Deletes of the delete files among them."),
        OutputColumn("avg_record_size", "bigint", "Bytes a written row of data files; NULL without rows."),
    ),
    example="CALL iceberg.system.show_snapshot_stats('sales', 'orders', 8954597067493422955)",
)


def answer(call: Call[SnapshotArguments]) -> Rows:
    """Raises ProcessionError for an unknown snapshot; no rows for a table without snapshots."""
    table = call.read()
    snapshot = chosen_snapshot(call, table)
    if snapshot is None:
        return []
    added = [change for change in changes_of(table.io, snapshot) if change.added]
    rows = sum(change.file.record_count for change in added if change.is_data)
    data_bytes = sum(change.file.file_size_in_bytes for change in added if change.is_data)
    deletes = sum(change.file.record_count for change in added if not change.is_data)
    size = sum(change.file.file_size_in_bytes for change in added)
    head = (snapshot.snapshot_id, from_millis(snapshot.timestamp_ms), operation(snapshot))
    return [(*head, len(added), size, rows, deletes, data_bytes // rows if rows else None)]
