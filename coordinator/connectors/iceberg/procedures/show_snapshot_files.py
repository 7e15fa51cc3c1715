"""``CALL catalog.system.show_snapshot_files(schema, table_name, snapshot_id)``"""

from __future__ import annotations

from pyiceberg.manifest import DataFileContent
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.partitions import partition_text
from coordinator.connectors.iceberg.procedures.arguments import SnapshotArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.changes import changes_of
from coordinator.connectors.iceberg.snapshots.references import known_snapshot
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

DECLARATION = ProcedureDeclaration(
    name="show_snapshot_files",
    kind=ProcedureKind.COORDINATOR,
    summary="Files that a snapshot added and dropped.",
    arguments=declared_arguments(SnapshotArguments),
    output=(
        OutputColumn("status", "varchar", "ADDED or DELETED."),
        OutputColumn("content", "varchar", "DATA, POSITION_DELETES or EQUALITY_DELETES."),
        OutputColumn("file_path", "varchar", "Where the file is."),
        OutputColumn("file_format", "varchar", "PARQUET, ORC, AVRO or PUFFIN."),
        OutputColumn("spec_id", "integer", "Partition spec that it was written with."),
        OutputColumn("partition", "varchar", "Its partition; empty for unpartitioned files."),
        OutputColumn("record_count", "bigint", "Rows, or deletes of a delete file."),
        OutputColumn("file_size_in_bytes", "bigint", "Bytes of the file."),
    ),
    example="CALL iceberg.system.show_snapshot_files('sales', 'orders', 8954597067493422955)",
)


def answer(call: Call[SnapshotArguments]) -> Rows:
    """Raises ProcessionError for an unknown snapshot; no rows for a table without snapshots."""
    table = call.read()
    snapshot = chosen_snapshot(call, table)
    if snapshot is None:
        return []
    specs, schema = table.specs(), table.schema()
    return sorted(
        (
            change.status,
            DataFileContent(change.file.content).name,
            change.file.file_path,
            change.file.file_format.value,
            change.file.spec_id,
            partition_text(change.file, specs[change.file.spec_id], schema),
            change.file.record_count,
            change.file.file_size_in_bytes,
        )
        for change in changes_of(table.io, snapshot)
    )


def chosen_snapshot(call: Call[SnapshotArguments], table: Table) -> Snapshot | None:
    """The snapshot asked for, or the current one; None for a table without snapshots."""
    asked = call.arguments.snapshot_id
    return table.current_snapshot() if asked is None else known_snapshot(table, asked, "Snapshot not found")
