"""The tables of all catalogs that can be looked after. Blocks; errors of one catalog leave the others."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from coordinator.connectors.registry import Catalogs
from coordinator.maintenance.attached import policies_of
from coordinator.maintenance.policies import Policy, TablePolicy
from coordinator.maintenance.records import TableKey
from shared.errors import ErrorCode, ProcessionError
from shared.spi.capabilities import capabilities_of
from shared.spi.maintenance import MaintainedTables, SnapshotRetention, TableState

_LOG = logging.getLogger(__name__)


class Lake:
    """Catalogs as the service sees them, or only those that its settings name."""

    def __init__(self, catalogs: Catalogs, only: Collection[str] = ()) -> None:
        self._catalogs = catalogs
        self._only = frozenset(only)

    def tables(self) -> tuple[list[TableKey], frozenset[str]]:
        """Every table, and the catalogs that could be listed: of others nothing is known to be gone."""
        found, listed = [], set[str]()
        for catalog in self._catalogs.names():
            if self._only and catalog not in self._only:
                continue
            try:
                found += list(self._of_catalog(catalog))
                listed.add(catalog)
            except ProcessionError as error:
                _LOG.warning("catalog %s cannot be listed for maintenance: %s", catalog, error.message)
        return found, frozenset(listed)

    def marker(self, key: TableKey) -> str | None:
        """None when there is no such table. Raises ProcessionError."""
        return self._maintained(key.catalog).marker(key.schema, key.table)

    def markers(self, keys: Iterable[TableKey]) -> dict[TableKey, str]:
        """Of many tables, by one question a schema; those of which no such question tells are left out."""
        wanted = set(keys)
        found: dict[TableKey, str] = {}
        for catalog, schema in sorted({(key.catalog, key.schema) for key in wanted}):
            try:
                markers = self._maintained(catalog).markers(schema)
            except ProcessionError as error:
                _LOG.warning("tables of %s.%s cannot be compared: %s", catalog, schema, error.message)
                continue
            named = ((TableKey(catalog, schema, name), marker) for name, marker in markers.items())
            found.update((key, marker) for key, marker in named if key in wanted)
        return found

    def markers_at_once(self, catalogs: Collection[str]) -> tuple[dict[TableKey, str], frozenset[str]]:
        """Of all tables of catalogs by one question each, and of which of the catalogs it told."""
        found, answered = dict[TableKey, str](), set[str]()
        for catalog in sorted(catalogs):
            try:
                markers = self._maintained(catalog).markers_at_once()
            except ProcessionError as error:
                _LOG.debug("tables of %s cannot be compared: %s", catalog, error.message)  # the rounds say it aloud
                continue
            if markers is not None:
                answered.add(catalog)
                found.update((TableKey(catalog, *name), marker) for name, marker in markers.items())
        return found, frozenset(answered)

    def marker_if_cheap(self, key: TableKey) -> str | None:
        """None where it takes the table's metadata to tell, or where there is no such table."""
        try:
            return self._maintained(key.catalog).marker_if_cheap(key.schema, key.table)
        except ProcessionError as error:
            _LOG.debug("%s cannot be compared: %s", key, error.message)
            return None

    def state(self, key: TableKey, policy: TablePolicy, now: datetime) -> TableState | None:
        """None when there is no such table. Raises ProcessionError."""
        retention = SnapshotRetention(policy.snapshot_age, policy.expiry.config.min_snapshot_to_keep)
        return self._maintained(key.catalog).table_state(key.schema, key.table, now, retention)

    def attached(self, key: TableKey) -> tuple[Policy, ...]:
        """The policies that the catalog's server has for a table. Raises ProcessionError."""
        return policies_of(self._maintained(key.catalog).attached_policies(key.schema, key.table))

    def _of_catalog(self, catalog: str) -> Iterator[TableKey]:
        connector = self._catalogs.connector(catalog)
        if capabilities_of(connector).maintained is None:
            return
        for schema in connector.schemas():
            for table in connector.tables(schema):
                yield TableKey(catalog, schema, table)

    def stale_views(self) -> list[TableKey]:
        """Materialized views that are to be refreshed automatically and whose tables have changed."""
        found: list[TableKey] = []
        for catalog in self._catalogs.names():
            if self._only and catalog not in self._only:
                continue
            try:
                found += list(self._stale_views(catalog))
            except ProcessionError as error:
                _LOG.warning("views of catalog %s cannot be looked at: %s", catalog, error.message)
        return found

    def _stale_views(self, catalog: str) -> Iterator[TableKey]:
        connector = self._catalogs.connector(catalog)
        does = capabilities_of(connector)
        if does.views is None or does.materialized_views is None:
            return
        for schema in connector.schemas():
            for name in does.views.view_names(schema):
                try:
                    view = does.views.view(schema, name)
                    kept = None if view is None else view.materialized
                    if kept is None or not kept.automatic_refresh:
                        continue
                    if kept.refreshed is None or any(
                        does.materialized_views.base_changes(base).changed for base in kept.base_tables
                    ):
                        yield TableKey(catalog, schema, name)
                except ProcessionError as error:
                    _LOG.warning("view %s.%s.%s cannot be looked at: %s", catalog, schema, name, error.message)

    def _maintained(self, catalog: str) -> MaintainedTables:
        found = capabilities_of(self._catalogs.connector(catalog)).maintained
        if found is None:
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Tables of catalog {catalog} need no maintenance")
        return found
