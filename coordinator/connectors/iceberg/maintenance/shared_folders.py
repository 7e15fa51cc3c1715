"""Tables of a catalog that lie in a folder: their live files are orphans for any other table's metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.table import Table
from sqlalchemy import select

from coordinator.connectors.iceberg.catalog import UNFINISHED, Metastore, TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.paths import normalize
from shared.errors import ErrorCode, ProcessionError

Watch = Callable[[], None]
"""Called for every table; raises when the call was cancelled."""


def folder(location: str) -> str:
    """A location in the one form that tells whether another begins with it."""
    return f"{normalize(location).rstrip('/')}/"


def is_listed_at_once(catalog: TableCatalog) -> bool:
    """Whether one query tells where all tables are; other catalogs are asked for each table."""
    return isinstance(catalog.client(), SqlCatalog)


def table_around(catalog: TableCatalog, place: str, watch: Watch) -> str | None:
    """A table whose location is this folder, inside it or around it."""
    for name, table in _loaded(catalog, watch):
        other = folder(table.location())
        if other.startswith(place) or place.startswith(other):
            return name
    return None


def other_table_at(catalog: TableCatalog, table: Table, place: str, watch: Watch) -> str | None:
    """Another table than ``table`` whose metadata file is in this folder, or in whose folder this one is."""
    own = ".".join(table.name())
    for name, places in _places(catalog, watch):
        # Catalogs that compare names without case may list the table under another spelling.
        is_own = name == own or (name.lower() == own.lower() and table.metadata_location in places)
        if not is_own and any(_meets(catalog, name, each, place) for each in places):
            return name
    return None


def table_of_folder(catalog: TableCatalog, location: str) -> str | None:
    """A table in, around or at a folder; looked for only where one query tells where all tables are."""
    client, place = catalog.client(), folder(location)
    if not isinstance(client, SqlCatalog):
        return None
    known = _of_one_query(client)
    return next((name for name, (each,) in known if _meets(catalog, name, each, place)), None)


def check_no_others_folder(catalog: TableCatalog, location: str | None) -> None:
    """Raises PERMISSION_DENIED for a chosen location of a new table that shares files with another one.

    Which table that is, is not told.
    """
    if location is not None and table_of_folder(catalog, location) is not None:
        message = f"Access Denied: Location {location} is in, around or at the folder of another table"
        raise ProcessionError(ErrorCode.PERMISSION_DENIED, message)


def _meets(catalog: TableCatalog, name: str, each: str, place: str) -> bool:
    """Whether a table's metadata file or own folder is in ``place``, or ``place`` in the folder."""
    if folder(each).startswith(place):
        return True
    around = each.rpartition("/metadata/")[0] or each
    if not place.startswith(folder(around)):
        return False
    with suppress(ProcessionError):  # metadata may be kept apart from the table, in a folder of many
        schema, _, table_name = name.rpartition(".")
        table = catalog.load(schema, table_name)
        return table is None or place.startswith(folder(table.location()))
    return True


def _places(catalog: TableCatalog, watch: Watch) -> Iterable[tuple[str, tuple[str, ...]]]:
    client = catalog.client()
    if isinstance(client, SqlCatalog):
        return _of_one_query(client)
    if isinstance(client, Metastore):
        return _of_metastore(client, catalog, watch)
    return ((name, (table.metadata_location, table.location())) for name, table in _loaded(catalog, watch))


def _of_one_query(catalog: SqlCatalog) -> Iterator[tuple[str, tuple[str, ...]]]:
    asked = select(IcebergTables.table_namespace, IcebergTables.table_name, IcebergTables.metadata_location).where(
        IcebergTables.catalog_name == catalog.name
    )
    with mapped(catalog.name), catalog.engine.connect() as connection:
        for schema, name, location in connection.execute(asked):
            if location and not name.startswith(UNFINISHED):
                yield f"{schema}.{name}", (location,)


def _of_metastore(store: Metastore, catalog: TableCatalog, watch: Watch) -> Iterator[tuple[str, tuple[str, ...]]]:
    """One question a table; no metadata is read."""
    for schema in catalog.schemas():
        for name in catalog.tables(schema):
            watch()
            location = None
            with suppress(ProcessionError), mapped(f"{schema}.{name}"):  # gone meanwhile, or not ours to read
                location = store.metadata_location(schema, name)
            if location is not None:
                yield f"{schema}.{name}", (location,)


def _loaded(catalog: TableCatalog, watch: Watch) -> Iterator[tuple[str, Table]]:
    for schema in catalog.schemas():
        for name in catalog.tables(schema):
            watch()
            with suppress(ProcessionError):  # gone meanwhile, or not ours to read
                table = catalog.load(schema, name)
                if table is not None:
                    yield f"{schema}.{name}", table
