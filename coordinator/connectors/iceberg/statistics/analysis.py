"""ANALYZE: distinct values of the columns into a statistics file of the snapshot, and how many rows it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.numbers import whole_number
from coordinator.connectors.iceberg.procedures import compute_table_stats
from coordinator.connectors.iceberg.procedures.table_procedure import Call
from coordinator.connectors.iceberg.rewrite.planning.tasks import position_delete
from coordinator.connectors.iceberg.spark_sql import quoted_path
from coordinator.connectors.iceberg.storage import storage_of
from coordinator.connectors.iceberg.table_words import check_for_spark
from coordinator.connectors.iceberg.tables.targets import spelled
from coordinator.kernels.deletes import read_positions
from coordinator.kernels.errors import KernelError
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import PropertyDeclaration
from shared.spi.procedure import ArgumentError, ProcedureContext

ANALYZE_PROPERTIES = (
    PropertyDeclaration("columns", "array(varchar)", "Columns to analyze; default: all top-level ones."),
)

_MOST_DELETES = 5_000_000
"""Rows of position deletes that are read in this process, 8 bytes each."""


def analyze(
    catalog: TableCatalog, schema: str, name: str, columns: Sequence[str] | None, context: ProcedureContext
) -> int:
    """Rows of the snapshot that was analyzed. Raises ProcessionError for unknown columns and failed reads."""
    with mapped(f"{schema}.{name}"):
        table = catalog.open(schema, name)
        snapshot = table.current_snapshot()
        if snapshot is None:
            return 0
        pinned = compute_table_stats.Arguments(
            schema=schema,
            table_name=name,
            snapshot_id=snapshot.snapshot_id,
            columns=None if columns is None else tuple(columns),
        )
        if columns is not None or any(f.field_type.is_primitive for f in table.schema().fields):
            try:
                compute_table_stats.answer(Call(catalog, context, pinned))
            except ArgumentError as error:
                message = f"Invalid value for analyze property 'columns': {error.message}"
                raise ProcessionError(ErrorCode.INVALID_ANALYZE_PROPERTY, message) from error
        return _rows(catalog, table, (context.catalog, *schema.split("."), spelled(table, name)), context)


def _rows(catalog: TableCatalog, table: Table, path: tuple[str, ...], context: ProcedureContext) -> int:
    """From the snapshot's summary; where there are deletes, by counting."""
    snapshot = table.current_snapshot()
    assert snapshot is not None
    said = {} if snapshot.summary is None else snapshot.summary.additional_properties
    records = whole_number(said.get("total-records"))
    if said.get("total-delete-files") == "0" and records is not None:
        return records
    counted = kept_rows(table, snapshot, storage_of(table, catalog.settings.storage))
    if counted is not None:
        return counted
    check_for_spark(table)
    version = f"VERSION AS OF {snapshot.snapshot_id}"
    (row,) = context.workers.run_sql(f"SELECT count(*) AS n FROM {quoted_path(path)} {version}")  # noqa: S608 - quoted
    return int(row["n"])


def kept_rows(table: Table, snapshot: Snapshot, storage: Mapping[str, str]) -> int | None:
    """Rows that no position delete takes out; None where an engine has to count. Raises ProcessionError."""
    live = read_live(table, snapshot, statistics=False)
    listed = [d for d in live.deletes if d.is_position_delete and (d.is_parquet or d.vector is not None)]
    if len(listed) < len(live.deletes) or sum(d.file.record_count for d in listed) > _MOST_DELETES:
        return None
    index = DeleteIndex(live.deletes, table.specs())
    applied = {file.key: index.of(file) for file in live.data}
    asked = list({delete.key: delete for found in applied.values() for delete in found}.values())
    try:
        read = read_positions([position_delete(delete) for delete in asked], applied, storage)
    except KernelError as error:
        raise ProcessionError(ErrorCode[error.name], error.message) from error
    positions = dict(zip([delete.key for delete in asked], read, strict=True))
    gone = 0
    for key, found in applied.items():
        parts = [positions[delete.key][key] for delete in found if key in positions[delete.key]]
        gone += len(np.unique(np.concatenate(parts))) if parts else 0
    return sum(file.file.record_count for file in live.data) - gone
