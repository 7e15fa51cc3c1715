"""A column that is added to a table, and the partition fields that are asked for beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiceberg.partitioning import PartitionField
from pyiceberg.schema import Schema
from pyiceberg.table import Transaction
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.transforms import BucketTransform, IdentityTransform, Transform, TruncateTransform
from pyiceberg.types import IcebergType, NestedField

from coordinator.connectors.iceberg.spark_sql import quoted_name, quoted_path
from coordinator.connectors.iceberg.tables.creation import transforms_of
from coordinator.connectors.iceberg.tables.layout import partition_spec
from shared.spi.catalog_changes import ColumnAddition, NewColumn


def new_partition_fields(column: NewColumn, type_: IcebergType) -> Sequence[PartitionField]:
    """What ``partitioning`` asks for; raises INVALID_TABLE_PROPERTY."""
    schema = Schema(NestedField(1, column.name, type_, required=False))
    return partition_spec(schema, transforms_of([column])).fields


def stage_addition(update: UpdateSchema, column: NewColumn, type_: IcebergType) -> None:
    """Add the column at the end."""
    update.add_column((column.name,), type_, doc=column.comment)


def stage_partition_fields(transaction: Transaction, column: NewColumn, fields: Sequence[PartitionField]) -> None:
    """Files written from now on are divided by the fields too; those of before stay as they are."""
    if fields:
        with transaction.update_spec() as update:
            for field in fields:
                update.add_field(column.name, field.transform, field.name)


def partition_steps(catalog: str, change: ColumnAddition, fields: Sequence[PartitionField]) -> list[str]:
    """The same in Spark's words, a statement a field."""
    table = f"ALTER TABLE {quoted_path((catalog, *change.schema.split('.'), change.table))}"
    name = quoted_name(change.column.name)
    return [f"{table} ADD PARTITION FIELD {_in_spark(field.transform, name)}" for field in fields]


def _in_spark(transform: Transform[object, Any], column: str) -> str:
    match transform:
        case IdentityTransform():
            return column
        case BucketTransform(num_buckets=count):
            return f"bucket({count}, {column})"
        case TruncateTransform(width=width):
            return f"truncate({width}, {column})"
        case _:
            return f"{transform}({column})"
