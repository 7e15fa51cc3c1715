"""Lists of objects as an identity may see them, in the order that they have."""

from __future__ import annotations

from collections.abc import Sequence

from shared.spi.access_control import Identity, SystemAccessControl
from shared.spi.accesses import TableName
from shared.spi.connector import ColumnMetadata, TableMetadata, ViewMetadata


def visible_schemas(
    control: SystemAccessControl, identity: Identity, catalog: str, schemas: Sequence[str]
) -> tuple[str, ...]:
    seen = control.filter_schemas(identity, catalog, schemas)
    return tuple(schema for schema in schemas if schema in seen)


def visible_tables(
    control: SystemAccessControl, identity: Identity, catalog: str, schema: str, tables: Sequence[str]
) -> tuple[str, ...]:
    """Tables or views of one schema."""
    seen = control.filter_tables(identity, catalog, [(schema.lower(), table.lower()) for table in tables])
    return tuple(table for table in tables if (schema.lower(), table.lower()) in seen)


def visible_columns(
    control: SystemAccessControl,
    identity: Identity,
    found: TableMetadata | ViewMetadata,
    columns: Sequence[ColumnMetadata],
) -> list[ColumnMetadata]:
    name = TableName(found.catalog.lower(), found.schema.lower(), found.name.lower())
    seen = control.filter_columns(identity, name, [column.name for column in columns])
    return [column for column in columns if column.name in seen]
