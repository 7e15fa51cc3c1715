"""The built-in catalog ``system``: there without a file, in every coordinator."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.connectors.system.history import History, history_tables
from coordinator.connectors.system.jdbc import jdbc_tables
from coordinator.connectors.system.listing import ListedCatalogs
from coordinator.connectors.system.maintenance import Maintenance, maintenance_tables
from coordinator.connectors.system.metadata import metadata_tables
from coordinator.connectors.system.registered import SYSTEM_CATALOG, all_procedures
from coordinator.connectors.system.runtime import Runtime, runtime_tables
from coordinator.connectors.system.virtual_table import VirtualTable, read_rows, rows_relation, system_table
from shared.plan.nodes import TableHandle, TableScanNode
from shared.spi.capabilities import Capabilities
from shared.spi.connector import TableMetadata
from shared.spi.procedure import Procedure
from shared.spi.relation import ArrowStream, JdbcRelation, RowsRelation


class SystemConnector:
    """``system.jdbc``, ``maintenance``, ``metadata``, ``runtime`` and ``history``; procedures are found elsewhere."""

    def __init__(
        self,
        catalogs: ListedCatalogs,
        runtime: Runtime,
        maintenance: Maintenance = lambda: None,
        history: History = lambda: None,
    ) -> None:
        self.catalog = SYSTEM_CATALOG
        tables = (
            *jdbc_tables(catalogs, lambda: all_procedures(catalogs)),
            *metadata_tables(catalogs),
            *runtime_tables(runtime),
            *maintenance_tables(maintenance),
            *history_tables(history),
        )
        self._tables: dict[str, dict[str, VirtualTable]] = {}
        for table in tables:
            self._tables.setdefault(table.schema, {})[table.name] = table

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(rows=self)

    def schemas(self) -> Sequence[str]:
        return sorted(self._tables)

    def tables(self, schema: str) -> Sequence[str]:
        return sorted(self._tables.get(schema, ()))

    def schema_exists(self, schema: str) -> bool:
        return schema in self._tables

    def table(self, schema: str, name: str, version: object = None) -> TableMetadata | None:
        found = self._tables.get(schema, {}).get(name)
        return None if found is None or version is not None else system_table(self.catalog, found)

    def relation(self, scan: TableScanNode) -> RowsRelation:
        return rows_relation(scan, self._of_handle(scan.table))

    def read(self, relation: RowsRelation | JdbcRelation) -> ArrowStream:
        assert isinstance(relation, RowsRelation)
        return read_rows(self._of_handle(relation.handle), relation)

    def _of_handle(self, handle: TableHandle) -> VirtualTable:
        named = handle.connectorHandle
        return self._tables[str(named["schemaName"])][str(named["tableName"])]

    def procedures(self) -> Sequence[Procedure]:
        return ()
