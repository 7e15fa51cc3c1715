"""Tables of a catalog that lie in a folder: their live files are orphans for any other table's metadata."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.table import Table
from sqlalchemy import select

from coordinator.connectors.iceberg.catalog import UNFINISHED, TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.locations import LOCATION_PROPERTIES, holds, within
from coordinator.connectors.iceberg.metadata_locations import Metastore
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


def refuse_held(catalog: TableCatalog, location: str, watch: Watch, own: str) -> None:
    """Two tables over the same files lose them: what one drops, expires or takes for orphans, the other needs.

    And who may not read a table must not read its files under another name. Raises PERMISSION_DENIED, which does not
    tell whose they are.
    """
    for name, places in _places(catalog, watch):
        if name.lower() != own.lower() and any(_meets(catalog, name, each, location) for each in places):
            message = f"Access Denied: Location {location} holds files of another table"
            raise ProcessionError(ErrorCode.PERMISSION_DENIED, message)


def refuse_held_of_new(
    catalog: TableCatalog, schema: str, name: str, location: str | None, properties: Mapping[str, str]
) -> None:
    """The same for the folders that a new table names."""
    named = [value for key, value in properties.items() if key in LOCATION_PROPERTIES]
    for each in (*named, *((location,) if location is not None else ())):
        refuse_held(catalog, each, lambda: None, f"{schema}.{name}")


def tables_near(catalog: TableCatalog, folders: Collection[str]) -> Iterator[tuple[str, str]]:
    """Schema and name of the tables whose metadata or own folder lies in the same folder as one of these."""
    homes = [place.rstrip("/").rpartition("/")[0] for place in folders]
    for name, places in _places(catalog, lambda: None):
        if any(holds(home, each) or holds(each, home) for each in places for home in homes):
            schema, _, table = name.rpartition(".")
            yield schema, table


def homes_around(catalog: TableCatalog, own: str, files: Collection[str]) -> list[str]:
    """The folders of other tables than ``own`` in which some of the files lie; of catalogs that one query lists."""
    if not is_listed_at_once(catalog):
        return []
    found = [(name, _home(place)) for name, places in _places(catalog, lambda: None) for place in places]
    others = [(name, home) for name, home in found if name.lower() != own.lower()]
    # One file a folder: a table has thousands of files in each.
    near = list({file.rpartition("/")[0]: file for file in files}.values())
    if not any(map(within(home for _, home in others), near)):
        return []
    return [_own_folder(catalog, name) or home for name, home in others if any(map(within([home]), near))]


def _meets(catalog: TableCatalog, name: str, each: str, location: str) -> bool:
    """Whether a table's metadata file or own folder is in the location, or the location in the folder."""
    if holds(location, each):
        return True
    if not holds(_home(each), location):
        return False
    own = _own_folder(catalog, name)
    return own is None or holds(own, location)


def _home(place: str) -> str:
    """The folder of a table, if its metadata is where it usually is."""
    if ".json" not in place.rpartition("/")[2]:
        return place
    before, below, _ = place.rpartition("/metadata/")
    return before if below else place.rpartition("/")[0]


def _own_folder(catalog: TableCatalog, name: str) -> str | None:
    """What a table says: metadata may be kept apart from it, in a folder of many. None where it cannot be read."""
    schema, _, table_name = name.rpartition(".")
    with suppress(ProcessionError):
        table = catalog.load(schema, table_name)
        return None if table is None else table.location()
    return None


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
