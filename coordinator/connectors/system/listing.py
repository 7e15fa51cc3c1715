"""What catalogs hold, listed for the system tables: only the catalogs, schemas and tables that a query wants."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from coordinator.connectors.system.maintenance import MaintenanceView
from coordinator.connectors.system.runtime import RuntimeState
from coordinator.connectors.system.wanted import Wanted
from shared.errors import ProcessionError
from shared.spi.capabilities import Capabilities
from shared.spi.connector import ColumnMetadata, Connector, TableMetadata, ViewMetadata

INFORMATION_SCHEMA = "information_schema"
_LOG = logging.getLogger(__name__)


class ListedCatalogs(Protocol):
    """What system tables need of ``coordinator.connectors.registry.Catalogs``."""

    def names(self) -> tuple[str, ...]: ...

    def connector(self, name: str) -> Connector: ...

    def capabilities(self, catalog: str) -> Capabilities: ...

    def connector_name(self, catalog: str) -> str: ...

    def schemas(self, catalog: str) -> Sequence[str]: ...

    def tables(self, catalog: str, schema: str) -> Sequence[str]: ...

    def schema_exists(self, catalog: str, schema: str) -> bool: ...

    def table(self, catalog: str, schema: str, name: str) -> TableMetadata | None: ...

    def views(self, catalog: str, schema: str) -> Sequence[str]: ...

    def shown_columns(self, found: TableMetadata | ViewMetadata) -> list[ColumnMetadata]: ...

    def view(self, catalog: str, schema: str, name: str) -> ViewMetadata | None: ...

    runtime: RuntimeState | None
    maintenance: MaintenanceView | None


@dataclass(frozen=True, slots=True)
class Names:
    """How a system table calls the columns of catalog, schema and table."""

    catalog: str
    schema: str
    table: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Lists over all catalogs, or over one when ``only`` names it. Raises ProcessionError when that is out of reach."""

    catalogs: ListedCatalogs
    only: str | None = None

    def catalog_names(self, wanted: Wanted, column: str) -> list[str]:
        """Names of catalogs, sorted."""
        known = (self.only,) if self.only is not None else self.catalogs.names()
        return wanted.among(column, lambda: known, lambda name: name in known)

    def schemas(self, wanted: Wanted, names: Names) -> Iterator[tuple[str, str]]:
        """``(catalog, schema)``; ``information_schema`` is in every catalog.

        Among all catalogs, those that are out of reach are left out and logged: who asks what there is wants the rest.
        """
        is_named = self.only is not None or names.catalog in wanted.exact
        for catalog in self.catalog_names(wanted, names.catalog):
            try:
                found = wanted.among(
                    names.schema, partial(self.catalogs.schemas, catalog), partial(self.catalogs.schema_exists, catalog)
                )
            except ProcessionError as error:
                if is_named or error.code.type != "EXTERNAL":
                    raise
                _LOG.warning("schemas of %s are not listed: %s", catalog, error.message)
                continue
            yield from ((catalog, schema) for schema in found)

    def tables(self, wanted: Wanted, names: Names) -> Iterator[tuple[str, str, str]]:
        """``(catalog, schema, table)``."""
        for catalog, schema in self.schemas(wanted, names):
            found = (t for t in self.catalogs.tables(catalog, schema) if wanted.accepts(names.table, t))
            yield from ((catalog, schema, table) for table in found)

    def relations(self, wanted: Wanted, names: Names) -> Iterator[tuple[str, str, str, str]]:
        """``(catalog, schema, name, kind)``, kind being ``BASE TABLE`` or ``VIEW``."""
        for catalog, schema in self.schemas(wanted, names):
            views = set(self.catalogs.views(catalog, schema))
            for name in sorted({*self.catalogs.tables(catalog, schema), *views}):
                if wanted.accepts(names.table, name):
                    yield catalog, schema, name, "VIEW" if name in views else "BASE TABLE"

    def views(self, wanted: Wanted, names: Names) -> Iterator[ViewMetadata]:
        """The views, for connectors that have such; one that cannot be read is left out and logged."""
        for catalog, schema in self.schemas(wanted, names):
            for name in self.catalogs.views(catalog, schema):
                if wanted.accepts(names.table, name):
                    view = self._view(catalog, schema, name)
                    if view is not None:
                        yield view

    def described(self, wanted: Wanted, names: Names) -> Iterator[TableMetadata | ViewMetadata]:
        """Tables and views with their columns; one that cannot be read is left out and logged, as in Presto."""
        for catalog, schema, name, kind in self.relations(wanted, names):
            found = self._view(catalog, schema, name) if kind == "VIEW" else self._table(catalog, schema, name)
            if found is not None:
                yield found

    def _table(self, catalog: str, schema: str, name: str) -> TableMetadata | None:
        try:
            return self.catalogs.table(catalog, schema, name)
        except ProcessionError as error:
            _LOG.warning("%s.%s.%s is not listed: %s", catalog, schema, name, error.message)
            return None

    def _view(self, catalog: str, schema: str, name: str) -> ViewMetadata | None:
        try:
            return self.catalogs.view(catalog, schema, name)
        except ProcessionError as error:
            _LOG.warning("%s.%s.%s is not listed: %s", catalog, schema, name, error.message)
            return None


def shown_columns(found: TableMetadata | ViewMetadata) -> list[ColumnMetadata]:
    """The columns that DESCRIBE and the system tables show."""
    if isinstance(found, ViewMetadata):
        return [ColumnMetadata(c.name, c.type, {}, comment=c.comment) for c in found.columns]
    return [column for column in found.columns if not column.hidden]
