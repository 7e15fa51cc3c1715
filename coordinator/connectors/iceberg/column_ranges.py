"""Least and greatest numbers of a table's columns, from the bounds in its manifests; remembered by snapshot."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from pyiceberg.conversions import from_bytes
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

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.manifests import read_live
from shared.plan.nodes import TableScanNode

_NUMBERS = (IntegerType, LongType, FloatType, DoubleType, DecimalType, DateType, TimestampType, TimestamptzType)
_MOST_MANIFEST_BYTES = 2 << 20
"""Reading more would take planning longer than an estimate is worth."""
_REMEMBERED = 128

Ranges = Mapping[str, tuple[float, float]]


class ColumnRanges:
    """The ranges of one catalog's snapshots; thread-safe."""

    def __init__(self, catalog: TableCatalog) -> None:
        self._catalog = catalog
        self._known: OrderedDict[tuple[str, int, int], Ranges] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, scan: TableScanNode) -> Ranges:
        """The ranges of the scanned table at the pinned snapshot; none for metadata tables. Raises ProcessionError."""
        handle = scan.table.connectorHandle
        inner = handle.get("icebergTableName")
        if inner is None or inner.get("tableType", "DATA") != "DATA" or inner.get("snapshotId") is None:
            return {}
        table = self._catalog.load(str(handle["schemaName"]), str(inner["tableName"]))
        snapshot = None if table is None else table.snapshot_by_id(int(inner["snapshotId"]))
        if table is None or snapshot is None:
            return {}
        schema = Schema.model_validate_json(handle["tableSchemaJson"])
        key = (str(table.metadata.table_uuid), snapshot.snapshot_id, schema.schema_id)
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
    if sum(manifest.manifest_length for manifest in snapshot.manifests(table.io)) > _MOST_MANIFEST_BYTES:
        return {}
    files = [file.file for file in read_live(table, snapshot).data if file.file.record_count]
    found = {}
    for field in schema.fields:
        pair = _range(field, files) if isinstance(field.field_type, _NUMBERS) else None
        if pair is not None:
            found[field.name] = pair
    return found


def _range(field: NestedField, files: list[Any]) -> tuple[float, float] | None:
    """None where a file with values does not tell its bounds."""
    lows, highs = [], []
    for file in files:
        low, high = ((getattr(file, of) or {}).get(field.field_id) for of in ("lower_bounds", "upper_bounds"))
        if low is None or high is None:
            nulls = (file.null_value_counts or {}).get(field.field_id)
            if nulls is None or nulls < file.record_count:
                return None
            continue
        lows.append(_number(field, low))
        highs.append(_number(field, high))
    return (min(lows), max(highs)) if lows else None


def _number(field: NestedField, raw: bytes) -> float:
    kind = field.field_type
    # A column that was promoted keeps the bounds of its older files in their narrower form.
    if isinstance(kind, LongType) and len(raw) == 4:
        return float(from_bytes(IntegerType(), raw))
    if isinstance(kind, DoubleType) and len(raw) == 4:
        return float(from_bytes(FloatType(), raw))
    value: Any = from_bytes(kind, raw)  # type: ignore[arg-type]
    return float(value)
