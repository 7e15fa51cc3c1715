"""LIMIT and TopN: the database sends no more rows than wanted. The node stays above: engines read in any order."""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.pushdown.expressions import Translator
from coordinator.connectors.jdbc.remote_query import RemoteQuery, nested, remote_query, scan_of
from shared.plan.nodes import LimitNode, Ordering, PlanNode, TableScanNode, TopNNode


def push_limit(node: LimitNode, scan: TableScanNode, dialect: Dialect) -> PlanNode | None:
    """The limit over a scan that reads at most as many rows."""
    query = remote_query(scan, dialect)
    if query.limit is not None and query.limit <= node.count:
        return None
    limited = replace(query, limit=node.count)
    return replace(node, source=scan_of(scan, limited, scan.outputVariables, _estimate(scan, node.count)))


def push_top_n(node: TopNNode, scan: TableScanNode, dialect: Dialect) -> PlanNode | None:
    """The TopN over a scan that reads only the first rows, by Presto's order. Raises NotPushable."""
    query = remote_query(scan, dialect)
    if query.limit is not None:
        if query.order_by and query.limit <= node.count:
            return None
        query = nested(query, dialect.quote(f"T{node.id}"), dialect)
    keys = tuple(_key(ordering, query, dialect) for ordering in node.orderingScheme.orderBy)
    first = replace(query, order_by=keys, limit=node.count)
    return replace(node, source=scan_of(scan, first, scan.outputVariables, _estimate(scan, node.count)))


def _key(ordering: Ordering, query: RemoteQuery, dialect: Dialect) -> str:
    sql = Translator(query.columns, dialect).order(ordering.variable)
    direction, _, nulls = ordering.sortOrder.partition("_NULLS_")
    if dialect.syntax.nulls_first_and_last:
        return f"{sql} {direction} NULLS {nulls}"
    first, others = (0, 1) if nulls == "FIRST" else (1, 0)
    return f"CASE WHEN {sql} IS NULL THEN {first} ELSE {others} END, {sql} {direction}"


def _estimate(scan: TableScanNode, rows: int) -> dict[str, int] | None:
    known = (scan.table.connectorTableLayout or {}).get("estimate")
    return None if known is None else {**known, "rows": min(int(known["rows"]), rows)}
