"""A fake connector that implements shared.spi.connector over declared tables, and the line of planning over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.iceberg.relations import catalog_table
from coordinator.connectors.objects import CatalogObjects
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import TableHandle, TableScanNode
from shared.spi.connector import ColumnMetadata, Connector, TableMetadata
from shared.spi.procedure import (
    Argument,
    Arguments,
    OutputColumn,
    Procedure,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureResult,
    TableTarget,
)
from shared.spi.relation import Relation
from shared.spi.session import Session

if TYPE_CHECKING:
    from tests.optimizer.rule_cases import RuleCases
    from tests.planner.drawn_plans import DrawnPlans

REWRITE = ProcedureDeclaration(
    name="rewrite_data_files",
    kind=ProcedureKind.TABLE_DATA_REWRITE,
    summary="Rewrite many files as few.",
    arguments=(
        Argument("schema", "varchar", "Schema of the table.", required=True),
        Argument("table_name", "varchar", "Name of the table.", required=True),
        Argument("strategy", "varchar", "How.", default="binpack", choices=("binpack", "sort")),
        Argument("sorted_by", "array(varchar)", "Order."),
        Argument("options", "map(varchar,varchar)", "Options.", default={}),
        Argument("filter", "varchar", "Which files."),
    ),
    output=(
        OutputColumn("rewritten_data_files_count", "integer", "Files read."),
        OutputColumn("added_data_files_count", "integer", "Files written."),
    ),
    example="CALL iceberg.system.rewrite_data_files('db', 't')",
    presto_order=("filter", "sorted_by", "options"),
)
ROLLBACK = ProcedureDeclaration(
    name="rollback_to_snapshot",
    kind=ProcedureKind.COORDINATOR,
    summary="Return to a snapshot.",
    arguments=(
        Argument("schema", "varchar", "Schema of the table.", required=True),
        Argument("table_name", "varchar", "Name of the table.", required=True),
        Argument("snapshot_id", "bigint", "Snapshot.", required=True),
        Argument("dry_run", "boolean", "Only look.", default=False),
        Argument("older_than", "timestamp", "Guard."),
    ),
    output=(OutputColumn("current_snapshot_id", "bigint"),),
    dry_run_output=(OutputColumn("would_become_current", "bigint"),),
)


class FakeRewrite:
    declaration = REWRITE

    def validate(self, arguments: Arguments) -> None:
        if arguments["strategy"] not in {"binpack", "sort"}:
            message = f"Invalid rewrite strategy: {arguments['strategy']}. Valid values are 'sort' or 'binpack'."
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)

    def begin(self, context: ProcedureContext, target: TableTarget, arguments: Arguments) -> Any:
        raise NotImplementedError

    def write(self, context: ProcedureContext, handle: Any) -> Sequence[bytes]:
        raise NotImplementedError

    def finish(self, context: ProcedureContext, handle: Any, fragments: Sequence[bytes]) -> ProcedureResult:
        raise NotImplementedError

    def abort(self, context: ProcedureContext, handle: Any) -> None:
        raise NotImplementedError


class FakeRollback:
    declaration = ROLLBACK

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        return ProcedureResult([(arguments["snapshot_id"],)])


def column(identity: int, name: str, type_text: str, *, key: bool = False) -> ColumnMetadata:
    handle = {
        "@type": "iceberg",
        "columnIdentity": {"id": identity, "name": name, "typeCategory": "PRIMITIVE", "children": []},
        "type": type_text,
        "columnType": "PARTITION_KEY" if key else "REGULAR",
        "requiredSubfields": [],
    }
    return ColumnMetadata(name, type_text, handle, is_partition_key=key)


def table(catalog: str, schema: str, name: str, columns: tuple[ColumnMetadata, ...]) -> TableMetadata:
    connector_handle = {
        "@type": "iceberg",
        "schemaName": schema,
        "icebergTableName": {"tableName": name, "tableType": "DATA", "snapshotId": 290165474739832789},
        "snapshotSpecified": False,
        "updatedColumns": [],
        "sortOrder": [],
    }
    true = {"@type": "constant", "valueBlock": "CgAAAEJZVEVfQVJSQVkBAAAAAAE=", "type": "boolean"}
    layout = {
        "@type": "iceberg",
        "partitionColumns": [c.handle for c in columns if c.is_partition_key],
        "dataColumns": [{"name": c.name, "type": c.type} for c in columns],
        "domainPredicate": {"columnDomains": []},
        "remainingPredicate": true,
        "predicateColumns": {},
        "pushdownFilterEnabled": False,
        "partitionColumnPredicate": {"columnDomains": []},
        "table": connector_handle,
    }
    handle = TableHandle(
        connectorId=catalog,
        connectorHandle=connector_handle,
        transaction={"@type": "iceberg", "uuid": "5c0cc616-ea39-4b80-895a-d3d72e2f3ab2"},
        connectorTableLayout=layout,
    )
    hidden = ColumnMetadata("$path", "varchar", {"@type": "iceberg", "name": "$path"}, hidden=True)
    return TableMetadata(catalog, schema, name, (*columns, hidden), handle, snapshot_id=290165474739832789)


ORDERS = (
    column(1, "orderkey", "bigint"),
    column(2, "status", "varchar", key=True),
    column(3, "price", "decimal(12,2)"),
    column(4, "day", "date"),
    column(5, "comment", "varchar(79)"),
)


class FakeConnector:
    """Two schemas, one table."""

    def __init__(self, catalog: str) -> None:
        self.catalog = catalog
        self._tables = {"db": {"orders": table(catalog, "db", "orders", ORDERS)}, "empty": {}}

    def schemas(self) -> Sequence[str]:
        return sorted(self._tables)

    def tables(self, schema: str) -> Sequence[str]:
        return sorted(self._tables.get(schema, {}))

    def relation(self, scan: TableScanNode) -> Relation:
        return catalog_table(scan)

    def schema_exists(self, schema: str) -> bool:
        return schema in self._tables

    def table(self, schema: str, name: str, version: Any = None) -> TableMetadata | None:
        return self._tables.get(schema, {}).get(name)

    def procedures(self) -> Sequence[Procedure]:
        return (FakeRewrite(), FakeRollback())


class FakeCatalogs(CatalogObjects):
    """Implements what planning asks of coordinator.connectors.registry.Catalogs."""

    def __init__(self) -> None:
        self._connectors: Mapping[str, Connector] = {name: FakeConnector(name) for name in ("iceberg", "lake")}

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._connectors))

    def connector(self, name: str) -> Connector:
        if name not in self._connectors:
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Catalog {name} does not exist")
        return self._connectors[name]

    def column_bounds(self, scan: Any) -> dict[str, tuple[float, float]]:
        return {}

    def row_position(self, scan: Any) -> str:
        return "the tables of this catalog are not real"

    def pushdown(self, name: str) -> None:
        return None

    def relation(self, scan: TableScanNode) -> Relation:
        return self.connector(scan.table.connectorId).relation(scan)


@pytest.fixture
def catalogs() -> FakeCatalogs:
    return FakeCatalogs()


@pytest.fixture
def session() -> Session:
    return Session(user="test", catalog="iceberg", schema="db")


@pytest.fixture
def plan(catalogs: FakeCatalogs, session: Session) -> Callable[..., PlannedStatement]:
    """Plans a text with the real checkers; ``session`` may be another one."""

    def run(text: str, session: Session = session) -> PlannedStatement:
        return plan_statement(text, session, catalogs, PlanCheckers())  # type: ignore[arg-type]

    return run


@pytest.fixture(scope="session")
def plans(rule_cases: RuleCases) -> DrawnPlans:
    """``plans.check(sql, plan)``."""
    from tests.planner.drawn_plans import DrawnPlans  # it imports this module

    return DrawnPlans(rule_cases)
