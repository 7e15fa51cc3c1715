"""New tables: schema, partition spec, sort order and properties of a TableCreation, and where its files go.

A table of format version 3 is made as version 2 and upgraded by Spark, since PyIceberg does not write version 3; like
a table that is filled first (CTAS), it has another name until it is complete. A REST server makes version 3 itself.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, TableAlreadyExistsError
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortOrder
from pyiceberg.types import NestedField, TimeType

from coordinator.connectors.iceberg.catalog import UNFINISHED, TableCatalog
from coordinator.connectors.iceberg.failures import invalid_property, mapped, nul_in_name
from coordinator.connectors.iceberg.maintenance.listing import walk
from coordinator.connectors.iceberg.maintenance.shared_folders import refuse_held_of_new
from coordinator.connectors.iceberg.manifests.metadata_files import NOT_LANDED
from coordinator.connectors.iceberg.metadata_tables.names import reference_name
from coordinator.connectors.iceberg.tables.layout import partition_spec, sort_order
from coordinator.connectors.iceberg.tables.table_properties import canonical, format_version, stored
from coordinator.connectors.iceberg.tables.unfinished import UnfinishedTable, is_own_folder
from coordinator.connectors.iceberg.tables.variant_columns import LaterColumn, check_variants, without_variants
from coordinator.connectors.iceberg.tables.wide import writer_properties
from coordinator.connectors.iceberg.types import iceberg_type
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import NewColumn, TableCreation

_MADE_UP = frozenset(
    ("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number")
)


@dataclass(frozen=True, slots=True)
class NewTable:
    """What PyIceberg is asked to make; ``version`` may be 3, which ``properties`` then do not say yet.

    ``later``: columns that Spark adds then.
    """

    schema: Schema
    spec: PartitionSpec
    order: SortOrder
    properties: dict[str, str]
    location: str | None
    version: int
    later: tuple[LaterColumn, ...] = ()


def new_table(creation: TableCreation) -> NewTable:
    """Raises ProcessionError for names, types, transforms and properties that Iceberg does not have."""
    check_name(creation.table)
    given = canonical(creation.properties)
    version = format_version(given)
    schema = _schema(creation.columns)
    for column, field in zip(creation.columns, schema.fields, strict=True):
        check_variants(column, field.field_type, version)
    if version == 3 and any(isinstance(f.field_type, TimeType) for f in schema.fields):
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, "Columns of type time are not supported in format version 3")
    properties = stored(given, creation.comment)
    if version == 3:
        properties["format-version"] = "2"
    properties |= writer_properties(schema, properties)
    entries = [*(given.get("partitioning") or ()), *transforms_of(creation.columns)]
    spec = partition_spec(schema, entries)
    order = sort_order(schema, given.get("sorted_by") or ())
    schema, later = without_variants(creation.columns, schema)
    return NewTable(schema, spec, order, properties, given.get("location"), version, later)


def _schema(columns: Sequence[NewColumn]) -> Schema:
    numbers = count(len(columns) + 1)
    fields = []
    for number, column in enumerate(columns, start=1):
        check_column_name(column.name)
        kind = iceberg_type(column.type, lambda: next(numbers))
        fields.append(NestedField(number, column.name, kind, required=not column.nullable, doc=column.comment))
    if not fields:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, "A table must have at least one column")
    return Schema(*fields)


def transforms_of(columns: Sequence[NewColumn]) -> list[str]:
    """Transforms said beside a column: ``day`` and ``bucket(4)`` mean ``day(c)`` and ``bucket(c, 4)``."""
    entries = []
    for column in columns:
        for transform in column.properties.get("partitioning") or ():
            name = '"' + column.name.replace('"', '""') + '"'
            head, _, rest = transform.strip().partition("(")
            if head.lower() == "identity":
                entries.append(name)
            elif rest:
                entries.append(f"{head}({name}, {rest}")
            else:
                entries.append(f"{head}({name})")
    return entries


def create(
    catalog: TableCatalog, new: NewTable, schema: str, name: str, shown: str, own: Mapping[str, str] = {}
) -> None:
    """Make the empty table ``schema.name``; ``shown`` is the name whose folder it gets. Raises ProcessionError.

    ``own`` are properties that no statement may give.
    """
    client = catalog.client()
    with mapped(f"{schema}.{shown}"):
        check_folders(catalog, new, schema, shown)
        if new.location is not None and isinstance(client, MetastoreCatalog):
            _refuse_filled(catalog, new.location, schema, shown)
        location = new.location or _location(client, schema, shown)
        try:
            with _recorded(catalog, UnfinishedTable(schema, name, shown, location)):
                client.create_table(
                    (*schema.split("."), name),
                    new.schema,
                    location=location,
                    partition_spec=new.spec,
                    sort_order=new.order,
                    properties={**new.properties, **_version(client, new), **own},
                )
        except TableAlreadyExistsError as error:
            raise already_exists(catalog.settings.catalog, schema, shown) from error
        except NoSuchNamespaceError as error:
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Schema {schema} not found") from error


@contextmanager
def _recorded(catalog: TableCatalog, table: UnfinishedTable) -> Iterator[None]:
    """The record of a hidden table stays until it has its name; that of any other is of its first metadata file alone.

    That file is written before the catalog names it. Where several coordinators share the record it is not kept for a
    name that users see: one that was only suspended could have the catalog name a file that another has removed.
    """
    if table.name != table.shown:
        catalog.unfinished.begin(table)
        yield
        return
    if table.location is None or not is_own_folder(table.location) or catalog.work.shared is not None:
        yield
        return
    record = replace(table, name=f"{UNFINISHED}{uuid.uuid4().hex}")
    catalog.unfinished.begin(record)
    try:
        yield
    except NOT_LANDED:
        catalog.unfinished.close(record.schema, record.name)
        raise
    catalog.unfinished.close(record.schema, record.name)  # of an unknown outcome it is the next start's


def needs_hiding(catalog: TableCatalog) -> bool:
    """Whether an empty table has another name until its coordinator is known to have it still.

    With several coordinators, one that was only suspended may make a table whose file another has removed: that one
    is then hidden, and gets no name.
    """
    return catalog.work.shared is not None and isinstance(catalog.client(), MetastoreCatalog)


def made_by_server(client: Catalog, version: int) -> bool:
    """Whether a table is made in its format version at once, not as version 2 that is upgraded."""
    return version < 3 or isinstance(client, RestCatalog)


def _version(client: Catalog, new: NewTable) -> dict[str, str]:
    return {"format-version": str(new.version)} if new.version > 2 and made_by_server(client, new.version) else {}


def check_folders(catalog: TableCatalog, new: NewTable, schema: str, name: str) -> None:
    """Folders and properties that a statement gave. Raises ProcessionError for those that are not to be used."""
    catalog.check_new_table(schema, new.location, new.properties)
    refuse_held_of_new(catalog, schema, name, new.location, new.properties)


def _refuse_filled(catalog: TableCatalog, location: str, schema: str, name: str) -> None:
    """What is there would be orphans of the new table, whosever it was. As in Trino; a REST server decides itself."""
    is_filled = next(walk(catalog.file_io(location), location), None) is not None
    if is_filled and catalog.load(schema, name) is None:
        message = f"Cannot create a table on a non-empty location: {location}"
        raise ProcessionError(ErrorCode.ICEBERG_FILESYSTEM_ERROR, message)


def already_exists(catalog: str, schema: str, name: str) -> ProcessionError:
    """The table was made by someone else meanwhile."""
    return ProcessionError(ErrorCode.ALREADY_EXISTS, f"Table '{catalog}.{schema}.{name}' already exists")


def _location(client: object, schema: str, name: str) -> str | None:
    """A folder of its own: a renamed or dropped table may have left files under the plain name. None: server's."""
    if not isinstance(client, MetastoreCatalog):
        return None
    plain: str = client._resolve_table_location(None, schema, name)
    return f"{plain}-{uuid.uuid4().hex}"


def check_name(name: str) -> None:
    """Refuses a name that would mean a metadata table, a snapshot or a branch of another table wherever it is used."""
    if "\0" in name:
        raise nul_in_name(name)
    if "$" in name or "@" in name:
        message = f"Invalid Iceberg table name: {name} ('$' and '@' mean metadata tables and snapshots)"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    reference = reference_name(name)
    if reference is not None:
        message = f"Invalid Iceberg table name: {name} (it means a {reference.kind} of table {reference.table})"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def check_column_name(name: str) -> None:
    """Refuses a column that Iceberg's readers make up themselves: Spark opens no table that has one of its own."""
    if name.lower() in _MADE_UP:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Invalid column name: {name} (reserved by Iceberg)")


def check_location(location: object) -> None:
    """Refuses what is no location."""
    if location is not None and not str(location).strip():
        raise invalid_property("Invalid value for table property 'location': it is empty")
