"""Between which numbers the columns of each file lie, from the bounds in manifests; remembered by snapshot."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    TimestampType,
    TimestamptzType,
)

from coordinator.connectors.iceberg.bounds import bound_value
from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.handles import columns_changed, schema_of
from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.scans.planned_files import is_planned_by_server
from coordinator.connectors.iceberg.snapshots.changes import SnapshotKey, snapshot_key
from coordinator.connectors.iceberg.snapshots.known import known_snapshot
from shared.plan.nodes import TableScanNode
from shared.spi.table_statistics import ValueRange

_NUMBERS = (IntegerType, LongType, FloatType, DoubleType, DecimalType, DateType, TimestampType, TimestamptzType)
_MOST_MANIFEST_BYTES = 2 << 20
"""Reading more would take planning longer than an estimate is worth."""
_REMEMBERED = 32

Ranges = Mapping[str, Sequence[ValueRange]]


class ColumnRanges:
    """The ranges of one catalog's snapshots; thread-safe."""

    def __init__(self, catalog: TableCatalog) -> None:
        self._catalog = catalog
        self._known: OrderedDict[tuple[SnapshotKey, int], Ranges] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, scan: TableScanNode) -> Ranges:
        """The ranges of the scanned table at the pinned snapshot; none for metadata tables. Raises ProcessionError."""
        handle = scan.table.connectorHandle
        inner = handle.get("icebergTableName")
        if inner is None or inner.get("tableType", "DATA") != "DATA" or inner.get("snapshotId") is None:
            return {}
        table = self._catalog.load(str(handle["schemaName"]), str(inner["tableName"]))
        snapshot = None if table is None else known_snapshot(table, int(inner["snapshotId"]))
        if table is None or snapshot is None or is_planned_by_server(table):
            return {}
        schema = schema_of(handle)
        if columns_changed(snapshot, schema):
            return {}  # rows of a later snapshot may be read
        key = (snapshot_key(table, snapshot), schema.schema_id)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        with mapped(str(inner["tableName"])):
            found = _ranges(table, snapshot, schema)
        with self._lock:
            self._known[key] = found
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return found


def _ranges(table: Table, snapshot: Snapshot, schema: Schema) -> Ranges:
    if sum(manifest.manifest_length for manifest in manifests_of(table.io, snapshot)) > _MOST_MANIFEST_BYTES:
        return {}
    files = [file.file for file in read_live(table, snapshot).data if file.file.record_count]
    found = {}
    for field in schema.fields:
        of_files = _of_files(field, files) if isinstance(field.field_type, _NUMBERS) else None
        if of_files:
            found[field.name] = of_files
    return found


def _of_files(field: NestedField, files: list[Any]) -> list[ValueRange] | None:
    """None where a file with values does not tell its bounds, or none that the type can have."""
    found = []
    for file in files:
        low, high = ((getattr(file, of) or {}).get(field.field_id) for of in ("lower_bounds", "upper_bounds"))
        nulls = (file.null_value_counts or {}).get(field.field_id, 0)
        least, most = _number(field, low), _number(field, high)
        if least is not None and most is not None:
            found.append(ValueRange(least, most, file.record_count - nulls))
        elif nulls < file.record_count:
            return None
    return found


def _number(field: NestedField, raw: bytes | None) -> float | None:
    value = bound_value(field.field_type, raw)
    return None if value is None else float(value)
