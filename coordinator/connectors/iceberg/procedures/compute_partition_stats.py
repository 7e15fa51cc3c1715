"""``CALL catalog.system.compute_partition_stats(schema, table_name, snapshot_id)``"""

from __future__ import annotations

import logging
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.statistics import PartitionStatisticsFile
from pyiceberg.table.update import SetPartitionStatisticsUpdate

from coordinator.connectors.iceberg.procedures.arguments import SnapshotArguments
from coordinator.connectors.iceberg.procedures.show_snapshot_files import chosen_snapshot
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.statistics.partition_statistics import (
    KnownStatistics,
    earlier_statistics,
    partition_statistics,
)
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

logger = logging.getLogger(__name__)


DECLARATION = ProcedureDeclaration(
    name="compute_partition_stats",
    kind=ProcedureKind.COORDINATOR,
    summary="Count rows, files and deletes of each partition, as a statistics file of the table.",
    arguments=declared_arguments(SnapshotArguments),
    output=(OutputColumn("partition_statistics_file", "varchar", "The file; one that is there already is kept."),),
    example="CALL iceberg.system.compute_partition_stats('sales', 'orders')",
    notes="Worked out from the manifests alone; where an ancestor has such statistics, only from what changed since. "
    "No rows for a table without snapshots.",
)


def answer(call: Call[SnapshotArguments]) -> Rows:
    """Raises ProcessionError for an unpartitioned table and an unknown snapshot."""
    table = call.catalog.open(call.schema, call.table)
    snapshot = chosen_snapshot(call, table)
    if snapshot is None:
        return []
    if all(spec.is_unpartitioned() for spec in table.specs().values()):
        raise ArgumentError("table_name", "Table must be partitioned")
    for known in table.metadata.partition_statistics:
        if known.snapshot_id == snapshot.snapshot_id:
            return [(known.statistics_path,)]
    statistics = partition_statistics(table, snapshot, _known(table, snapshot))
    if statistics.num_rows == 0:
        return []
    name = f"partition-stats-{snapshot.snapshot_id}-{uuid.uuid4()}.parquet"
    path = table.location_provider().new_metadata_location(name)
    with table.io.new_output(path).create() as stream:
        pq.write_table(statistics, stream, compression="zstd")
    values = {"snapshot-id": snapshot.snapshot_id, "statistics-path": path}
    values["file-size-in-bytes"] = len(table.io.new_input(path))
    file = PartitionStatisticsFile.model_validate(values)
    update = SetPartitionStatisticsUpdate.model_validate({"partition-statistics": file})

    def stage(newest: Table) -> Change[None]:
        if newest.snapshot_by_id(snapshot.snapshot_id) is None:
            message = f"Snapshot {snapshot.snapshot_id} expired meanwhile"
            raise ProcessionError(ErrorCode.TRANSACTION_CONFLICT, message, retriable=True)
        return Change(None, (update,))

    try:
        commit_change(call.catalog, call.schema, call.table, stage)
    except ProcessionError as error:
        if error.code in (ErrorCode.TRANSACTION_CONFLICT, ErrorCode.NOT_FOUND):
            table.io.delete(path)
        raise
    return [(path,)]


def _known(table: Table, snapshot: Snapshot) -> KnownStatistics | None:
    """The statistics to go on from; a file that is gone or broken is as none."""
    found = earlier_statistics(table, snapshot)
    if found is None:
        return None
    try:
        with table.io.new_input(found[0]).open() as stream:
            return KnownStatistics(pq.read_table(stream), found[1])
    except (OSError, pa.ArrowInvalid) as error:
        logger.warning("%s is not used, every manifest is read: %s", found[0], error)
        return None
