"""The WHERE of SHOW STATS: a condition over the columns of one table, for its connector to decide by metadata."""

from __future__ import annotations

from msgspec import structs

from coordinator.analyzer.expressions import analyze_condition
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.connectors.registry import Catalogs
from coordinator.planner.object_names import ObjectName
from coordinator.planner.query.collector import Collector
from coordinator.planner.query.no_aggregates import NoAggregates
from coordinator.planner.query.planner import QueryPlanner
from coordinator.sql.tree.expressions import Expression
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.traversal import free_variables
from shared.spi.connector import TableMetadata
from shared.spi.session import Session
from shared.spi.table_writes import RowFilter

_CLAUSE = "WHERE clause"


def statistics_filter(
    where: Expression, name: ObjectName, table: TableMetadata, session: Session, catalogs: Catalogs
) -> RowFilter:
    """Only with the columns that the condition reads. Raises ProcessionError for what is no condition over them."""
    planner = QueryPlanner(session, catalogs, (where,))
    relation = (name.catalog, name.schema, name.name)
    fields = [
        ScopeField(column.name, planner.ids.variable(column.name, column.type), relation)
        for column in table.columns
        if not column.hidden
    ]
    collector = Collector(planner.ids, planner)
    refusing = NoAggregates(collector, _CLAUSE)
    context = structs.replace(planner.context, scope=Scope(tuple(fields)), collector=refusing, clause=_CLAUSE)
    condition = analyze_condition(where, context, _CLAUSE)
    if collector.subqueries:
        raise not_pushed_down(ErrorLocation(where.location.line, where.location.column))
    read = {variable.name for variable in free_variables(condition)}
    columns = {f.variable.name: f.name for f in fields if f.name is not None and f.variable.name in read}
    return RowFilter(condition, columns)


def not_pushed_down(location: ErrorLocation) -> ProcessionError:
    """Presto's refusal of a condition that metadata cannot decide."""
    message = "Only predicates that can be pushed down are supported in the SHOW STATS WHERE clause"
    return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
