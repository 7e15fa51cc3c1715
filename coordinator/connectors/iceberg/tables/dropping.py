"""A table goes, with its files."""

from __future__ import annotations

from pyiceberg.exceptions import NoSuchTableError

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.tables.purge import purge
from shared.spi.catalog_changes import TableRemoval


def drop_table(catalog: TableCatalog, change: TableRemoval) -> bool:
    """With its files. False: there was none, which ``if_exists`` allows."""
    with mapped(f"{change.schema}.{change.table}"):
        table = catalog.load(change.schema, change.table)
        if table is None:
            if change.if_exists:
                return False
            raise NoSuchTableError(change.table)
        try:
            if table.properties.get("gc.enabled", "true").lower() == "false":
                catalog.client().drop_table(table.name())
            else:
                purge(catalog, change.schema, table)
        except NoSuchTableError:
            if not change.if_exists:
                raise
            return False
    return True
