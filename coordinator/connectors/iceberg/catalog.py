"""PyIceberg's catalog behind one Presto catalog: names, tables, and metadata cached by its immutable location."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.io import FileIO
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Identifier

from coordinator.connectors.iceberg.background import Background
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.kept_configuration import keep_configuration
from coordinator.connectors.iceberg.locations import (
    LOCATION_PROPERTIES,
    check_location,
    check_property_locations,
    deletable,
)
from coordinator.connectors.iceberg.manifests.kept_readers import keep_readers
from coordinator.connectors.iceberg.manifests.metadata_files import write_all_versions
from coordinator.connectors.iceberg.metadata_locations import (
    Metastore,
    all_locations,
    current_location,
    current_locations,
)
from coordinator.connectors.iceberg.opaque_types import teach_opaque_types
from coordinator.connectors.iceberg.paths import normalize
from coordinator.connectors.iceberg.properties import IcebergSettings, pyiceberg_properties
from coordinator.connectors.iceberg.rest.rest_catalog import ServedCatalog
from coordinator.connectors.iceberg.shared_models import share_models
from coordinator.connectors.iceberg.snapshots.summary import with_texts
from coordinator.connectors.iceberg.sql_catalog import sql_catalog
from coordinator.connectors.iceberg.table_words import check_settable, distrust_tables
from coordinator.connectors.iceberg.tables.late_files import LateFiles
from coordinator.connectors.iceberg.tables.late_writes import LateWrites
from coordinator.connectors.iceberg.tables.open_commits import OpenCommits
from coordinator.connectors.iceberg.tables.open_drops import OpenDrops
from coordinator.connectors.iceberg.tables.open_expiries import OpenExpiries
from coordinator.connectors.iceberg.tables.open_writes import OpenWrites
from coordinator.connectors.iceberg.tables.row_room import RowRoom
from coordinator.connectors.iceberg.tables.unfinished import UnfinishedTables
from coordinator.connectors.iceberg.tables.work_records import WorkPlace
from coordinator.connectors.iceberg.traced_services import traced_catalog
from coordinator.vocabulary.lookup_cache import once
from coordinator.vocabulary.traced_calls import traced
from shared.errors import ErrorCode, ProcessionError

_CACHED_TABLES = 256
# One statement for all calls: building and recognizing it anew took most of a look-up's time.
UNFINISHED = "procession_unfinished_"
"""How the names begin under which tables are filled before they appear; such tables are not listed."""


class TableCatalog:
    """One catalog of one process; connects on first use, thread-safe. Every method raises ProcessionError only.

    ``load`` gives a table whose metadata may be shared: it is for reading. ``open`` gives a fresh one to commit on.
    """

    def __init__(self, settings: IcebergSettings) -> None:
        self.settings = settings
        self.work = WorkPlace(settings.catalog, settings.journal_file)
        self.unfinished = UnfinishedTables(self.work)
        self.background = Background()
        self.late_files = LateFiles(self.unfinished, settings.unfinished_quiet_time, self.background)
        self.open_commits = OpenCommits(self.work)
        self.open_writes = OpenWrites(self.work)
        self.open_expiries = OpenExpiries(self.work)
        self.open_drops = OpenDrops(self.work)
        quiet = settings.unfinished_quiet_time
        self.late_writes = LateWrites(self.open_writes, quiet, self.open, self.file_io, UNFINISHED, self.background)
        self.row_room = RowRoom()
        self.first_looks: dict[str, float] = {}
        """When calls that were taken over were first looked at, by this machine's clock."""
        self.forgotten: Callable[[str, str], None] = lambda _schema, _name: None
        """Told of a table that was unregistered: its name may become another table's."""
        self._catalog: Catalog | None = None
        self._connecting = threading.Lock()
        self._failures = 0
        self._last_failure: Exception | None = None
        self._tables: OrderedDict[str, Table] = OrderedDict()
        self._lock = threading.Lock()

    def schemas(self) -> list[str]:
        """Every namespace, nested ones dotted, sorted."""
        with mapped(self.settings.catalog):
            found: list[str] = []
            waiting: list[tuple[str, ...]] = [()]
            while waiting:
                parent = waiting.pop()
                for namespace in self._connected().list_namespaces(parent):
                    if ".".join(namespace) not in found and namespace != parent:
                        found.append(".".join(namespace))
                        waiting.append(namespace)
            return sorted(found)

    def tables(self, schema: str) -> list[str]:
        """Names of the tables of ``schema``, sorted; empty for an unknown schema."""
        with mapped(f"{self.settings.catalog}.{schema}"):
            try:
                found = self._connected().list_tables(tuple(schema.split(".")))
            except NoSuchNamespaceError:
                return []
            return sorted(i[-1] for i in found if not i[-1].startswith(UNFINISHED))

    def other_tables(self, schema: str) -> list[str]:
        """Names in the schema of an existing metastore that are not Iceberg's, sorted."""
        with mapped(f"{self.settings.catalog}.{schema}"):
            catalog = self._connected()
            return catalog.other_tables(schema) if isinstance(catalog, Metastore) else []

    def schema_exists(self, schema: str) -> bool:
        """Whether the namespace exists."""
        with mapped(f"{self.settings.catalog}.{schema}"):
            try:
                self._connected().load_namespace_properties(tuple(schema.split(".")))
            except NoSuchNamespaceError:
                return False
            return True

    def load(self, schema: str, name: str) -> Table | None:
        """The table at its current metadata, parsed at most once a location; None when there is no such table.

        For a statement that is being planned, the metadata stay those that it has seen first.
        """
        return once(("table", self, schema, name), lambda: self._load(schema, name))

    def _load(self, schema: str, name: str) -> Table | None:
        with mapped(f"{schema}.{name}"):
            catalog = self._connected()
            with traced("catalog.locate_table", catalog=catalog.name, object=f"{schema}.{name}"):
                location = current_location(catalog, schema, name)
            if location is not None:
                with self._lock:
                    if location in self._tables:
                        self._tables.move_to_end(location)
                        return _named(self._tables[location], (*schema.split("."), name))
            table = self._open(catalog, schema, name)
            if table is None:
                return None
            with self._lock:
                self._tables[table.metadata_location] = table
                while len(self._tables) > _CACHED_TABLES:
                    self._tables.popitem(last=False)
            return table

    def location(self, schema: str, name: str) -> str | None:
        """Where a table's newest metadata is; they are not read where the catalog tells. None without such a table.

        Nothing is kept for it: to ask for each of thousands of tables pushes none out that statements read.
        """
        with mapped(f"{schema}.{name}"):
            catalog = self._connected()
            location = current_location(catalog, schema, name)
            if location is not None:
                return location
            table = self._open(catalog, schema, name)
            return None if table is None else table.metadata_location

    def locations(self, schema: str) -> Mapping[str, str]:
        """The same by name, as far as one question tells it of all tables: nothing but of SQL catalogs."""
        with mapped(f"{self.settings.catalog}.{schema}"):
            return current_locations(self._connected(), schema)

    def all_locations(self) -> Mapping[tuple[str, str], str] | None:
        """The same of all schemas, by schema and name; None but of SQL catalogs."""
        with mapped(self.settings.catalog):
            return all_locations(self._connected())

    def location_if_cheap(self, schema: str, name: str) -> str | None:
        """As ``location``, where no metadata are read or sent for it, unless they changed."""
        with mapped(f"{schema}.{name}"):
            catalog = self._connected()
            if isinstance(catalog, ServedCatalog):
                return catalog.compared_location((*schema.split("."), name))
            return current_location(catalog, schema, name)

    def open(self, schema: str, name: str) -> Table:
        """A table of the caller's own at its newest metadata, to commit on; raises ProcessionError NOT_FOUND.

        PERMISSION_DENIED where commits on it would write elsewhere than the catalog's tables may lie.
        """
        with mapped(f"{schema}.{name}"):
            table = self._open(self._connected(), schema, name)
            if table is None:
                raise NoSuchTableError(name)
            self._check_writable_folders(schema, table)
            return table

    def _check_writable_folders(self, schema: str, table: Table) -> None:
        """Metadata is anybody's word: it may name any folder of the machine as the one to write to.

        The table's own folder is the one that the catalog tells, by where its metadata is. A REST server answers for
        what it serves: it commits itself, and lends the keys.
        """
        if self.settings.type == "rest":
            return
        location, own = table.location(), table.metadata_location.rpartition("/metadata/")[0]
        elsewhere = {value for name, value in table.properties.items() if name in LOCATION_PROPERTIES}
        if elsewhere or normalize(location).rstrip("/") != normalize(own).rstrip("/"):
            allowed = (own, self._schema_location(schema))
            check_location(self.settings, location, *allowed)
            check_property_locations(self.settings, table.properties, *allowed)

    def register(self, schema: str, name: str, metadata_file: str, check_folder: Callable[[str], None]) -> Table:
        """Make a table of an existing metadata file; ``check_folder`` refuses its location. Raises ProcessionError.

        The file is read first, where the catalog file's keys can read it.
        """
        with mapped(f"{schema}.{name}"):
            catalog = self._connected()
            if not self.schema_exists(schema):
                raise ProcessionError(ErrorCode.NOT_FOUND, f"Schema {schema} does not exist")
            if self._open(catalog, schema, name) is not None:
                raise TableAlreadyExistsError(f"Table {schema}.{name} already exists")
            check_location(self.settings, metadata_file)

            def check(metadata: TableMetadata) -> None:
                check_location(self.settings, metadata.location)
                check_property_locations(self.settings, metadata.properties, metadata.location)
                check_folder(metadata.location)

            full = (*schema.split("."), name)
            if isinstance(catalog, ServedCatalog) and catalog.alone_reads(metadata_file):
                return catalog.register_unread(full, metadata_file, check)
            io = catalog._load_file_io(location=metadata_file)
            check(FromInputFile.table_metadata(io.new_input(metadata_file)))
            return catalog.register_table(full, metadata_file)

    def unregister(self, schema: str, name: str) -> str:
        """Forget a table and keep all its files; the location of its last metadata. Raises ProcessionError."""
        with mapped(f"{schema}.{name}"):
            table = self.open(schema, name)
            table.catalog.drop_table(table.name())
            self.forgotten(schema, name)
            return table.metadata_location

    def forget(self) -> int:
        """Drop what is kept of tables' metadata; how many tables that were."""
        with self._lock:
            count, catalog = len(self._tables), self._catalog
            self._tables.clear()
        if isinstance(catalog, ServedCatalog):
            count += catalog.forget()
        return count

    def file_io(self, location: str) -> FileIO:
        """What reads and writes ``location`` for this catalog."""
        with mapped(location):
            return self._connected()._load_file_io(location=location)

    def check_location(self, location: str, schema: str, *own: str) -> str:
        """The location, if it is allowed for a table of the schema; raises PERMISSION_DENIED."""
        return check_location(self.settings, location, self._schema_location(schema), *own)

    def deletable(self, schema: str, table: Table) -> Callable[[str], bool]:
        """Whether a file that the table's metadata names may be deleted with it.

        The table's own folder is the one that the catalog tells, by where its metadata is.
        """
        own = table.metadata_location.rpartition("/metadata/")[0]
        return deletable(self.settings, self._schema_location(schema), own)

    def check_new_table(self, schema: str, location: str | None, properties: Mapping[str, str]) -> None:
        """Whether statements and calls may make such a table; raises ProcessionError for property and folder."""
        check_settable(properties, self.settings.allowed_properties)
        if location is None and not LOCATION_PROPERTIES & properties.keys():
            return
        own = self._schema_location(schema)
        if location is not None:
            check_location(self.settings, location, own)
        check_property_locations(self.settings, properties, own, location)

    def _schema_location(self, schema: str) -> str | None:
        """Where the catalog keeps tables of the schema; a plain catalog knows no other place than its warehouse."""
        try:
            found = self._connected().load_namespace_properties(tuple(schema.split("."))).get("location")
        except NoSuchNamespaceError:
            return None
        return None if found is None else str(found)

    def client(self) -> Catalog:
        """PyIceberg's own catalog, for what changes it; callers map its failures."""
        return self._connected()

    def _open(self, catalog: Catalog, schema: str, name: str) -> Table | None:
        namespace = tuple(schema.split("."))
        try:
            return _read(catalog, (*namespace, name))
        except NoSuchTableError:
            if isinstance(catalog, Metastore):  # metastores compare names without case themselves
                return None
        try:
            listed = catalog.list_tables(namespace)
        except NoSuchNamespaceError:
            return None
        same = next((i for i in listed if i[-1] != name and i[-1].lower() == name.lower()), None)
        return None if same is None else _read(catalog, same)

    def _connected(self) -> Catalog:
        """Those that wait while one tries in vain have its error: they do not wait for one time-out after the other."""
        if self._catalog is not None:
            return self._catalog
        before = self._failures
        with self._connecting:
            if self._catalog is None:
                if self._last_failure is not None and self._failures != before:
                    raise self._last_failure
                try:
                    self._catalog = _connect(self.settings, self.open_commits)
                except Exception as error:
                    self._failures, self._last_failure = self._failures + 1, error
                    raise
                self._last_failure = None
            return self._catalog


def _connect(settings: IcebergSettings, commits: OpenCommits) -> Catalog:
    if settings.uri is not None and settings.uri.startswith("sqlite:///"):
        Path(settings.uri.removeprefix("sqlite:///")).absolute().parent.mkdir(parents=True, exist_ok=True)
    teach_opaque_types()
    share_models()
    keep_readers()
    keep_configuration()
    properties = pyiceberg_properties(settings)
    return traced_catalog(write_all_versions(distrust_tables(_client(settings, properties)), commits))


def _client(settings: IcebergSettings, properties: dict[str, str]) -> Catalog:
    match settings.type:  # packages that only these need
        case "hive":
            from coordinator.connectors.iceberg.metastores.hive_catalog import HiveMetastoreCatalog

            return HiveMetastoreCatalog(settings.catalog, **properties)
        case "glue":
            from coordinator.connectors.iceberg.metastores.glue_catalog import GlueDataCatalog

            return GlueDataCatalog(settings.catalog, **properties)
        case "rest":
            return ServedCatalog(settings.catalog, **properties)
        case _:
            return sql_catalog(settings.catalog, properties)


def _read(catalog: Catalog, identifier: Identifier) -> Table:
    """Raises ValueError for a metadata file whose parts PyIceberg takes for something else."""
    try:
        return with_texts(catalog.load_table(identifier))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"the metadata file is no table's: {error}") from error


def _named(table: Table, identifier: tuple[str, ...]) -> Table:
    """The table under the name that it is asked for by: it may have been renamed since it was read."""
    if [part.lower() for part in table.name()] == [part.lower() for part in identifier]:
        return table
    return Table(identifier, table.metadata, table.metadata_location, table.io, table.catalog)
