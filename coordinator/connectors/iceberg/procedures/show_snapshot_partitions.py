"""``CALL catalog.system.show_snapshot_partitions(schema, table_name, snapshot_id)``"""

from __future__ import annotations

from collections import defaultdict

from coordinator.connectors.iceberg.partitions import partition_text
from coordinator.connectors.iceberg.procedures.arguments import SnapshotArguments
from coordinator.connectors.iceberg.procedures.show_snapshot_files import chosen_snapshot
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.changes import FileChange, changes_of
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

DECLARATION = ProcedureDeclaration(
    name="show_snapshot_partitions",
    kind=ProcedureKind.COORDINATOR,
    summary="What a snapshot did to each partition.",
    arguments=declared_arguments(SnapshotArguments),
    output=(
        OutputColumn("spec_id", "integer", "Partition spec."),
        OutputColumn("partition", "varchar", "The partition; empty for an unpartitioned table."),
        OutputColumn("added_data_files", "bigint", "Data files that were added."),
        OutputColumn("deleted_data_files", "bigint", "Data files that were dropped."),
        OutputColumn("added_delete_files", "bigint", "Delete files that were added."),
        OutputColumn("removed_delete_files", "bigint", "Delete files that were dropped."),
        OutputColumn("added_records", "bigint", "Rows of the added data files."),
        OutputColumn("deleted_records", "bigint", "Rows of the dropped data files."),
        OutputColumn("added_bytes", "bigint", "Bytes of all added files."),
        OutputColumn("removed_bytes", "bigint", "Bytes of all dropped files."),
    ),
    example="CALL iceberg.system.show_snapshot_partitions('sales', 'orders')",
)


def answer(call: Call[SnapshotArguments]) -> Rows:
    """Raises ProcessionError for an unknown snapshot; no rows for a table without snapshots."""
    table = call.read()
    snapshot = chosen_snapshot(call, table)
    if snapshot is None:
        return []
    specs, schema = table.specs(), table.schema()
    sums: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0] * 8)
    for change in changes_of(table.io, snapshot):
        key = change.file.spec_id, partition_text(change.file, specs[change.file.spec_id], schema)
        sums[key] = [total + part for total, part in zip(sums[key], _counts(change), strict=True)]
    return [(*key, *sums[key]) for key in sorted(sums)]


def _counts(change: FileChange) -> tuple[int, ...]:
    added, data = int(change.added), int(change.is_data)
    rows, size = change.file.record_count * data, change.file.file_size_in_bytes
    files = (added * data, (1 - added) * data, added * (1 - data), (1 - added) * (1 - data))
    return (*files, rows * added, rows * (1 - added), size * added, size * (1 - added))
