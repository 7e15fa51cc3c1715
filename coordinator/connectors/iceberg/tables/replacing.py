"""CREATE OR REPLACE TABLE of a table that is there: Spark makes schema and rows anew in one commit of the same table.

Whoever reads sees the old table or the new one. Its id, folder, history and properties stay, and time travel finds the
rows that it had; its partitions and its order do not.
"""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.types import TimeType, UUIDType

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.spark_sql import quoted_path, quoted_string
from coordinator.connectors.iceberg.table_words import check_for_spark
from coordinator.connectors.iceberg.tables.creation import check_folders, new_table
from coordinator.connectors.iceberg.tables.targets import path_of, session_target
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import TableCreation
from shared.spi.session import Session
from shared.spi.table_writes import TableWrite

_NOT_SPARKS = (UUIDType, TimeType)
"""What a table of Spark's making has as text, or not at all."""


def check_creation(catalog: TableCatalog, change: TableCreation) -> None:
    """Raises ProcessionError for a table that cannot be made, or not in the place of one that is there."""
    new = new_table(change)
    if not change.replaces:
        check_folders(catalog, new, change.schema, change.table)
        return
    schema = new.schema
    foreign = [name for name in schema.column_names if isinstance(schema.find_field(name).field_type, _NOT_SPARKS)]
    names = ", ".join((*foreign, *(each.column.name for each in new.later)))
    if names:
        message = f"Cannot replace a table by one with columns of type uuid, time or json ({names}): drop it first"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def replaced_table(catalog: TableCatalog, write: TableWrite, session: Session) -> Table:
    """The table that is there. Raises ProcessionError: there is none, or the session writes to a branch of it."""
    table, branch, audited = session_target(catalog, write.schema, write.table, session)
    if branch is not None or audited.wap_id is not None:
        message = f"Table {write.schema}.{write.table} cannot be replaced in a branch: the session writes to one"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return check_for_spark(table)


def replacement(write: TableWrite, creation: TableCreation, table: Table) -> str:
    """Spark's statement."""
    target = quoted_path((write.catalog, *write.schema.split("."), *path_of(table, None)))
    given = new_table(creation).properties
    added = {name: text for name, text in given.items() if name not in {*table.properties, "format-version"}}
    listed = ", ".join(f"{quoted_string(name)} = {quoted_string(text)}" for name, text in sorted(added.items()))
    properties = f" TBLPROPERTIES ({listed})" if listed else ""
    return f"{write.before} {target} USING iceberg{properties} AS {write.after}"
