"""What catalog files add to the access control of the system, which is asked first. Source: Presto's manager.

``iceberg.security`` of ``etc/catalog/x.properties`` says which rules the catalog has.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from coordinator.security.access_control.built_in import AllowAll, OwnQueries
from coordinator.security.access_control.combined import merged_masks
from shared.properties import Property
from shared.spi.access_control import Identity, SystemAccessControl, ViewExpression
from shared.spi.accesses import Access, CatalogManagement, TableName, catalog_of
from shared.spi.grants import GrantStore

CatalogControlFactory = Callable[[str, Mapping[str, Property]], SystemAccessControl | None]
"""From a catalog's name and properties to its control; None where the catalog has none. Raises ConfigurationError."""


class SecuredCatalogs(Protocol):
    """The catalogs that there are at the moment."""

    def properties(self) -> Mapping[str, Mapping[str, Property]]:
        """What the file of each catalog says."""
        ...

    def grants(self, catalog: str) -> GrantStore:
        """What a catalog keeps of roles and privileges. Raises ProcessionError."""
        ...


class CatalogControls:
    """The system's control with those of catalogs behind it; a catalog that is changed gets a new one."""

    def __init__(self, system: SystemAccessControl, catalogs: SecuredCatalogs, make: CatalogControlFactory) -> None:
        """Raises ConfigurationError for a catalog whose rules are wrong."""
        self._system, self._catalogs, self._make = system, catalogs, make
        self._made: dict[str, tuple[Mapping[str, Property], SystemAccessControl | None]] = {}
        self._lock = threading.Lock()
        for name in catalogs.properties():
            self._of(name)

    def check_rules(self, catalog: str, properties: Mapping[str, Property]) -> None:
        """Raises ConfigurationError where a catalog that is to be would have wrong rules."""
        self._make(catalog, properties)

    @property
    def hides_objects(self) -> bool:
        """Whether some objects may be hidden from some."""
        return type(self._system) not in (AllowAll, OwnQueries) or bool(self._all())

    @property
    def rules_version(self) -> str | None:
        versions = [control.rules_version for control in (self._system, *self._all())]
        return None if None in versions else "+".join(map(str, versions))

    def check_can_set_user(self, principal: str | None, user: str) -> None:
        self._system.check_can_set_user(principal, user)

    def check_can_impersonate_user(self, identity: Identity, user: str) -> None:
        self._system.check_can_impersonate_user(identity, user)

    def check_can_execute_query(self, identity: Identity) -> None:
        self._system.check_can_execute_query(identity)

    def check_can_view_query_owned_by(self, identity: Identity, owner: Identity) -> None:
        self._system.check_can_view_query_owned_by(identity, owner)

    def check_can_kill_query_owned_by(self, identity: Identity, owner: Identity) -> None:
        self._system.check_can_kill_query_owned_by(identity, owner)

    def check_can_read_system_information(self, identity: Identity) -> None:
        self._system.check_can_read_system_information(identity)

    def check_can_write_system_information(self, identity: Identity) -> None:
        self._system.check_can_write_system_information(identity)

    def check_can_set_system_session_property(self, identity: Identity, name: str) -> None:
        self._system.check_can_set_system_session_property(identity, name)

    def check_can_set_catalog_session_property(self, identity: Identity, catalog: str, name: str) -> None:
        for control in self._both(catalog):
            control.check_can_set_catalog_session_property(identity, catalog, name)

    def check_can_access_catalog(self, identity: Identity, catalog: str, *, changes: bool) -> None:
        for control in self._both(catalog):
            control.check_can_access_catalog(identity, catalog, changes=changes)

    def filter_catalogs(self, identity: Identity, catalogs: Collection[str]) -> frozenset[str]:
        return self._system.filter_catalogs(identity, catalogs)

    def check_access(self, identity: Identity, access: Access) -> None:
        if isinstance(access, CatalogManagement):
            self._system.check_access(identity, access)
            return
        for control in self._both(catalog_of(access)):
            control.check_access(identity, access)

    def filter_schemas(self, identity: Identity, catalog: str, schemas: Collection[str]) -> frozenset[str]:
        left = frozenset(schemas)
        for control in self._both(catalog):
            left = control.filter_schemas(identity, catalog, left)
        return left

    def filter_tables(
        self, identity: Identity, catalog: str, tables: Collection[tuple[str, str]]
    ) -> frozenset[tuple[str, str]]:
        left = frozenset(tables)
        for control in self._both(catalog):
            left = control.filter_tables(identity, catalog, left)
        return left

    def filter_columns(self, identity: Identity, table: TableName, columns: Collection[str]) -> frozenset[str]:
        left = frozenset(columns)
        for control in self._both(table.catalog):
            left = control.filter_columns(identity, table, left)
        return left

    def row_filters(self, identity: Identity, table: TableName) -> Sequence[ViewExpression]:
        return tuple(each for control in self._both(table.catalog) for each in control.row_filters(identity, table))

    def column_masks(
        self, identity: Identity, table: TableName, columns: Collection[str]
    ) -> Mapping[str, ViewExpression]:
        return merged_masks(self._both(table.catalog), identity, table, columns)

    def _both(self, catalog: str) -> tuple[SystemAccessControl, ...]:
        own = self._of(catalog)
        return (self._system,) if own is None else (self._system, own)

    def _all(self) -> list[SystemAccessControl]:
        found = map(self._of, self._catalogs.properties())
        return [control for control in found if control is not None]

    def _of(self, catalog: str) -> SystemAccessControl | None:
        properties = self._catalogs.properties().get(catalog)
        if properties is None:
            return None
        with self._lock:
            known = self._made.get(catalog)
            if known is None or known[0] is not properties:
                known = self._made[catalog] = (properties, self._make(catalog, properties))
        return known[1]
