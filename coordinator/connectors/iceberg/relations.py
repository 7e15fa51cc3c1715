"""What engines read for a scan of an Iceberg table: Spark knows it by name, the connector reads its files.

Both are at the snapshot of the handle.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.handles import columns_changed, schema_of
from coordinator.connectors.iceberg.opaque_types import unread_columns
from coordinator.connectors.iceberg.row_position import LINEAGE_IDS, MADE_UP_IDS
from coordinator.connectors.iceberg.scans.columns import leaf_ids
from coordinator.connectors.iceberg.scans.scan import Scan, scan_of
from coordinator.connectors.iceberg.scans.snapshot_files import SnapshotFiles
from coordinator.connectors.iceberg.snapshots.changes import count
from coordinator.connectors.iceberg.snapshots.known import known_snapshot
from coordinator.connectors.iceberg.spark_types import times_of, unknown_to_spark
from coordinator.connectors.iceberg.statistics.decoded_sizes import DecodedSizes
from coordinator.connectors.iceberg.tables.targets import spelled
from coordinator.kernels.schema import parts
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import TableScanNode
from shared.spi.relation import CatalogTable, ReadHere, RowsRelation


def catalog_table(
    scan: TableScanNode, table: Table | None = None, here: ReadHere | str = "it is a table of Spark's alone"
) -> CatalogTable:
    """The table that the scan's handle names, at the snapshot that planning pinned; ``table`` tells its spelling."""
    handle = scan.table.connectorHandle
    inner = handle["icebergTableName"]
    number = inner.get("snapshotId")
    snapshot = None if table is None or number is None else known_snapshot(table, int(number))
    if snapshot is not None and columns_changed(snapshot, schema_of(handle)):
        number = None
    parts = (scan.table.connectorId, str(handle["schemaName"]), spelled(table, str(inner["tableName"])))
    return CatalogTable(parts, None if number is None else int(number), here, _reader_options(scan))


def _reader_options(scan: TableScanNode) -> tuple[tuple[str, str], ...]:
    """What Spark's reader must not do with columns that it makes up.

    Iceberg 1.11 answers aggregates from metadata, where it finds no such column, and fails. Its reader of vectors of
    row ids (``RowIdVectorReader``) keeps their memory beside Spark's heap.
    """
    asked = {int(handle["columnIdentity"]["id"]) for handle in scan.assignments.values() if "columnIdentity" in handle}
    options = (("aggregate-push-down-enabled", "false"),) if asked & MADE_UP_IDS else ()
    return (*options, ("vectorization-enabled", "false")) if asked & LINEAGE_IDS else options


_KERNELS_INSIDE = ("float", "double", "uuid", "fixed")


def read_here(scan: TableScanNode, table: Table, known: SnapshotFiles, decoded: DecodedSizes) -> ReadHere | str:
    """How the scan is read without Spark, or why it is not. Raises ProcessionError."""
    names = dict.fromkeys(_name(handle) for handle in scan.assignments.values())
    unread = unread_columns(table.schema())
    if asked := next((name for name in names if name in unread), None):
        subject = f"{'.'.join(table.name())} is of type {unread[asked]}"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Column {asked} of table {subject}, which cannot be read")
    found = scan_of(table, known, scan.table, tuple(names))
    if isinstance(found, str):
        times = ", ".join(times_of(table))
        if foreign := unknown_to_spark(table) or (times and f"columns of type time ({times})"):
            message = f"Table {'.'.join(table.name())} cannot be read: {found}, and Spark knows no {foreign}"
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
        return found
    relation = RowsRelation(scan.table.connectorId, scan.table, tuple(names))
    snapshot, leaves = _snapshot(found, scan), leaf_ids(found.columns)
    estimate = None if snapshot is None else _decoded(found, snapshot, leaves, decoded)
    direct, only = _is_direct(found), bool(times_of(table) or unknown_to_spark(table))
    held, page = (0, 0) if snapshot is None else decoded.held_by_reader(found.table, snapshot, leaves)
    files = len(found.files)
    strange = next((f"{c.name} of type variant" for c in found.columns if c.holds_variant), "")
    return ReadHere(
        *(relation, found.size_bytes, found.rows, files, estimate, direct, only, held),
        decoded_here=strange,
        page_bytes=page,
    )


def _is_direct(found: Scan) -> bool:
    return all(column.as_stored and _is_plain(column.field["type"]) for column in found.columns)


def _is_plain(iceberg: object) -> bool:
    """Whether an engine reads the type by itself: not what holds floating point, UUIDs or fixed bytes inside."""
    inner = [part["type"] for part in parts(iceberg)]
    return all(_is_plain(type_) and not str(type_).startswith(_KERNELS_INSIDE) for type_ in inner)


def _decoded(found: Scan, snapshot: Snapshot, leaves: Collection[int], decoded: DecodedSizes) -> int | None:
    """Of the share of the snapshot's rows that is read."""
    size = decoded.of(found.table, snapshot, leaves)
    total = count(snapshot, "total-records")
    return size if size is None or not total else size * found.rows // max(total, found.rows)


def _snapshot(found: Scan, scan: TableScanNode) -> Snapshot | None:
    snapshot_id = scan.table.connectorHandle["icebergTableName"].get("snapshotId")
    return known_snapshot(found.table, None if snapshot_id is None else int(snapshot_id))


def _name(handle: dict[str, Any]) -> str:
    return str(handle["columnIdentity"]["name"])
