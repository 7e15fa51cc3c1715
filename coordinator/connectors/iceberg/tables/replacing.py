"""CREATE OR REPLACE TABLE of a table that is there: Spark makes schema and rows anew in one commit of the same table.

Whoever reads sees the old table or the new one. Its id, folder, history and properties stay, and time travel finds the
rows that it had; its partitions and its order do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IcebergType, ListType, MapType, StructType, TimeType, UUIDType

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.snapshots.column_types import read_as
from coordinator.connectors.iceberg.spark_sql import quoted_path, quoted_string
from coordinator.connectors.iceberg.table_words import check_for_spark
from coordinator.connectors.iceberg.tables.creation import check_folders, new_table
from coordinator.connectors.iceberg.tables.targets import path_of, session_target
from coordinator.connectors.iceberg.tables.wide import writer_properties
from coordinator.connectors.iceberg.types import iceberg_type
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import TableCreation
from shared.spi.session import Session
from shared.spi.table_writes import TableWrite

REPLACED = "spark.procession.replaced-metadata"
"""The setting that tells our catalog in the JVM which metadata file is replaced: with another one, nothing is.

Iceberg's own way would put back what others expired meanwhile, whose files are gone, and lose what they committed.
"""
UUIDS = "spark.procession.uuid-columns"
"""The setting that tells it where the new columns hold UUIDs, for which Spark has no type (``UuidColumns.java``)."""


def check_creation(catalog: TableCatalog, change: TableCreation) -> None:
    """Raises ProcessionError for a table that cannot be made, or not in the place of one that is there."""
    if not change.replaces:
        check_folders(catalog, new_table(change), change.schema, change.table)
        return
    table = catalog.load(change.schema, change.table)
    schema = _new_schema(change, table)
    times = [name for name in schema.column_names if isinstance(schema.find_type(name), TimeType)]
    if times:
        message = (
            f"Cannot replace a table by one with columns of type time ({', '.join(times)}): Spark cannot write them"
        )
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    if table is not None:  # else its absence is told when it is replaced
        _check_partitions(table, schema)


def _new_schema(change: TableCreation, table: Table | None) -> Schema:
    """Without columns of type json; raises NOT_SUPPORTED for types that the table's format version has not."""
    version = {} if table is None else {"format-version": str(table.format_version)}
    return new_table(replace(change, properties={**change.properties, **version})).schema


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


def replacing_settings(creation: TableCreation, table: Table, *, named: bool) -> dict[str, str]:
    """What our catalog in the JVM is told. Raises NOT_SUPPORTED for UUIDs where it is not there (not ``named``)."""
    numbers = count(1)
    types = [iceberg_type(column.type, lambda: next(numbers)) for column in creation.columns]
    places = [place for i, type_ in enumerate(types) for place in _uuid_places(type_, str(i))]
    if places and not named:
        message = "Cannot replace a table by one with columns of type uuid: Spark lacks our jar (docs/operations.md)"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return {REPLACED: table.metadata_location, **({UUIDS: ",".join(places)} if places else {})}


def _uuid_places(type_: IcebergType, place: str) -> Iterator[str]:
    match type_:
        case UUIDType():
            yield place
        case StructType():
            for number, field in enumerate(type_.fields):
                yield from _uuid_places(field.field_type, f"{place}/{number}")
        case ListType():
            yield from _uuid_places(type_.element_type, f"{place}/0")
        case MapType():
            yield from _uuid_places(type_.key_type, f"{place}/0")
            yield from _uuid_places(type_.value_type, f"{place}/1")


def replacement(write: TableWrite, creation: TableCreation, table: Table) -> str:
    """Spark's statement. Raises NOT_SUPPORTED for columns that the table cannot lose.

    Properties stay, and those come that its new columns need to be written.
    """
    target = quoted_path((write.catalog, *write.schema.split("."), *path_of(table, None)))
    schema = _new_schema(creation, table)
    _check_partitions(table, schema)
    added = writer_properties(schema, table.properties)
    listed = ", ".join(f"{quoted_string(name)} = {quoted_string(text)}" for name, text in sorted(added.items()))
    properties = f" TBLPROPERTIES ({listed})" if listed else ""
    return f"{write.before} {target} USING iceberg{properties} AS {write.after}"
