"""The JDBC connector: one class for every database, what differs is in its dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from coordinator.connectors.jdbc.database import Database, RemoteTable
from coordinator.connectors.jdbc.dialects import DIALECTS
from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.handles import PARTITION_TYPES, column_handle, table_handle
from coordinator.connectors.jdbc.pushdown import pushdown
from coordinator.connectors.jdbc.pushdown.refusal import explained
from coordinator.connectors.jdbc.reads import StatementReads
from coordinator.connectors.jdbc.relation import jdbc_relation
from coordinator.connectors.jdbc.settings import JdbcSettings, read_settings
from shared.plan.expressions import RowExpression
from shared.plan.nodes import PlanNode, TableScanNode
from shared.properties import Property
from shared.spi.capabilities import Capabilities
from shared.spi.connector import ColumnMetadata, SparkDrivers, TableMetadata
from shared.spi.procedure import Procedure
from shared.spi.pushdown import JoinedScan
from shared.spi.relation import JdbcRelation, Relation
from shared.spi.session import Session


class JdbcConnector:
    """One catalog over one database in one process. Making one opens nothing."""

    def __init__(self, catalog: str, settings: JdbcSettings, dialect: Dialect) -> None:
        self.catalog = catalog
        self.settings = settings
        self.dialect = dialect
        self.database = Database(settings, dialect)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(pushdown=self, remote=self)

    def schemas(self) -> Sequence[str]:
        return sorted(name.lower() for name in self.database.schemas())

    def tables(self, schema: str) -> Sequence[str]:
        remote = self._remote_schema(schema)
        return [] if remote is None else sorted(name.lower() for name in self.database.tables(remote))

    def schema_exists(self, schema: str) -> bool:
        return self._remote_schema(schema) is not None

    def table(self, schema: str, name: str, version: object = None) -> TableMetadata | None:
        """The table as it is now: databases keep no versions, so ``version`` is refused by having no table."""
        if version is not None or "\0" in schema + name:  # no database has NUL in names, and drivers fail over it
            return None
        table = self.database.table(schema, name) or self._spelled_otherwise(schema, name)
        return None if table is None else self._describe(schema, name, table)

    def relation(self, scan: TableScanNode) -> Relation:
        return jdbc_relation(scan, self.dialect)

    def reads(self, query_id: str, relations: Sequence[JdbcRelation]) -> StatementReads:
        """The reads of one statement; opens nothing yet."""
        return StatementReads(self.database, query_id, relations)

    def procedures(self) -> Sequence[Procedure]:
        return ()

    def push(self, node: PlanNode, session: Session) -> PlanNode | None:
        return pushdown.push(self.database, node, session)

    def pushable(self, conjunct: RowExpression, scans: Sequence[TableScanNode], session: Session) -> bool:  # noqa: ARG002
        return pushdown.pushable(self.database, conjunct, scans)

    def join(
        self, scans: Sequence[TableScanNode], conjuncts: Sequence[RowExpression], session: Session
    ) -> JoinedScan | str:
        return pushdown.join(self.database, scans, conjuncts, session)

    def pays(self, scan: TableScanNode, parts: Sequence[TableScanNode], session: Session) -> str | None:
        return pushdown.pays(self.database, scan, parts, session)

    def explained(self, scan: TableScanNode, reason: str) -> TableScanNode:
        return explained(scan, reason)

    def finished(self, scan: TableScanNode) -> TableScanNode:
        return pushdown.finished(self.database, scan)

    def _describe(self, schema: str, name: str, table: RemoteTable) -> TableMetadata:
        columns = tuple(
            ColumnMetadata(
                name=column.name.lower(),
                type=column.mapped.presto,
                handle=column_handle(self.catalog, self.dialect, column, table.statistics.widths.get(column.name)),
                nullable=column.nullable,
                comment=column.comment,
            )
            for column in table.columns
        )
        return TableMetadata(
            catalog=self.catalog,
            schema=schema,
            name=name,
            columns=columns,
            handle=table_handle(self.catalog, self.dialect, table, self._partition_column(table)),
            comment=table.comment,
            warnings=self._warnings(table),
        )

    def _warnings(self, table: RemoteTable) -> tuple[str, ...]:
        if not table.skipped:
            return ()
        columns = ", ".join(table.skipped)
        advice = "unsupported-type-handling=CONVERT_TO_VARCHAR reads them as text"
        return (
            f"Table {self.catalog}.{table.schema}.{table.name}: no Presto type for the columns {columns}; {advice}",
        )

    def _partition_column(self, table: RemoteTable) -> str | None:
        """The column by whose ranges several tasks read the table: the configured one, else the key's first."""
        chosen = self.settings.partition_columns.get(f"{table.schema}.{table.name}".lower())
        name = chosen or next(iter(table.primary_key), None)
        types = {c.name: c.mapped.presto for c in table.columns}
        return name if name is not None and types.get(name) in PARTITION_TYPES else None

    def _remote_schema(self, schema: str) -> str | None:
        return next((n for n in self.database.schemas() if n.lower() == schema.lower()), None)

    def _spelled_otherwise(self, schema: str, name: str) -> RemoteTable | None:
        """Presto's names are lower case: look for one that differs from the remote one in case alone."""
        remote = self._remote_schema(schema)
        if remote is None:
            return None
        found = [n for n in self.database.tables(remote) if n.lower() == name.lower()]
        return self.database.table(remote, found[0]) if len(found) == 1 else None


class JdbcConnectorFactory:
    """One value of ``connector.name``."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def create(self, catalog: str, properties: Mapping[str, Property], data_dir: Path) -> JdbcConnector:  # noqa: ARG002
        return JdbcConnector(catalog, self._settings(catalog, properties), self._dialect)

    def spark_conf(self, catalog: str, properties: Mapping[str, Property], data_dir: Path) -> dict[str, str]:  # noqa: ARG002
        """Nothing: Spark reads these tables query by query, so that no password stands in its configuration."""
        self._settings(catalog, properties)
        return {}

    def drivers(self, catalog: str, properties: Mapping[str, Property]) -> SparkDrivers:
        """The jar at ``driver-path``, else the dialect's driver from Maven."""
        path = self._settings(catalog, properties).driver_path
        return (
            SparkDrivers(jars=(path,)) if path is not None else SparkDrivers(packages=(self._dialect.driver_package,))
        )

    def _settings(self, catalog: str, properties: Mapping[str, Property]) -> JdbcSettings:
        return read_settings(catalog, self._dialect, properties)


POSTGRESQL = JdbcConnectorFactory(DIALECTS["postgresql"])
MYSQL = JdbcConnectorFactory(DIALECTS["mysql"])
MARIADB = JdbcConnectorFactory(DIALECTS["mariadb"])
SQLSERVER = JdbcConnectorFactory(DIALECTS["sqlserver"])
ORACLE = JdbcConnectorFactory(DIALECTS["oracle"])
DB2 = JdbcConnectorFactory(DIALECTS["db2"])
