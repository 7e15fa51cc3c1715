"""The Iceberg connector: what the planner learns of schemas and tables, and the procedures of ``catalog.system``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.descriptions import Descriptions
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.granted_objects import GrantedObjects
from coordinator.connectors.iceberg.grants import SqlGrants
from coordinator.connectors.iceberg.maintenance.table_state import table_state
from coordinator.connectors.iceberg.materialized import views as materialized
from coordinator.connectors.iceberg.materialized.refreshing import refresh
from coordinator.connectors.iceberg.materialized.stored import STORAGE_PREFIX, is_storage_name
from coordinator.connectors.iceberg.materialized.views import is_storage
from coordinator.connectors.iceberg.metadata_tables.names import base_name, reference_name, special_name
from coordinator.connectors.iceberg.metadata_tables.tables import metadata_table
from coordinator.connectors.iceberg.procedures import distributed_procedures, iceberg_procedures
from coordinator.connectors.iceberg.properties import read_settings, spark_packages, spark_properties
from coordinator.connectors.iceberg.relations import catalog_table, read_here
from coordinator.connectors.iceberg.rest.rest_catalog import ServedCatalog
from coordinator.connectors.iceberg.rewrite.committing.journal import Journal
from coordinator.connectors.iceberg.rewrite.committing.unknown_commits import settle_commit_later
from coordinator.connectors.iceberg.row_position import look_up_template, row_position
from coordinator.connectors.iceberg.scans.rows import file_scan
from coordinator.connectors.iceberg.scans.scan import scan_of
from coordinator.connectors.iceberg.scans.snapshot_files import SnapshotFiles
from coordinator.connectors.iceberg.snapshots.own import own_snapshots
from coordinator.connectors.iceberg.snapshots.time_travel import reference_of, snapshot_of
from coordinator.connectors.iceberg.statistics.analysis import ANALYZE_PROPERTIES, analyze
from coordinator.connectors.iceberg.statistics.column_ranges import ColumnRanges
from coordinator.connectors.iceberg.statistics.columns import filtered_statistics, table_statistics
from coordinator.connectors.iceberg.statistics.decoded_sizes import DecodedSizes
from coordinator.connectors.iceberg.table_words import check_for_spark
from coordinator.connectors.iceberg.tables import ddl, writing
from coordinator.connectors.iceberg.tables.definitions import schema_definition, table_definition
from coordinator.connectors.iceberg.tables.table_properties import COLUMN_PROPERTIES, DECLARED, SCHEMA_PROPERTIES
from coordinator.connectors.iceberg.tables.targets import target_of
from coordinator.connectors.iceberg.tables.vanished import watch_vanished
from coordinator.connectors.iceberg.tables.write_audit import PROPERTIES as WAP_PROPERTIES
from coordinator.connectors.iceberg.tables.write_audit import branch_to_read
from coordinator.connectors.iceberg.unfinished_work import KeepsWork
from coordinator.connectors.iceberg.views.catalog_views import load_view, view_names
from coordinator.connectors.system.virtual_table import VirtualTable, read_rows, rows_relation, system_table
from coordinator.kernels.file_scan import FileScan, scan_reader
from coordinator.vocabulary.session_properties import SessionProperty
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import TableHandle, TableScanNode
from shared.properties import Property
from shared.spi.capabilities import Capabilities
from shared.spi.catalog_changes import (
    CatalogChange,
    MaterializedChange,
    MaterializedViewCreation,
    PropertyDeclaration,
    TableDefinition,
)
from shared.spi.connector import SparkDrivers, TableMetadata, ViewMetadata
from shared.spi.maintenance import AttachedPolicy, SnapshotRetention, TableState
from shared.spi.materialized_views import NO_SNAPSHOT, BaseChanges, BaseTable
from shared.spi.procedure import Procedure, ProcedureContext
from shared.spi.relation import ArrowStream, JdbcRelation, Relation, RowsRelation
from shared.spi.row_position import LookUpTemplate, RowPositionDescriptor
from shared.spi.session import Session
from shared.spi.table_statistics import TableStatistics, ValueRange
from shared.spi.table_writes import RowFilter, TableWrite, WriteContext


class IcebergConnector(KeepsWork):
    """One Iceberg catalog in one process. Making one opens nothing; the catalog is reached on first use."""

    def __init__(self, catalog: str, properties: Mapping[str, Property], data_dir: Path = Path("var")) -> None:
        self.catalog = catalog
        self.settings = read_settings(catalog, properties, data_dir)
        self.tables_of = TableCatalog(self.settings)
        self.journal = Journal(self.tables_of.work)
        self.tables_of.open_commits.check_call = self.journal.check
        self.tables_of.open_commits.unsettled = partial(settle_commit_later, self.tables_of)
        watch_vanished(self.tables_of)
        self._bounds = ColumnRanges(self.tables_of)
        self._decoded = DecodedSizes()
        self._files = SnapshotFiles(self.settings)
        self._descriptions = Descriptions(catalog)
        self._procedures: tuple[Procedure, ...] | None = None
        self._grants = (
            None
            if self.settings.admins is None
            else SqlGrants(catalog, self.settings.admins, self.tables_of.client, GrantedObjects(self.tables_of))
        )
        if self._grants is not None:
            self.tables_of.forgotten = self._grants.forget

    @cached_property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            views=self,
            materialized_views=self,
            changes=self,
            writes=self,
            committed=self,
            analyze=self,
            statistics=self,
            column_bounds=self,
            row_positions=self,
            rows=self,
            base_name=base_name,
            grants=self._grants,
            maintained=self,
        )

    def schemas(self) -> Sequence[str]:
        return self.tables_of.schemas()

    def tables(self, schema: str) -> Sequence[str]:
        return self.tables_of.tables(schema)

    def schema_exists(self, schema: str) -> bool:
        return self.tables_of.schema_exists(schema)

    def table(self, schema: str, name: str, version: Any = None) -> TableMetadata | None:
        """The table at its current snapshot, or at ``version``: a snapshot id, or the name of a branch or tag.

        Names with ``$`` mean metadata tables, ``name@id`` a snapshot, ``name.branch_x`` a branch.
        """
        if is_storage_name(name):
            return None
        if version is None and (reference := reference_name(name)) is not None:
            known = self.tables_of.load(schema, reference.table)
            if known is not None and is_storage(known):
                return None
            if known is not None:
                named = reference_of(known, reference.kind, reference.name)
                return self.table(schema, reference.table, named)
        asked = special_name(name)
        if asked is not None and asked.kind is not None:
            if (of := self.tables_of.load(schema, asked.table)) is not None and is_storage(of):
                return None
            virtual = self._metadata_table(schema, name)
            if virtual is not None:
                return replace(system_table(self.catalog, virtual), tells_of=asked.table)
            asked = None  # a table that another program named so
        if asked is not None:
            name, version = asked.table, version if asked.snapshot_id is None else asked.snapshot_id
        table = self.tables_of.load(schema, name)
        if table is None or is_storage(table):
            return None
        with mapped(f"{schema}.{name}"):
            return self._descriptions.of(schema, name, table, snapshot_of(table, version), pinned=version is not None)

    def version_in_session(self, schema: str, name: str, session: Session) -> str | None:
        """The branch that a session reads a table at that it names plainly; None for the table as it is."""
        if not any(session.catalog_properties.get(self.catalog, {}).get(p.name) for p in WAP_PROPERTIES):
            return None
        if reference_name(name) is not None or special_name(name) is not None:
            return None
        table = self.tables_of.load(schema, name)
        return None if table is None else branch_to_read(self.catalog, session, table)

    def marker(self, schema: str, table: str) -> str | None:
        """Implements ``MaintainedTables``: the location of the newest metadata."""
        return self.tables_of.location(schema, table)

    def markers(self, schema: str) -> Mapping[str, str]:
        """Implements ``MaintainedTables``."""
        return self.tables_of.locations(schema)

    def markers_at_once(self) -> Mapping[tuple[str, str], str] | None:
        """Implements ``MaintainedTables``."""
        return self.tables_of.all_locations()

    def marker_if_cheap(self, schema: str, table: str) -> str | None:
        """Implements ``MaintainedTables``: of a REST server where it has an ETag for what is here of the table."""
        return self.tables_of.location_if_cheap(schema, table)

    def table_state(self, schema: str, table: str, now: datetime, retention: SnapshotRetention) -> TableState | None:
        """Implements ``MaintainedTables``. Raises ProcessionError."""
        found = self.tables_of.load(schema, table)
        if found is None:
            return None
        with mapped(f"{schema}.{table}"):
            return table_state(self.catalog, schema, table, found, now, retention)

    def attached_policies(self, schema: str, table: str) -> Sequence[AttachedPolicy]:
        """Implements ``MaintainedTables``. Raises ProcessionError."""
        client = self.tables_of.client()
        if not isinstance(client, ServedCatalog):
            return ()
        with mapped(f"{schema}.{table}: its policies"):
            return client.applicable_policies((*schema.split("."), table))
        raise AssertionError("policies are read or refused")

    def relation(self, scan: TableScanNode) -> Relation:
        handle = scan.table.connectorHandle
        if handle["@type"] != "system":
            table = self.tables_of.load(str(handle["schemaName"]), str(handle["icebergTableName"]["tableName"]))
            if table is None:
                return catalog_table(scan)
            check_for_spark(table)
            with mapped(_table_name(self.catalog, handle)):
                return catalog_table(scan, table, read_here(scan, table, self._files, self._decoded))
        return rows_relation(scan, self._known_metadata_table(scan.table))

    def read(self, relation: RowsRelation | JdbcRelation) -> ArrowStream:
        """Rows of a table's files or of a metadata table. Raises ProcessionError."""
        assert isinstance(relation, RowsRelation)
        if relation.handle.connectorHandle["@type"] != "system":
            return cast(ArrowStream, scan_reader(self._table_scan(relation)))
        with mapped(str(relation.handle.connectorHandle["tableName"])):
            return read_rows(self._known_metadata_table(relation.handle), relation)

    def file_scan(self, relation: RowsRelation) -> FileScan | None:
        """What the kernels read for a scan of a table; None for metadata tables. Raises ProcessionError."""
        system = relation.handle.connectorHandle["@type"] == "system"
        return None if system else self._table_scan(relation)

    def _table_scan(self, relation: RowsRelation) -> FileScan:
        handle = relation.handle.connectorHandle
        name = _table_name(self.catalog, handle)
        table = self.tables_of.load(str(handle["schemaName"]), str(handle["icebergTableName"]["tableName"]))
        if table is None:
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Table {name} does not exist")
        with mapped(name):
            scan = scan_of(table, self._files, relation.handle, relation.columns)
            if isinstance(scan, str):
                message = f"{name} cannot be read any more as it was planned: {scan}; running the query again helps"
                raise ProcessionError(ErrorCode.ICEBERG_MISSING_DATA, message, retriable=True)
            return file_scan(scan, self.settings.storage)

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

    def materialized_view_properties(self) -> Sequence[PropertyDeclaration]:
        return materialized.PROPERTIES

    def storage_name(self, view: str) -> str:
        return f"{STORAGE_PREFIX}{view}"

    def is_storage(self, name: str) -> bool:
        return is_storage_name(name)

    def storage(self, schema: str, name: str, version: int | None = None) -> TableMetadata | None:
        """Implements ``MaterializedViews``: what ``table`` does not find."""
        table = self.tables_of.load(schema, name)
        if table is None or not is_storage(table):
            return None
        with mapped(f"{schema}.{name}"):
            return self._descriptions.of(schema, name, table, snapshot_of(table, version), pinned=version is not None)

    def stored_rows(self, view: ViewMetadata) -> TableMetadata | None:
        """Implements ``MaterializedViews``. Raises ProcessionError."""
        kept = view.materialized
        snapshot_id = materialized.stored_snapshot(self.tables_of, view)
        if kept is None or snapshot_id is None:
            return None
        table = self.tables_of.load(kept.storage_schema, kept.storage_table)
        assert table is not None, "its snapshot was found"
        snapshot = None if snapshot_id == NO_SNAPSHOT else table.snapshot_by_id(snapshot_id)
        with mapped(f"{kept.storage_schema}.{kept.storage_table}"):
            return self._descriptions.of(kept.storage_schema, kept.storage_table, table, snapshot, pinned=True)

    def can_continue(self, view: ViewMetadata) -> bool:
        return materialized.can_continue(self.tables_of, view)

    def base_changes(self, base: BaseTable) -> BaseChanges:
        return materialized.base_changes(self.tables_of, base)

    def schema_properties(self) -> Sequence[PropertyDeclaration]:
        return SCHEMA_PROPERTIES

    def table_properties(self) -> Sequence[PropertyDeclaration]:
        return DECLARED

    def column_properties(self) -> Sequence[PropertyDeclaration]:
        return COLUMN_PROPERTIES

    def session_properties(self) -> Sequence[SessionProperty]:
        """Trino's least ages, and where writes go before they are published."""
        return [
            *WAP_PROPERTIES,
            *(
                SessionProperty(
                    f"{name}_min_retention", "duration", age, f"The least retention_threshold of EXECUTE {name}"
                )
                for name, age in self.settings.least_ages.items()
            ),
        ]

    def analyze_properties(self) -> Sequence[PropertyDeclaration]:
        return ANALYZE_PROPERTIES

    def analyze(self, schema: str, table: str, properties: Mapping[str, Any], context: ProcedureContext) -> int:
        return analyze(self.tables_of, schema, table, properties.get("columns"), context)

    def definition(self, schema: str, table: str) -> TableDefinition | None:
        return table_definition(self.tables_of, schema, table)

    def schema_definition(self, schema: str) -> Mapping[str, object] | None:
        return schema_definition(self.tables_of, schema)

    def statistics(self, schema: str, table: str) -> TableStatistics | None:
        return table_statistics(self.tables_of, schema, table)

    def filtered_statistics(self, schema: str, table: str, rows: RowFilter) -> TableStatistics | None:
        return filtered_statistics(self.tables_of, schema, table, rows)

    def column_bounds(self, scan: TableScanNode) -> Mapping[str, Sequence[ValueRange]]:
        return self._bounds.of(scan)

    def validate(self, change: CatalogChange) -> None:
        if isinstance(change, MaterializedViewCreation):
            materialized.check_creation(self.tables_of, change)
        elif not isinstance(change, MaterializedChange):
            ddl.validate(self.tables_of, change)

    def change(self, change: CatalogChange, context: ProcedureContext) -> None:
        if isinstance(change, MaterializedChange):
            materialized.change_materialized(self.tables_of, change)
        else:
            with materialized.with_their_storage(self.tables_of, change):
                ddl.apply(self.tables_of, change, context)
        if self._grants is not None:
            self._grants.follow(change, context.session.user)

    def write(self, write: TableWrite, context: WriteContext) -> int:
        if write.refresh is not None:
            return refresh(self.tables_of, write, write.refresh, context)
        rows = writing.write(self.tables_of, write, context)
        if self._grants is not None and write.creation is not None:
            self._grants.follow(write.creation, context.procedure.session.user)
        return rows

    def committed_snapshot(self, schema: str, table: str, query_id: str) -> int | None:
        own = own_snapshots(target_of(self.tables_of, schema, table)[0], query_id)
        return own[-1].snapshot_id if own else None

    def row_position(self, scan: TableScanNode) -> RowPositionDescriptor | str:
        with mapped(scan.table.connectorId):
            return row_position(self.tables_of, self._decoded, scan)

    def look_up(
        self, table: TableHandle, columns: Sequence[Mapping[str, object]], sources: Sequence[int | str]
    ) -> LookUpTemplate:
        return look_up_template(self.tables_of, table, columns, sources)

    def procedures(self) -> Sequence[Procedure]:
        if self._procedures is None:
            # Looking among the installed packages takes milliseconds, and never gives another answer.
            self._procedures = iceberg_procedures(self.tables_of, self.journal)
        return self._procedures


def _table_name(catalog: str, handle: Mapping[str, Any]) -> str:
    return f"{catalog}.{handle['schemaName']}.{handle['icebergTableName']['tableName']}"


class IcebergConnectorFactory:
    """``connector.name=iceberg``"""

    def create(self, catalog: str, properties: Mapping[str, Property], data_dir: Path) -> IcebergConnector:
        return IcebergConnector(catalog, properties, data_dir)

    def spark_conf(self, catalog: str, properties: Mapping[str, Property], data_dir: Path) -> dict[str, str]:
        return spark_properties(read_settings(catalog, properties, data_dir))

    def distributed_procedures(self) -> Collection[str]:
        return distributed_procedures()

    def drivers(self, catalog: str, properties: Mapping[str, Property]) -> SparkDrivers:
        """The module with the clients of the catalog's object store; nothing for disks."""
        return SparkDrivers(packages=spark_packages(read_settings(catalog, properties)))


FACTORY = IcebergConnectorFactory()
"""What the entry point group ``procession.connectors`` names."""
