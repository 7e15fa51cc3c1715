"""``$partitions``: rows, files and bytes of each partition, and the ranges of columns by the files' statistics.

Source of names and types: Presto 0.296, ``PartitionTable``. Ranges are those of data files, deletes apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionField
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IcebergType, NestedField, PrimitiveType

from coordinator.connectors.iceberg.bounds import bound_value
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.metadata_tables.values import bigint, bound_shown, python_value
from coordinator.connectors.iceberg.types import presto_type
from shared.plan.types import Field, Type

_BIGINT = Type("bigint")


def partition_columns(table: Table) -> dict[str, str]:
    """Columns of ``$partitions``: the fields of the current partition spec, counts, then a row for each column."""
    schema = table.schema()
    columns = {f.name: str(presto_type(result_type(f, schema))) for f in table.spec().fields}
    columns |= dict.fromkeys(("row_count", "file_count", "total_size"), "bigint")
    for column in measured_columns(table):
        kind = presto_type(column.field_type)
        fields = (Field("min", kind), Field("max", kind), Field("null_count", _BIGINT))
        columns[column.name.lower()] = str(Type("row", fields))
    return columns


def partitions(table: Table, snapshot: Snapshot | None) -> Iterator[tuple[object, ...]]:
    """One row a partition; files of older specs give NULL for fields that they do not have."""
    schema, measured = table.schema(), measured_columns(table)
    fields = table.spec().fields
    kinds = [result_type(f, schema) for f in fields]
    found: dict[tuple[object, ...], PartitionSums] = {}
    for live in read_live(table, snapshot).data:
        values = partition_key(live.file, fields, table)
        found.setdefault(values, PartitionSums()).add(live.file, measured)
    for values, partition in found.items():
        shown = (python_value(kind, value) for kind, value in zip(kinds, values, strict=True))
        ranges = (partition.range(column) for column in measured)
        yield *shown, bigint(partition.rows), partition.files, bigint(partition.bytes), *ranges


@dataclass(slots=True)
class PartitionSums:
    """Sums over files; ``lower``, ``upper``, ``nulls`` and ``nans`` are by field id, None once a file does not say."""

    rows: int = 0
    files: int = 0
    bytes: int = 0
    lower: dict[int, Any] = field(default_factory=dict)
    upper: dict[int, Any] = field(default_factory=dict)
    nulls: dict[int, int | None] = field(default_factory=dict)
    nans: dict[int, int | None] = field(default_factory=dict)

    def add(self, file: DataFile, columns: Sequence[NestedField]) -> None:
        """Count a file, and widen the ranges of ``columns`` by it."""
        self.rows += file.record_count
        self.files += 1
        self.bytes += file.file_size_in_bytes
        for column in columns:
            self._extend(file, column)

    def _extend(self, file: DataFile, column: NestedField) -> None:
        key = column.field_id
        nulls = (file.null_value_counts or {}).get(key)
        self.nulls[key] = _sum(self.nulls.get(key, 0), nulls)
        self.nans[key] = _sum(self.nans.get(key, 0), (file.nan_value_counts or {}).get(key))
        if nulls is not None and nulls == file.record_count:
            return
        low = bound_value(column.field_type, (file.lower_bounds or {}).get(key))
        high = bound_value(column.field_type, (file.upper_bounds or {}).get(key))
        self.lower[key] = low if key not in self.lower else _either(min, self.lower[key], low)
        self.upper[key] = high if key not in self.upper else _either(max, self.upper[key], high)

    def range(self, column: NestedField) -> dict[str, object]:
        """What a row of the column's range holds."""
        low, high = (bound_shown(column.field_type, b.get(column.field_id)) for b in (self.lower, self.upper))
        return {"min": low, "max": high, "null_count": bigint(self.nulls.get(column.field_id))}


def _sum(known: int | None, more: int | None) -> int | None:
    return None if known is None or more is None else known + more


def _either(choose: Any, known: object, other: Any) -> object:
    """NULL once a file with values does not say: its bound could be any."""
    return None if known is None or other is None else choose(known, other)


def measured_columns(table: Table) -> list[NestedField]:
    """Primitive columns that are not constant in a partition."""
    constant = {f.source_id for f in table.spec().fields if isinstance(f.transform, IdentityTransform)}
    columns = table.schema().fields
    return [c for c in columns if isinstance(c.field_type, PrimitiveType) and c.field_id not in constant]


def partition_key(file: DataFile, fields: Sequence[PartitionField], table: Table) -> tuple[object, ...]:
    """A file's values of ``fields``; None for those that its own spec does not have."""
    positions = {f.field_id: i for i, f in enumerate(table.specs()[file.spec_id].fields)}
    return tuple(None if f.field_id not in positions else file.partition[positions[f.field_id]] for f in fields)


def result_type(partition_field: PartitionField, schema: Schema) -> IcebergType:
    """The type of a partition field's values."""
    return partition_field.transform.result_type(schema.find_type(partition_field.source_id))
