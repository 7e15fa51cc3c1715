"""Schemas and tables by the names that statements give them; ``information_schema`` is in every catalog."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from coordinator.connectors.system.history import HistoryTables
from coordinator.connectors.system.information_schema import InformationSchema
from coordinator.connectors.system.listing import INFORMATION_SCHEMA, shown_columns
from coordinator.connectors.system.maintenance import MaintenanceView
from coordinator.connectors.system.runtime import RuntimeState
from coordinator.security.access_control.policy import AccessPolicy
from coordinator.vocabulary.table_versions import note, note_view
from shared.spi.capabilities import Capabilities, capabilities_of
from shared.spi.connector import ColumnMetadata, Connector, TableMetadata, ViewMetadata


class CatalogObjects(ABC):
    """What planning resolves names against; the two abstract methods say which catalogs there are."""

    access = AccessPolicy()
    """What users may see and do; whoever makes the catalogs sets it."""
    runtime: RuntimeState | None = None
    """What ``system.runtime`` shows; only the process that runs queries sets it."""
    history: HistoryTables | None = None
    """What ``system.history`` shows, likewise."""

    maintenance: MaintenanceView | None = None
    """The maintenance service, in the process that runs it."""

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Catalog names, sorted."""

    @abstractmethod
    def connector(self, name: str) -> Connector:
        """The connector of a catalog; raises ProcessionError when there is none of that name."""

    def capabilities(self, catalog: str) -> Capabilities:
        """What a catalog's connector does beside describing tables; raises ProcessionError."""
        return capabilities_of(self.connector(catalog))

    def connector_name(self, catalog: str) -> str:
        """The ``connector.name`` of a catalog."""
        return catalog

    def schemas(self, catalog: str) -> tuple[str, ...]:
        """Names of a catalog's schemas, sorted, ``information_schema`` among them; raises ProcessionError."""
        return tuple(sorted({INFORMATION_SCHEMA, *self.connector(catalog).schemas()}))

    def schema_exists(self, catalog: str, schema: str) -> bool:
        """Raises ProcessionError when there is no such catalog."""
        return self._holder(catalog, schema).schema_exists(schema)

    def tables(self, catalog: str, schema: str) -> Sequence[str]:
        """Names of a schema's tables, sorted, without those that hold rows of materialized views; empty for an unknown
        one."""
        holder = self._holder(catalog, schema)
        hidden = capabilities_of(holder).materialized_views
        found = holder.tables(schema)
        return found if hidden is None else [name for name in found if not hidden.is_storage(name)]

    def table(self, catalog: str, schema: str, name: str, version: object = None) -> TableMetadata | None:
        """A table at its current (or given) version, or None."""
        found = self._holder(catalog, schema).table(schema, name, version)
        note(catalog, schema, name, version, found)
        return found

    def views(self, catalog: str, schema: str) -> Sequence[str]:
        """Names of a schema's views, sorted; empty where there are none."""
        source = capabilities_of(self._holder(catalog, schema)).views
        return () if source is None else source.view_names(schema)

    def view(self, catalog: str, schema: str, name: str) -> ViewMetadata | None:
        """A view as it is now, or None."""
        source = capabilities_of(self._holder(catalog, schema)).views
        found = None if source is None else source.view(schema, name)
        note_view(catalog, schema, name, found)
        return found

    def shown_columns(self, found: TableMetadata | ViewMetadata) -> list[ColumnMetadata]:
        """The columns that DESCRIBE and the system tables show."""
        return shown_columns(found)

    def _holder(self, catalog: str, schema: str) -> Connector:
        found = self.connector(catalog)
        return InformationSchema(found.catalog, self) if schema == INFORMATION_SCHEMA else found
