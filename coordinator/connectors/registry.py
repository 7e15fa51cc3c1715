"""The configured catalogs of etc/catalog, each a connector made on first use."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coordinator.connectors.objects import CatalogObjects
from coordinator.connectors.sent_rows import SentRowsConnector
from coordinator.connectors.system.connector import SystemConnector
from coordinator.connectors.system.information_schema import InformationSchema
from coordinator.connectors.system.registered import SYSTEM_CATALOG, built_in_procedures
from coordinator.security.access_control.visible import visible_columns, visible_schemas, visible_tables
from coordinator.security.current_session import current_session, may_use_catalog
from coordinator.values.shared_work import SharedWork, SharesWork
from coordinator.vocabulary.lookup_cache import once
from shared.errors import ErrorCode, ProcessionError
from shared.installed import installed
from shared.plan.nodes import LookUpNode, TableScanNode
from shared.properties import ConfigurationError, Property, read_properties
from shared.spi.access_control import AccessDeniedError, Identity, SystemAccessControl, identity_of_session
from shared.spi.capabilities import asked_before
from shared.spi.connector import (
    ColumnMetadata,
    Connector,
    ConnectorFactory,
    DistributedProcedures,
    DriverSource,
    SparkDrivers,
    TableMetadata,
    ViewMetadata,
)
from shared.spi.grants import GrantStore
from shared.spi.pushdown import Pushdown
from shared.spi.relation import Relation
from shared.spi.row_position import LookUpTemplate, RowPositionDescriptor
from shared.spi.session import SENT_ROWS
from shared.spi.table_statistics import ValueRange

ENTRY_POINTS = "procession.connectors"


@dataclass(frozen=True, slots=True)
class CatalogConfig:
    """One ``etc/catalog/<name>.properties``; picklable, so planner processes make connectors of their own."""

    name: str
    connector_name: str
    properties: Mapping[str, Property]
    data_dir: Path = Path("var")


def read_catalogs(directory: Path) -> tuple[CatalogConfig, ...]:
    """The catalogs of a directory in order of name; raises ConfigurationError naming file and line."""
    return tuple(read_catalog(file) for file in sorted(directory.glob("*.properties")))


def read_catalog(file: Path) -> CatalogConfig:
    """One catalog file: its stem is the catalog's name, ``connector.name`` its connector."""
    return catalog_of_properties(file, read_properties(file))


def catalog_of_properties(file: Path, properties: dict[str, Property]) -> CatalogConfig:
    """The same of what such a file says, or would say; raises ConfigurationError."""
    connector = properties.pop("connector.name", None)
    if connector is None:
        raise ConfigurationError(f"{file}: connector.name is missing")
    factories = connector_factories()
    if connector.value not in factories:
        known = ", ".join(sorted(factories))
        raise connector.error(f"no connector is named '{connector.value}' (known: {known})")
    return CatalogConfig(file.stem.lower(), connector.value, properties)


def connector_factories() -> dict[str, ConnectorFactory]:
    """Every installed factory by connector name, from the entry point group ``procession.connectors``."""
    return {point.name: point.load() for point in installed(ENTRY_POINTS)}


class _Catalog:
    """One catalog with its connector, which lives as long as somebody holds it."""

    def __init__(self, config: CatalogConfig, made: Connector | None = None) -> None:
        self.config = config
        self._made = made
        self._ready: Connector | None = None
        self._lock = threading.Lock()

    def connector(self, factories: Mapping[str, ConnectorFactory], shared: SharedWork | None) -> Connector:
        """Made when it is first asked for; raises ProcessionError."""
        with self._lock:
            if self._ready is None:
                made = self._made
                if made is None:
                    factory = factories[self.config.connector_name]
                    made = factory.create(self.config.name, self.config.properties, self.config.data_dir)
                if shared is not None and isinstance(made, SharesWork):
                    made.share_work(shared)
                self._ready = made
            return self._ready

    @property
    def ready(self) -> Connector | None:
        """The connector, if it was made; never waits."""
        return self._ready


class Catalogs(CatalogObjects):
    """The connectors of one process. Thread-safe; a connector is made when it is first asked for.

    Which catalogs there are is replaced as a whole, so that a ``pinned`` view keeps those that it began with.
    """

    managed = False
    """Whether statements may make and drop catalogs."""
    shared_work: SharedWork | None = None
    """Where connectors keep their journals of unfinished work, if not in files of their own."""

    def __init__(self, configs: Sequence[CatalogConfig]) -> None:
        self._held: Mapping[str, _Catalog] = {config.name: _Catalog(config) for config in configs}
        self._factories = connector_factories()
        self.version = 0
        """Another one whenever the catalogs are replaced."""
        self._sent_rows = SentRowsConnector()
        self._system = SystemConnector(self, lambda: self.runtime, lambda: self.maintenance, lambda: self.history)

    def pinned(self) -> Catalogs:
        """The catalogs as they are now, for a statement that runs on when they are changed or dropped."""
        return copy.copy(self)

    def replace(self, configs: Iterable[CatalogConfig], made: Mapping[str, Connector] = {}) -> None:
        """These are the catalogs from now on; those whose definition stays keep their connector.

        ``made`` are connectors of new ones, by name.
        """
        held = self._held
        self._held = {
            config.name: held[config.name]
            if config.name in held and held[config.name].config == config
            else _Catalog(config, made.get(config.name))
            for config in configs
        }
        self.version += 1

    def configs(self) -> tuple[CatalogConfig, ...]:
        """The definitions, in the order of the names, whoever asks."""
        return tuple(catalog.config for _, catalog in sorted(self._held.items()))

    def has(self, name: str) -> bool:
        """Whether there is a catalog of that name, whoever asks."""
        return name == SYSTEM_CATALOG or name in self._held

    def all_names(self) -> tuple[str, ...]:
        """Of all catalogs, sorted, whoever asks."""
        return tuple(sorted({*self._held, SYSTEM_CATALOG}))

    def names(self) -> tuple[str, ...]:
        """Catalog names, sorted; the built-in ``system`` is one of them. Those that the statement at work may name."""
        return tuple(name for name in self.all_names() if may_use_catalog(name))

    def properties(self) -> Mapping[str, Mapping[str, Property]]:
        """What the file of each catalog says, whoever asks."""
        return {name: catalog.config.properties for name, catalog in self._held.items()}

    def grants(self, catalog: str) -> GrantStore:
        """What a catalog keeps of roles and privileges. Raises ProcessionError."""
        found = self.capabilities(catalog).grants
        if found is None:
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Catalog {catalog} keeps no roles")
        return found

    def connector_name(self, catalog: str) -> str:
        """The ``connector.name`` of a catalog."""
        return SYSTEM_CATALOG if catalog == SYSTEM_CATALOG else self._held[catalog].config.connector_name

    def connector(self, name: str) -> Connector:
        """The connector of catalog ``name``, or of a plan's connector id; raises ProcessionError when there is none.

        Catalogs that the statement at work may not name are denied, whether there are such or not.

        ``$info_schema@x`` is the information schema of catalog ``x``, ``$system@x`` its system tables.
        """
        kind, _, catalog = name.lower().rpartition("@")
        if name == SENT_ROWS:
            return self._sent_rows
        if not may_use_catalog(catalog):
            raise AccessDeniedError(f"Cannot access catalog {catalog}")
        if kind == "$info_schema":
            return InformationSchema(catalog, self)
        held = self._held.get(catalog)
        if held is None:
            if catalog == SYSTEM_CATALOG:
                return self._system
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Catalog {name} does not exist")
        return held.connector(self._factories, self.shared_work)

    def made(self) -> tuple[Connector, ...]:
        """The connectors that were asked for already, whoever asks; never waits."""
        return tuple(held.ready for held in self._held.values() if held.ready is not None)

    def schemas(self, catalog: str) -> tuple[str, ...]:
        found = super().schemas(catalog)
        return found if (asking := self._asking()) is None else visible_schemas(*asking, catalog, found)

    def schema_exists(self, catalog: str, schema: str) -> bool:
        if not super().schema_exists(catalog, schema):
            return False
        return (asking := self._asking()) is None or bool(visible_schemas(*asking, catalog, (schema,)))

    def tables(self, catalog: str, schema: str) -> Sequence[str]:
        found = super().tables(catalog, schema)
        return found if (asking := self._asking()) is None else visible_tables(*asking, catalog, schema, found)

    def views(self, catalog: str, schema: str) -> Sequence[str]:
        found = super().views(catalog, schema)
        return found if (asking := self._asking()) is None else visible_tables(*asking, catalog, schema, found)

    def shown_columns(self, found: TableMetadata | ViewMetadata) -> list[ColumnMetadata]:
        columns = super().shown_columns(found)
        return columns if (asking := self._asking()) is None else visible_columns(*asking, found, columns)

    def _asking(self) -> tuple[SystemAccessControl, Identity] | None:
        """Of whom lists are to be asked; None where nothing is hidden from who asks."""
        session = current_session() if self.access.hides_objects else None
        return None if session is None else (self.access.control, identity_of_session(session))

    def relation(self, scan: TableScanNode) -> Relation:
        """What an engine reads for a scan, as its connector says."""
        # The scan is kept beside what was found, so that no other one gets its id.
        _, found = once(("relation", id(scan)), lambda: (scan, self._relation(scan)))
        return found

    def _relation(self, scan: TableScanNode) -> Relation:
        return self.connector(scan.table.connectorId).relation(scan)

    def pushdown(self, name: str) -> Pushdown | None:
        """The catalog's connector if it takes over parts of plans; None for it and for the system's own tables."""
        if name.lower() not in self._held:
            return None
        return self.capabilities(name).pushdown

    def row_position(self, scan: TableScanNode) -> RowPositionDescriptor | str | None:
        """How the rows of a scan are found again, or why they cannot be; None for a connector without positions."""
        positions = self.capabilities(scan.table.connectorId).row_positions
        return None if positions is None else positions.row_position(scan)

    def column_bounds(self, scan: TableScanNode) -> Mapping[str, Sequence[ValueRange]]:
        """Between which numbers the values of a scan's columns lie, as far as its connector can tell."""
        bounds = self.capabilities(scan.table.connectorId).column_bounds
        return {} if bounds is None else bounds.column_bounds(scan)

    def look_up(self, node: LookUpNode, sources: Sequence[int | str]) -> LookUpTemplate:
        """How the columns of a look-up are read, now that the query runs and found rows in ``sources``."""
        positions = asked_before(self.capabilities(node.table.connectorId).row_positions)
        return positions.look_up(node.table, list(node.assignments.values()), sources)

    def spark_conf(self) -> dict[str, str]:
        """What Spark needs to see the same catalogs under the same names."""
        conf: dict[str, str] = {}
        for config in self.configs():
            conf |= self._factories[config.connector_name].spark_conf(config.name, config.properties, config.data_dir)
        return conf

    def distributed_procedures(self) -> frozenset[str]:
        """The names of procedures that executors take part in, of the connectors in use and the system's own.

        Where catalogs come and go it is those of all connectors.
        """
        known = self._factories.values() if self.managed else map(self._factory, self.configs())
        used = {id(factory): factory for factory in known}.values()
        of_connectors = (each.distributed_procedures() for each in used if isinstance(each, DistributedProcedures))
        own = (p.declaration.name for p in built_in_procedures(self) if p.declaration.is_distributed)
        return frozenset(own).union(*of_connectors)

    def _factory(self, config: CatalogConfig) -> ConnectorFactory:
        return self._factories[config.connector_name]

    def spark_drivers(self) -> SparkDrivers:
        """The drivers by which Spark reads the configured catalogs."""
        packages: list[str] = []
        jars: list[str] = []
        for config in self.configs():
            factory = self._factory(config)
            if isinstance(factory, DriverSource):
                needed = factory.drivers(config.name, config.properties)
                packages += needed.packages
                jars += needed.jars
        return SparkDrivers(tuple(dict.fromkeys(packages)), tuple(dict.fromkeys(jars)))
