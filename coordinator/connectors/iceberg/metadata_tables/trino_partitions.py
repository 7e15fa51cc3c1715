"""``$partitions`` for Trino's clients: a row of partition values, counts, and a row of the columns' ranges.

Source of names and types: Trino 476, ``PartitionsTable``. A table without partitions has the column ``partition`` here
too, always NULL: by the five columns Trino's SQLAlchemy dialect tells Iceberg's tables from Hive's, whose partition
columns it would call an index.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.partitioning import PartitionField
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.metadata_tables.of_partitions import (
    PartitionSums,
    measured_columns,
    partition_key,
    result_type,
)
from coordinator.connectors.iceberg.metadata_tables.values import bigint, python_value
from coordinator.connectors.iceberg.types import presto_type, row_field
from shared.plan.types import Field, Type

_BIGINT = Type("bigint")
_NOTHING = (Field("none", Type("boolean")),)


def trino_partition_columns(table: Table) -> dict[str, str]:
    """Columns of ``$partitions`` as Trino has them."""
    schema = table.schema()
    partition = tuple(row_field(f.name, presto_type(result_type(f, schema))) for f in _fields(table))
    data = []
    for column in measured_columns(table):
        own = presto_type(column.field_type)
        counts = (Field("null_count", _BIGINT), Field("nan_count", _BIGINT))
        data.append(row_field(column.name, Type("row", (Field("min", own), Field("max", own), *counts))))
    return {
        "partition": str(Type("row", partition or _NOTHING)),
        **dict.fromkeys(("record_count", "file_count", "total_size"), "bigint"),
        "data": str(Type("row", tuple(data) or _NOTHING)),
    }


def trino_partitions(table: Table, snapshot: Snapshot | None) -> Iterator[tuple[object, ...]]:
    """One row a partition of one spec; fields of other specs are NULL in it."""
    schema, measured, fields = table.schema(), measured_columns(table), _fields(table)
    found: dict[tuple[int, tuple[object, ...]], PartitionSums] = {}
    for live in read_live(table, snapshot).data:
        key = live.file.spec_id, partition_key(live.file, fields, table)
        found.setdefault(key, PartitionSums()).add(live.file, measured)
    for (_, values), sums in found.items():
        shown = {f.name: python_value(result_type(f, schema), v) for f, v in zip(fields, values, strict=True)}
        data = {column.name: sums.range(column) | _nan_count(sums, column.field_id) for column in measured}
        yield shown or None, bigint(sums.rows), sums.files, bigint(sums.bytes), data or None


def _nan_count(sums: PartitionSums, field_id: int) -> dict[str, object]:
    return {"nan_count": bigint(sums.nans.get(field_id))}


def _fields(table: Table) -> list[PartitionField]:
    """Those of all specs, but of columns that were dropped."""
    schema = table.schema()
    fields: dict[int, PartitionField] = {}
    for spec in table.specs().values():
        for field in spec.fields:
            if schema.find_column_name(field.source_id) is not None:
                fields.setdefault(field.field_id, field)
    return list(fields.values())
