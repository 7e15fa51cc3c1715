"""The Iceberg connector: what the planner learns of schemas and tables, and the procedures of ``catalog.system``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg import ddl, writing
from coordinator.connectors.iceberg.analysis import ANALYZE_PROPERTIES, analyze
from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.column_ranges import ColumnRanges
from coordinator.connectors.iceberg.definitions import schema_definition, table_definition
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.handles import column_handle, hidden_handle, partition_key_ids, table_handle
from coordinator.connectors.iceberg.journal import Journal
from coordinator.connectors.iceberg.metadata_tables.names import special_name
from coordinator.connectors.iceberg.metadata_tables.tables import metadata_table
from coordinator.connectors.iceberg.procedures import iceberg_procedures
from coordinator.connectors.iceberg.properties import read_settings, spark_properties
from coordinator.connectors.iceberg.recovery import Recovered, recover
from coordinator.connectors.iceberg.relations import catalog_table
from coordinator.connectors.iceberg.row_position import look_up_template, row_lineage, row_position
from coordinator.connectors.iceberg.statistics import distinct_values, table_statistics
from coordinator.connectors.iceberg.table_properties import COLUMN_PROPERTIES, DECLARED, SCHEMA_PROPERTIES
from coordinator.connectors.iceberg.types import presto_type
from coordinator.connectors.iceberg.views.catalog_views import load_view, view_names
from coordinator.connectors.system.virtual_table import VirtualTable, read_rows, rows_relation, system_table
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import TableHandle, TableScanNode
from shared.properties import Property
from shared.spi.catalog_changes import CatalogChange, PropertyDeclaration, TableDefinition
from shared.spi.connector import ColumnMetadata, TableMetadata, ViewMetadata
from shared.spi.procedure import Procedure, ProcedureContext
from shared.spi.relation import ArrowStream, JdbcRelation, Relation, RowsRelation
from shared.spi.row_position import LookUpTemplate, RowPositionDescriptor
from shared.spi.table_statistics import TableStatistics, ValueRange
from shared.spi.table_writes import TableWrite, WriteContext


class IcebergConnector:
    """One Iceberg catalog in one process. Making one opens nothing; the catalog is reached on first use."""

    def __init__(self, catalog: str, properties: Mapping[str, Property], data_dir: Path = Path("var")) -> None:
        self.catalog = catalog
        self.settings = read_settings(catalog, properties, data_dir)
        self.tables_of = TableCatalog(self.settings)
        self.journal = Journal(self.settings.journal_file)
        self._bounds = ColumnRanges(self.tables_of)
        self._procedures: tuple[Procedure, ...] | None = None

    def schemas(self) -> Sequence[str]:
        return self.tables_of.schemas()

    def tables(self, schema: str) -> Sequence[str]:
        return self.tables_of.tables(schema)

    def schema_exists(self, schema: str) -> bool:
        return self.tables_of.schema_exists(schema)

    def table(self, schema: str, name: str, version: Any = None) -> TableMetadata | None:
        """The table at its current snapshot, or at ``version``: a snapshot id, or the name of a branch or tag.

        Names with ``$`` mean metadata tables, ``name@id`` a snapshot.
        """
        asked = special_name(name)
        if asked is not None and asked.kind is not None:
            virtual = self._metadata_table(schema, name)
            return None if virtual is None else system_table(self.catalog, virtual)
        if asked is not None:
            name, version = asked.table, version if asked.snapshot_id is None else asked.snapshot_id
        table = self.tables_of.load(schema, name)
        if table is None:
            return None
        snapshot = _snapshot(table, version)
        return describe(self.catalog, schema, name, table, snapshot, pinned=version is not None)

    def recover(self) -> Sequence[Recovered]:
        """Finish or undo the calls that a dead coordinator left open; to be called once at start."""
        return recover(self.tables_of, self.journal)

    def relation(self, scan: TableScanNode) -> Relation:
        handle = scan.table.connectorHandle
        if handle["@type"] != "system":
            return catalog_table(scan)
        return rows_relation(scan, self._known_metadata_table(scan.table))

    def read(self, relation: RowsRelation | JdbcRelation) -> ArrowStream:
        """Rows of a metadata table. Raises ProcessionError."""
        assert isinstance(relation, RowsRelation)
        with mapped(str(relation.handle.connectorHandle["tableName"])):
            return read_rows(self._known_metadata_table(relation.handle), relation)

    def _metadata_table(self, schema: str, name: str) -> VirtualTable | None:
        asked = special_name(name)
        table = None if asked is None else self.tables_of.load(schema, asked.table)
        return None if table is None or asked is None else metadata_table(table, schema, name, asked)

    def _known_metadata_table(self, handle: TableHandle) -> VirtualTable:
        schema, name = (str(handle.connectorHandle[key]) for key in ("schemaName", "tableName"))
        found = self._metadata_table(schema, name)
        if found is None:  # dropped since planning
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Table {self.catalog}.{schema}.{name} does not exist")
        return found

    def view_names(self, schema: str) -> Sequence[str]:
        return view_names(self.tables_of, schema)

    def view(self, schema: str, name: str) -> ViewMetadata | None:
        return load_view(self.tables_of, schema, name)

    def schema_properties(self) -> Sequence[PropertyDeclaration]:
        return SCHEMA_PROPERTIES

    def table_properties(self) -> Sequence[PropertyDeclaration]:
        return DECLARED

    def column_properties(self) -> Sequence[PropertyDeclaration]:
        return COLUMN_PROPERTIES

    def analyze_properties(self) -> Sequence[PropertyDeclaration]:
        return ANALYZE_PROPERTIES

    def analyze(self, schema: str, table: str, properties: Mapping[str, Any], context: ProcedureContext) -> int:
        return analyze(self.tables_of, schema, table, properties.get("columns"), context)

    def definition(self, schema: str, table: str) -> TableDefinition | None:
        return table_definition(self.tables_of, schema, table)

    def schema_definition(self, schema: str) -> Mapping[str, Any] | None:
        return schema_definition(self.tables_of, schema)

    def statistics(self, schema: str, table: str) -> TableStatistics | None:
        return table_statistics(self.tables_of, schema, table)

    def column_bounds(self, scan: TableScanNode) -> Mapping[str, Sequence[ValueRange]]:
        return self._bounds.of(scan)

    def validate(self, change: CatalogChange) -> None:
        ddl.validate(self.tables_of, change)

    def change(self, change: CatalogChange, context: ProcedureContext) -> None:
        ddl.apply(self.tables_of, change, context)

    def write(self, write: TableWrite, context: WriteContext) -> int:
        return writing.write(self.tables_of, write, context)

    def row_position(self, scan: TableScanNode) -> RowPositionDescriptor | str:
        return row_position(self.tables_of, scan)

    def look_up(
        self, table: TableHandle, columns: Sequence[Mapping[str, Any]], sources: Sequence[int | str]
    ) -> LookUpTemplate:
        return look_up_template(self.tables_of, table, columns, sources)

    def procedures(self) -> Sequence[Procedure]:
        if self._procedures is None:
            # Looking among the installed packages takes milliseconds, and never gives another answer.
            self._procedures = iceberg_procedures(self.tables_of, self.journal)
        return self._procedures


class IcebergConnectorFactory:
    """``connector.name=iceberg``"""

    def create(self, catalog: str, properties: Mapping[str, Property], data_dir: Path) -> IcebergConnector:
        return IcebergConnector(catalog, properties, data_dir)

    def spark_conf(self, catalog: str, properties: Mapping[str, Property], data_dir: Path) -> dict[str, str]:
        return spark_properties(read_settings(catalog, properties, data_dir))


FACTORY = IcebergConnectorFactory()
"""What the entry point group ``procession.connectors`` names."""


HIDDEN_COLUMNS = (
    ColumnMetadata("$path", "varchar", hidden_handle(2147483646, "$path", "varchar"), nullable=False, hidden=True),
    ColumnMetadata(
        "$deleted", "boolean", hidden_handle(2147483644, "$deleted", "boolean"), nullable=False, hidden=True
    ),
)
"""The file of a row, and whether it is deleted: a query that reads ``"$deleted"`` sees deleted rows too."""


def describe(
    catalog: str, schema: str, name: str, table: Table, snapshot: Snapshot | None, *, pinned: bool
) -> TableMetadata:
    """What the planner knows of ``table`` at ``snapshot``; ``pinned`` takes that snapshot's schema (time travel)."""
    iceberg_schema = _schema_at(table, snapshot) if pinned else table.schema()
    keys = partition_key_ids(table.spec())
    columns = tuple(
        ColumnMetadata(
            name=field.name.lower(),
            type=str(presto_type(field.field_type)),
            handle=column_handle(field, partition_key=field.field_id in keys),
            nullable=field.optional,
            comment=field.doc,
            is_partition_key=field.field_id in keys,
        )
        for field in iceberg_schema.fields
    )
    snapshot_id = None if snapshot is None else snapshot.snapshot_id
    # Spark reads a snapshot by number with the columns of its time: after a change of columns nothing can be pinned
    # before the next snapshot.
    current = pinned or snapshot is None or snapshot.schema_id in (None, table.schema().schema_id)
    return TableMetadata(
        catalog=catalog,
        schema=schema,
        name=name,
        columns=columns,
        handle=table_handle(catalog, schema, name, table.metadata, iceberg_schema, snapshot_id if current else None),
        snapshot_id=snapshot_id,
        row_count=_exact_rows(snapshot),
        size_bytes=_total(snapshot, "total-files-size"),
        comment=table.properties.get("comment"),
        hidden_columns=(*HIDDEN_COLUMNS, *row_lineage(table)),
        distinct_values=distinct_values(table, snapshot),
    )


def _snapshot(table: Table, version: Any) -> Snapshot | None:
    if version is None:
        return table.current_snapshot()
    found = table.snapshot_by_id(version) if isinstance(version, int) else table.snapshot_by_name(str(version))
    if found is None:
        raise ProcessionError(ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID, f"Iceberg snapshot ID does not exists: {version}")
    return found


def _schema_at(table: Table, snapshot: Snapshot | None) -> Schema:
    if snapshot is None or snapshot.schema_id is None:
        return table.schema()
    return table.schemas().get(snapshot.schema_id, table.schema())


def _exact_rows(snapshot: Snapshot | None) -> int | None:
    """Rows of a snapshot without deletes; with deletes only reading them would tell."""
    if snapshot is None:
        return 0
    return _total(snapshot, "total-records") if _total(snapshot, "total-delete-files") == 0 else None


def _total(snapshot: Snapshot | None, key: str) -> int | None:
    if snapshot is None:
        return 0
    if snapshot.summary is None:
        return None
    value = snapshot.summary.additional_properties.get(key)
    return int(value) if value is not None and value.isdigit() else None
