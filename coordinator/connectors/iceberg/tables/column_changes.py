"""Changes of columns and comments: by PyIceberg, in format version 3 by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import assert_never

from pyiceberg.exceptions import ValidationError
from pyiceberg.partitioning import PartitionField
from pyiceberg.table import Table
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import IcebergType

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.table_words import check_for_spark
from coordinator.connectors.iceberg.tables.added_columns import (
    new_partition_fields,
    partition_steps,
    stage_addition,
    stage_partition_fields,
)
from coordinator.connectors.iceberg.tables.creation import check_column_name
from coordinator.connectors.iceberg.tables.spark_ddl import ColumnStep, column_step
from coordinator.connectors.iceberg.tables.targets import spelled
from coordinator.connectors.iceberg.tables.variant_columns import check_variants
from coordinator.connectors.iceberg.types import iceberg_type
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import ColumnAddition, ColumnChange, ColumnRemoval, ColumnRename, CommentChange
from shared.spi.procedure import ProcedureContext


def change_columns(catalog: TableCatalog, change: ColumnStep, context: ProcedureContext) -> None:
    """Carry out one change. Raises ProcessionError."""
    table = catalog.open(change.schema, change.table)
    if table.format_version > 2:
        check_for_spark(table)
        change = replace(change, table=spelled(table, change.table))
        if isinstance(change, ColumnRemoval):
            _refuse_used(table, change.column)
        context.workers.run_sql(column_step(context.catalog, change))
        if isinstance(change, ColumnAddition):
            for statement in partition_steps(context.catalog, change, _fields_of(change)):
                context.workers.run_sql(statement)
        return
    with mapped(f"{change.schema}.{change.table}"):
        if isinstance(change, CommentChange) and change.column is None:
            _comment_table(table, change.comment)
            return
        try:
            with table.transaction() as transaction:
                with transaction.update_schema(case_sensitive=False) as update:
                    _stage(update, table, change)
                if isinstance(change, ColumnAddition):
                    stage_partition_fields(transaction, change.column, _fields_of(change))
        except (ValidationError, ValueError) as error:
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, _error_text(error)) from error


def _fields_of(change: ColumnAddition) -> Sequence[PartitionField]:
    return new_partition_fields(change.column, type_of(change.column.type))


def _comment_table(table: Table, comment: str | None) -> None:
    with table.transaction() as transaction:
        if comment is None:
            transaction.remove_properties("comment")
        else:
            transaction.set_properties(comment=comment)


def _stage(update: UpdateSchema, table: Table, change: ColumnStep) -> None:
    match change:
        case ColumnAddition(column=column):
            check_column_name(column.name)
            check_variants(column, type_of(column.type), table.format_version)
            stage_addition(update, column, type_of(column.type))
        case ColumnRemoval(column=name):
            _refuse_used(table, name)
            update.delete_column((name,))
        case ColumnRename(column=name, new_name=new):
            check_column_name(new)
            update.rename_column((name,), new)
        case ColumnChange(column=name, type=None, nullable=nullable):
            if nullable:
                update.make_column_optional((name,))
            else:
                update.update_column((name,), required=True)
        case ColumnChange(column=name, type=kind):
            assert kind is not None
            update.update_column((name,), field_type=type_of(kind))
        case CommentChange(column=name, comment=comment):
            assert name is not None
            update.update_column((name,), doc=comment or "")
        case _:
            assert_never(change)


def _refuse_used(table: Table, name: str) -> None:
    """A column that old partition specs or the sort order need stays."""
    column = table.schema().find_field(name, case_sensitive=False)
    specs = [field for spec in table.specs().values() for field in spec.fields]
    if any(f.source_id == column.field_id and str(f.transform) != "void" for f in specs):
        message = "This connector does not support dropping columns which exist in any of the table's partition specs"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    if any(f.source_id == column.field_id for f in table.sort_order().fields):
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Column {name} is part of the table's sort order")


def type_of(presto: str) -> IcebergType:
    """Iceberg's for a column's. Raises ProcessionError for one that it has not."""
    numbers = count(1)
    return iceberg_type(presto, lambda: next(numbers))


def _error_text(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
