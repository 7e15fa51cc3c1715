"""What engines read for a scan of an Iceberg table: Spark knows it by name, at the snapshot of the handle."""

from __future__ import annotations

from shared.plan.nodes import TableScanNode
from shared.spi.relation import CatalogTable


def catalog_table(scan: TableScanNode) -> CatalogTable:
    """The table that the scan's handle names, at the snapshot that planning pinned."""
    handle = scan.table.connectorHandle
    inner = handle["icebergTableName"]
    snapshot = inner.get("snapshotId")
    parts = (scan.table.connectorId, str(handle["schemaName"]), str(inner["tableName"]))
    return CatalogTable(parts, None if snapshot is None else int(snapshot))
