"""The pushdown of a JDBC catalog: each operator to its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from coordinator.connectors.jdbc.database import Database
from coordinator.connectors.jdbc.dialects.dialect import Estimate
from coordinator.connectors.jdbc.pushdown.aggregations import push_aggregation
from coordinator.connectors.jdbc.pushdown.cost import cheaper, estimate, multiplied, of_table, why_not
from coordinator.connectors.jdbc.pushdown.filters import push_filter
from coordinator.connectors.jdbc.pushdown.joins import inner_join, push_outer_join, push_semi_join, translatable
from coordinator.connectors.jdbc.pushdown.limits import push_limit, push_top_n
from coordinator.connectors.jdbc.pushdown.missing_statistics import with_missing_statistics, without_statistics
from coordinator.connectors.jdbc.pushdown.projections import push_projection
from coordinator.connectors.jdbc.pushdown.refusal import NotPushable, explained
from coordinator.connectors.jdbc.relation import jdbc_relation
from coordinator.connectors.jdbc.remote_query import KEY, RemoteQuery, remote_query, scan_of
from coordinator.vocabulary.session_properties import session_value
from shared.plan.expressions import Call, RowExpression, Variable
from shared.plan.nodes import (
    AggregationNode,
    FilterNode,
    JoinNode,
    LimitNode,
    PlanNode,
    ProjectNode,
    SemiJoinNode,
    TableScanNode,
    TopNNode,
)
from shared.plan.traversal import sources, with_sources
from shared.spi.pushdown import JoinedScan
from shared.spi.session import Session

_KINDS: Mapping[type, str] = {
    FilterNode: "filter",
    ProjectNode: "projection",
    LimitNode: "limit",
    TopNNode: "ordering",
    AggregationNode: "aggregation",
    SemiJoinNode: "semi join",
    JoinNode: "join",
}
_WORTH_ASKING = 1 << 20
"""Bytes of a table from which on a question about its filtered rows is cheaper than the wrong engine."""


def push(database: Database, node: PlanNode, session: Session) -> PlanNode | None:
    """As ``shared.spi.pushdown.Pushdown.push``."""
    try:
        return _push(database, node, session)
    except NotPushable as reason:
        scans = [explained(cast(TableScanNode, scan), f"{reason}", _KINDS[type(node)]) for scan in sources(node)]
        return with_sources(node, scans)


def _push(database: Database, node: PlanNode, session: Session) -> PlanNode | None:
    dialect = database.dialect
    match node:
        case FilterNode(source=TableScanNode() as scan):
            return push_filter(node, scan, dialect)
        case ProjectNode(source=TableScanNode() as scan):
            return push_projection(node, scan, dialect)
        case LimitNode(source=TableScanNode() as scan):
            return push_limit(node, scan, dialect)
        case TopNNode(source=TableScanNode() as scan):
            return push_top_n(node, scan, dialect)
        case AggregationNode(source=TableScanNode() as scan):
            return push_aggregation(node, scan, dialect)
        case SemiJoinNode(source=TableScanNode() as source, filteringSource=TableScanNode() as filtering):
            return push_semi_join(node, source, filtering, dialect)
        case JoinNode(left=TableScanNode() as left, right=TableScanNode() as right) if node.type != "INNER":
            return _if_it_pays(database, push_outer_join(node, left, right, dialect), (left, right), session)
        case _:
            return None


def join(
    database: Database, scans: Sequence[TableScanNode], terms: Sequence[RowExpression], session: Session
) -> JoinedScan | str:
    """As ``shared.spi.pushdown.Pushdown.join``; ``terms`` must all be pushable."""
    try:
        query = inner_join(scans, terms, database.dialect)
    except NotPushable as reason:
        return f"{reason} stays with the engine"
    wanted = tuple(variable for scan in scans for variable in scan.outputVariables)
    equal = any(isinstance(term, Call) and term.displayName == "EQUAL" for term in terms)
    against, found = _against(database, query, wanted, scans, session, equal=equal)
    if against is not None:
        return against
    return JoinedScan(with_missing_statistics(scan_of(scans[0], query, wanted, found), scans), ())


def pushable(database: Database, conjunct: RowExpression, scans: Sequence[TableScanNode]) -> bool:
    """As ``shared.spi.pushdown.Pushdown.pushable``."""
    return translatable(conjunct, scans, database.dialect)


def finished(database: Database, scan: TableScanNode) -> TableScanNode:
    """As ``shared.spi.pushdown.Pushdown.finished``; with an estimate of what is left to read."""
    relation = jdbc_relation(scan, database.dialect)
    layout = {**(scan.table.connectorTableLayout or {}), "remoteSql": relation.sql}
    if relation.size_bytes is None or (relation.size_bytes > _WORTH_ASKING and KEY in layout):
        query = remote_query(scan, database.dialect)
        found = estimate(database, query, [v.name for v in scan.outputVariables])
        if found is not None:
            layout["estimate"] = {"rows": found.rows, "rowWidth": found.row_width}
    return msgspec.structs.replace(scan, table=msgspec.structs.replace(scan.table, connectorTableLayout=layout))


def pays(database: Database, pushed: TableScanNode, parts: Sequence[TableScanNode], session: Session) -> str | None:
    """As ``shared.spi.pushdown.Pushdown.pays``."""
    query = remote_query(pushed, database.dialect)
    return _against(database, query, pushed.outputVariables, parts, session, equal=True)[0]


def _if_it_pays(
    database: Database, pushed: TableScanNode, parts: Sequence[TableScanNode], session: Session
) -> PlanNode:
    query = remote_query(pushed, database.dialect)
    against, found = _against(database, query, pushed.outputVariables, parts, session, equal=True)
    if against is not None:
        raise NotPushable(against)
    return with_missing_statistics(scan_of(pushed, query, pushed.outputVariables, found), parts)


def _against(
    database: Database,
    query: RemoteQuery,
    outputs: Sequence[Variable],
    parts: Sequence[TableScanNode],
    session: Session,
    *,
    equal: bool,
) -> tuple[str | None, dict[str, int] | None]:
    """The reason against a join, and its estimate."""
    strategy = session_value(session, "join_pushdown_strategy").upper()
    if strategy == "EAGER":
        return None, None
    if strategy == "NEVER":
        return "join_pushdown_strategy is NEVER", None
    known = [of_table(part) for part in parts]
    if not equal and None not in known:
        reason = why_not(multiplied([part for part in known if part is not None]), [p for p in known if p is not None])
        if reason is not None:
            return reason, None
    joined = estimate(database, query, [v.name for v in outputs])
    if joined is None:
        return None, None
    single = [found or _asked(database, part) for found, part in zip(known, parts, strict=True)]
    reason = why_not(joined, single)
    if reason is not None and cheaper(joined, [_asked(database, part) for part in parts]):
        reason = None
    if reason is not None and (guessed := without_statistics(parts)):
        reason += f"; there are no statistics of {', '.join(guessed)}, the database guesses"
    return reason, {"rows": joined.rows, "rowWidth": joined.row_width}


def _asked(database: Database, part: TableScanNode) -> Estimate:
    found = estimate(database, remote_query(part, database.dialect), [v.name for v in part.outputVariables])
    # MySQL may give none for a query that reads nothing.
    return found or Estimate(1, 1)
