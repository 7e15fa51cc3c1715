"""What the metadata of a table says of its columns: sizes, NULLs, bounds and distinct values, read without a scan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

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
)

from coordinator.connectors.iceberg.bounds import bound_value
from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.filters import whole_files
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from coordinator.connectors.iceberg.scans.planned_files import is_planned_by_server
from coordinator.connectors.iceberg.snapshots.changes import count
from coordinator.connectors.iceberg.snapshots.metadata_deletes import exact_predicate
from coordinator.kernels.functions.numbers import java_double
from shared.spi.table_statistics import ColumnStatistics, TableStatistics
from shared.spi.table_writes import RowFilter

_WITH_RANGE = (IntegerType, LongType, FloatType, DoubleType, DecimalType, DateType)
"""Types whose bounds Presto shows."""


def table_statistics(catalog: TableCatalog, schema: str, name: str) -> TableStatistics | None:
    """None when there is no such table. Rows that are deleted but still in files count for the columns."""
    table = catalog.load(schema, name)
    if table is None:
        return None
    with mapped(f"{schema}.{name}"):
        snapshot = table.current_snapshot()
        if snapshot is None:
            none = tuple(ColumnStatistics(f.name.lower()) for f in table.schema().fields)
            return TableStatistics(0, none)
        if is_planned_by_server(table):
            distinct = _distinct(table, snapshot)
            columns = (ColumnStatistics(f.name.lower(), None, distinct.get(f.field_id)) for f in table.schema().fields)
            return TableStatistics(count(snapshot, "total-records"), tuple(columns))
        return _of_files(table, read_live(table, snapshot).data, _distinct(table, snapshot))


def filtered_statistics(catalog: TableCatalog, schema: str, name: str, rows: RowFilter) -> TableStatistics | None:
    """Of the files all of whose rows match; None where a file has others too, as far as metadata tells."""
    table = catalog.load(schema, name)
    if table is None:
        return None
    with mapped(f"{schema}.{name}"):
        predicate, snapshot = exact_predicate(table, rows), table.current_snapshot()
        if predicate is None or is_planned_by_server(table):
            return None
        if snapshot is None:
            return _of_files(table, [], {})
        live = read_live(table, snapshot).data
        matching = whole_files(live, predicate, table)
        if matching is None:
            return None
        return _of_files(table, matching, _distinct(table, snapshot) if len(matching) == len(live) else {})


def _of_files(table: Table, live: Sequence[LiveFile], distinct: Mapping[int, float]) -> TableStatistics:
    files = [file.file for file in live]
    rows = sum(file.record_count for file in files)
    return TableStatistics(rows, tuple(_column(field, files, rows, distinct) for field in table.schema().fields))


def _column(field: NestedField, files: list[Any], rows: int, distinct: Mapping[int, float]) -> ColumnStatistics:
    sizes, nulls = (_metrics(field, [getattr(f, of) for f in files]) for of in ("column_sizes", "null_value_counts"))
    lows, highs = (_bounds(field, [getattr(f, of) for f in files]) for of in ("lower_bounds", "upper_bounds"))
    whole = len(files) > 0
    # A file without bounds whose values are not all NULL may hold any.
    without = sum(_all_null(field, file) for file in files)
    ranged = isinstance(field.field_type, _WITH_RANGE) and len(lows) == len(highs) == len(files) - without
    return ColumnStatistics(
        field.name.lower(),
        data_size=float(sum(sizes)) if whole and len(sizes) == len(files) and not _has_width(field) else None,
        distinct_values=distinct.get(field.field_id),
        nulls_fraction=sum(nulls) / rows if rows and len(nulls) == len(files) else None,
        low=_shown(min(lows), field) if lows and ranged else None,
        high=_shown(max(highs), field) if highs and ranged else None,
    )


def _has_width(field: NestedField) -> bool:
    return isinstance(field.field_type, _WITH_RANGE)


def _all_null(field: NestedField, file: Any) -> bool:
    nulls = (file.null_value_counts or {}).get(field.field_id)
    return bool(file.record_count == 0 or nulls == file.record_count)


def _metrics(field: NestedField, maps: list[Mapping[int, Any] | None]) -> list[Any]:
    return [of[field.field_id] for of in maps if of is not None and field.field_id in of]


def _bounds(field: NestedField, maps: list[Mapping[int, bytes] | None]) -> list[Any]:
    kind = field.field_type
    values = (bound_value(kind, raw) for raw in _metrics(field, maps))
    return [value for value in values if value is not None]


def _shown(value: Any, field: NestedField) -> str | None:
    if isinstance(value, float):
        return java_double(value)
    if not isinstance(field.field_type, DateType):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    try:
        return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
    except OverflowError:
        return None


def distinct_values(table: Table, snapshot: Snapshot | None) -> Mapping[str, float]:
    """Distinct values by column, lower case, as the metadata of the table tells them; no file is read."""
    if snapshot is None or not table.metadata.statistics:
        return {}
    counts = _distinct(table, snapshot)
    return {f.name.lower(): counts[f.field_id] for f in table.schema().fields if f.field_id in counts}


def _distinct(table: Table, snapshot: Snapshot) -> Mapping[int, float]:
    """Distinct values by field id, of the newest statistics file that an ancestor of the snapshot has."""
    by_snapshot = {file.snapshot_id: file for file in table.metadata.statistics}
    found: dict[int, float] = defaultdict(float)
    current: Snapshot | None = snapshot
    while current is not None:
        file = by_snapshot.get(current.snapshot_id)
        if file is not None:
            for blob in file.blob_metadata:
                count = (blob.properties or {}).get("ndv")
                if count is not None and len(blob.fields) == 1:
                    found[blob.fields[0]] = float(count)
            break
        parent = current.parent_snapshot_id
        current = None if parent is None else table.snapshot_by_id(parent)
    return found
