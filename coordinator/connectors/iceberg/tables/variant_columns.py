"""Columns of type json in new tables: Iceberg stores them as variant, which PyIceberg cannot write and Spark adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType

from coordinator.connectors.iceberg.opaque_types import is_variant, within
from coordinator.connectors.iceberg.spark_sql import quoted_name, quoted_path
from coordinator.connectors.iceberg.tables.spark_ddl import definition
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import NewColumn


@dataclass(frozen=True, slots=True)
class LaterColumn:
    """A column that is added once the table has format version 3; ``after`` names its neighbour, None: it is first."""

    column: NewColumn
    after: str | None


def check_variants(column: NewColumn, type_: IcebergType, version: int) -> None:
    """Raises NOT_SUPPORTED where a new column would hold variants and cannot."""
    if not holds_variant(type_):
        return
    if version < 3:
        message = f"Column {column.name} of type {column.type} is stored as variant, which needs format_version = '3'"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    if not column.nullable:
        message = f"Column {column.name} of type {column.type} is stored as variant, which cannot be NOT NULL here"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def holds_variant(type_: IcebergType) -> bool:
    """At any depth."""
    return any(is_variant(part) for part in within(type_))


def without_variants(columns: Sequence[NewColumn], schema: Schema) -> tuple[Schema, tuple[LaterColumn, ...]]:
    """The schema that PyIceberg can write, and what has to be added; raises NOT_SUPPORTED when nothing is left."""
    later, before = [], None
    for column, field in zip(columns, schema.fields, strict=True):
        if holds_variant(field.field_type):
            later.append(LaterColumn(column, before))
        before = column.name
    kept = [field for field in schema.fields if not holds_variant(field.field_type)]
    if later and not kept:
        message = "A table needs a column that is not of type json"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return (Schema(*kept) if later else schema), tuple(later)


def add_statement(catalog: str, schema: str, table: str, later: Sequence[LaterColumn]) -> str:
    """One ALTER TABLE of Spark's for all of them."""
    path = quoted_path((catalog, *schema.split("."), table))
    return f"ALTER TABLE {path} ADD COLUMNS ({', '.join(map(_added, later))})"


def _added(later: LaterColumn) -> str:
    place = "FIRST" if later.after is None else f"AFTER {quoted_name(later.after)}"
    return f"{definition(later.column)} {place}"
