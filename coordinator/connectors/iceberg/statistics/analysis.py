"""ANALYZE: distinct values of the columns into a statistics file of the snapshot, and how many rows it has."""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.table import Table

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.numbers import whole_number
from coordinator.connectors.iceberg.procedures import compute_table_stats
from coordinator.connectors.iceberg.procedures.table_procedure import Call
from coordinator.connectors.iceberg.spark_sql import quoted_path
from coordinator.connectors.iceberg.table_words import check_for_spark
from coordinator.connectors.iceberg.tables.targets import spelled
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import PropertyDeclaration
from shared.spi.procedure import ArgumentError, ProcedureContext

ANALYZE_PROPERTIES = (
    PropertyDeclaration("columns", "array(varchar)", "Columns to analyze; default: all top-level ones."),
)


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
        return _rows(table, (context.catalog, *schema.split("."), spelled(table, name)), context)


def _rows(table: Table, path: tuple[str, ...], context: ProcedureContext) -> int:
    """From the snapshot's summary; where there are deletes, by counting."""
    snapshot = table.current_snapshot()
    assert snapshot is not None
    said = {} if snapshot.summary is None else snapshot.summary.additional_properties
    records = whole_number(said.get("total-records"))
    if said.get("total-delete-files") == "0" and records is not None:
        return records
    check_for_spark(table)
    version = f"VERSION AS OF {snapshot.snapshot_id}"
    (row,) = context.workers.run_sql(f"SELECT count(*) AS n FROM {quoted_path(path)} {version}")  # noqa: S608 - quoted
    return int(row["n"])
