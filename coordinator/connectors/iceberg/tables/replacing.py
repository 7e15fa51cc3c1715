"""CREATE OR REPLACE TABLE of a table that is there: Spark makes schema and rows anew in one commit of the same table.

Whoever reads sees the old table or the new one. Its id, folder, history and properties stay, and time travel finds the
rows that it had; its partitions and its order do not.
"""

from __future__ import annotations

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import TimeType, UUIDType

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.snapshots.column_types import read_as
from coordinator.connectors.iceberg.spark_sql import quoted_path, quoted_string
from coordinator.connectors.iceberg.table_words import check_for_spark
from coordinator.connectors.iceberg.tables.creation import check_folders, new_table
from coordinator.connectors.iceberg.tables.targets import path_of, session_target
from coordinator.connectors.iceberg.tables.wide import writer_properties
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import TableCreation
from shared.spi.session import Session
from shared.spi.table_writes import TableWrite

REPLACED = "spark.procession.replaced-metadata"
"""The setting that tells our catalog in the JVM which metadata file is replaced: with another one, nothing is.

Iceberg's own way would put back what others expired meanwhile, whose files are gone, and lose what they committed.
"""
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
    table = catalog.load(change.schema, change.table)
    if table is not None:  # else its absence is told when it is replaced
        _check_partitions(table, schema)


def _check_partitions(table: Table, schema: Schema) -> None:
    """Raises NOT_SUPPORTED where a column of any spec would be gone, or of a type that the spec is not for.

    Specs stay with a table, for the files of its history: Spark would neither write to it nor delete from it any more.
    """
    fields = [field for spec in table.specs().values() for field in spec.fields if str(field.transform) != "void"]
    names = dict.fromkeys(_column_name(table, field.source_id) for field in fields)
    gone = [name for name in names if not _stays(table, schema, name)]
    if gone:
        message = (
            f"Cannot replace table {'.'.join(table.name())} by one where columns of its partition specs are gone or of "
            f"other types ({', '.join(gone)}): drop it first"
        )
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def _column_name(table: Table, number: int) -> str:
    """As it is now; that of a column which is gone is told by its number."""
    return table.schema().find_column_name(number) or f"column {number}"


def _stays(table: Table, schema: Schema, name: str) -> bool:
    try:
        before, after = table.schema().find_type(name), schema.find_type(name)
    except ValueError:
        return False
    return read_as(before, after)


def replaced_table(catalog: TableCatalog, write: TableWrite, session: Session) -> Table:
    """The table that is there. Raises ProcessionError: there is none, or the session writes to a branch of it."""
    table, branch, audited = session_target(catalog, write.schema, write.table, session)
    if branch is not None or audited.wap_id is not None:
        message = f"Table {write.schema}.{write.table} cannot be replaced in a branch: the session writes to one"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return check_for_spark(table)


def replacement(write: TableWrite, creation: TableCreation, table: Table) -> str:
    """Spark's statement. Raises NOT_SUPPORTED for columns that the table cannot lose.

    Properties stay, and those come that its new columns need to be written.
    """
    target = quoted_path((write.catalog, *write.schema.split("."), *path_of(table, None)))
    schema = new_table(creation).schema
    _check_partitions(table, schema)
    added = writer_properties(schema, table.properties)
    listed = ", ".join(f"{quoted_string(name)} = {quoted_string(text)}" for name, text in sorted(added.items()))
    properties = f" TBLPROPERTIES ({listed})" if listed else ""
    return f"{write.before} {target} USING iceberg{properties} AS {write.after}"
