"""``CALL catalog.system.drop_extended_stats(schema, table_name)``, as ``ALTER TABLE … EXECUTE`` has it in Trino."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.update import RemovePartitionStatisticsUpdate, RemoveStatisticsUpdate, TableUpdate

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

DECLARATION = ProcedureDeclaration(
    name="drop_extended_stats",
    kind=ProcedureKind.COORDINATOR,
    summary="Forget the statistics files that ANALYZE and compute_table_stats made of a table.",
    arguments=declared_arguments(TableArguments),
    output=(OutputColumn("removed_statistics_files_count", "bigint", "Files that the metadata no longer names."),),
    example="CALL iceberg.system.drop_extended_stats('sales', 'orders')",
    notes="The files stay until remove_orphan_files finds them; bounds and counts in manifests stay as they are.",
)


def answer(call: Call[TableArguments]) -> Rows:
    """Raises ProcessionError NOT_FOUND, and TRANSACTION_CONFLICT after the last lost race."""
    return [(commit_change(call.catalog, call.schema, call.table, _dropped),)]


def _dropped(table: Table) -> Change[int]:
    metadata = table.metadata
    updates: list[TableUpdate] = [RemoveStatisticsUpdate(snapshot_id=file.snapshot_id) for file in metadata.statistics]
    updates += [
        RemovePartitionStatisticsUpdate.model_validate({"snapshot-id": file.snapshot_id})
        for file in metadata.partition_statistics
    ]
    return Change(len(updates), tuple(updates))
