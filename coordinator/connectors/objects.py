"""Schemas and tables by the names that statements give them; ``information_schema`` is in every catalog."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, cast

from coordinator.connectors.system.information_schema import InformationSchema
from coordinator.connectors.system.listing import INFORMATION_SCHEMA
from coordinator.connectors.table_versions import note, note_view
from shared.spi.connector import Connector, TableMetadata, ViewMetadata, ViewSource


class CatalogObjects(ABC):
    """What planning resolves names against; the two abstract methods say which catalogs there are."""

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Catalog names, sorted."""

    @abstractmethod
    def connector(self, name: str) -> Connector:
        """The connector of a catalog; raises ProcessionError when there is none of that name."""

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
        """Names of a schema's tables, sorted; empty for an unknown one."""
        return self._holder(catalog, schema).tables(schema)

    def table(self, catalog: str, schema: str, name: str, version: Any = None) -> TableMetadata | None:
        """A table at its current (or given) version, or None."""
        found = self._holder(catalog, schema).table(schema, name, version)
        note(catalog, schema, name, version, found)
        return found

    def views(self, catalog: str, schema: str) -> Sequence[str]:
        """Names of a schema's views, sorted; empty where there are none."""
        holder = self._holder(catalog, schema)
        return cast(ViewSource, holder).view_names(schema) if hasattr(holder, "view_names") else ()

    def view(self, catalog: str, schema: str, name: str) -> ViewMetadata | None:
        """A view as it is now, or None."""
        holder = self._holder(catalog, schema)
        found = cast(ViewSource, holder).view(schema, name) if hasattr(holder, "view") else None
        note_view(catalog, schema, name, found)
        return found

    def _holder(self, catalog: str, schema: str) -> Connector:
        found = self.connector(catalog)
        return InformationSchema(found.catalog, self) if schema == INFORMATION_SCHEMA else found
