"""Dropping a table with its files: first the catalog forgets it, then what its metadata names is deleted."""

from __future__ import annotations

import logging

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.table import Table

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.locations import within
from coordinator.connectors.iceberg.maintenance.file_deletion import delete_all
from coordinator.connectors.iceberg.maintenance.shared_folders import homes_around
from coordinator.connectors.iceberg.manifests.table_files import referenced_files

logger = logging.getLogger(__name__)
_AT_ONCE = 8
_ORDER = ("data", "deletes", "statistics", "manifest", "manifest_list", "metadata")


def purge(catalog: TableCatalog, schema: str, table: Table) -> None:
    """Drop it. Files elsewhere, which are none of the table's, stay; so do those of manifests that cannot be read."""
    client = catalog.client()
    if not isinstance(client, MetastoreCatalog):  # a REST server deletes by itself
        client.purge_table(table.name())
        return
    may_delete = catalog.deletable(schema, table)
    found = list(referenced_files(table, broken=True))
    # Tables may share files: one that was registered twice, or took in what lies in another's folder.
    of_others = within(homes_around(catalog, ".".join(table.name()), [file.location for file in found]))
    client.drop_table(table.name())
    for file in found:
        if file.broken is not None:
            logger.warning("files of dropped table %s stay: %s", table.name(), file.broken)
    named = {file.location: file.role for file in found}
    elsewhere = [location for location in named if not may_delete(location) or of_others(location)]
    if elsewhere:
        logger.warning("%d files outside of dropped table %s stay: %s", len(elsewhere), table.name(), elsewhere[:3])
    ours = sorted(named.keys() - elsewhere, key=lambda location: _ORDER.index(named[location]))
    for _ in delete_all(table.io, ours, _AT_ONCE):
        pass
