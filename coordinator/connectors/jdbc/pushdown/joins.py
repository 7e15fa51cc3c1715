"""Joins of tables of one database. Inner joins are grouped by the optimizer; here they become one query."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.pushdown.expressions import Translator
from coordinator.connectors.jdbc.pushdown.refusal import NotPushable
from coordinator.connectors.jdbc.remote_query import (
    RemoteColumn,
    RemoteQuery,
    nested,
    remote_query,
    render,
    scan_of,
)
from coordinator.expressions.builders import conjuncts, operator
from coordinator.expressions.types import BOOLEAN
from shared.plan.expressions import RowExpression
from shared.plan.nodes import EquiJoinClause, JoinNode, PlanNode, SemiJoinNode, TableScanNode
from shared.plan.traversal import output_variables


def translatable(conjunct: RowExpression, scans: Sequence[TableScanNode], dialect: Dialect) -> bool:
    """Whether the database computes ``conjunct`` over the columns of ``scans`` with Presto's meaning."""
    columns: dict[str, RemoteColumn] = {}
    for scan in scans:
        columns |= remote_query(scan, dialect).columns
    try:
        Translator(columns, dialect).condition(conjunct)
    except NotPushable:
        return False
    return True


def inner_join(scans: Sequence[TableScanNode], terms: Sequence[RowExpression], dialect: Dialect) -> RemoteQuery:
    """One query for the inner join of ``scans`` under ``terms``; raises NotPushable."""
    queries = [_simple(scan, dialect) for scan in scans]
    columns = {name: column for query in queries for name, column in query.columns.items()}
    translator = Translator(columns, dialect)
    where = [condition for query in queries for condition in query.where]
    where += [translator.condition(term) for term in terms]
    return RemoteQuery(
        sources=tuple(source for query in queries for source in query.sources),
        columns=columns,
        where=tuple(dict.fromkeys(where)),
        tables=tuple(table for query in queries for table in query.tables),
        # The largest table's: its rows are those that are worth dividing.
        partition=max((q.partition for q in queries if q.partition), key=lambda p: p.rows, default=None),
    )


def push_outer_join(node: JoinNode, left: TableScanNode, right: TableScanNode, dialect: Dialect) -> TableScanNode:
    """An outer join of two scans as one scan; raises NotPushable when a part of its condition stays here."""
    full = node.type == "FULL"
    if full and (node.filter is not None or not dialect.semantics.full_joins):
        # PostgreSQL joins so by equalities alone.
        raise NotPushable("a full join" if not dialect.semantics.full_joins else "a full join by more than equalities")
    if node.type == "RIGHT":
        left, right = right, left
    outer, inner = _simple(left, dialect), remote_query(right, dialect)
    if full and not outer.optional:
        outer = nested(outer, dialect.quote(f"T{node.id}_"), dialect)
    if not inner.optional:
        inner = nested(inner, dialect.quote(f"T{node.id}"), dialect)
    terms = [_equality(clause) for clause in node.criteria]
    terms += [] if node.filter is None else conjuncts(node.filter)
    translator = Translator({**outer.columns, **inner.columns}, dialect)
    on = " AND ".join(translator.condition(term) for term in terms)
    if not on:
        raise NotPushable("a join without a condition")
    source = replace(inner.sources[0], on=on, kind="FULL" if full else "LEFT")
    optional = {name: replace(column, nullable=True) for name, column in inner.columns.items()}
    kept = {name: replace(column, nullable=column.nullable or full) for name, column in outer.columns.items()}
    joined = RemoteQuery(
        sources=(*outer.sources, source),
        columns={**kept, **optional},
        where=outer.where,
        tables=(*outer.tables, *inner.tables),
        # Rows without a partner on the left have no key to divide them by.
        partition=None if full else outer.partition,
    )
    return scan_of(left, joined, node.outputVariables)


def push_semi_join(node: SemiJoinNode, source: TableScanNode, filtering: TableScanNode, dialect: Dialect) -> PlanNode:
    """IN over two scans as a boolean column: NULL rules of SQL are the same on both sides. Raises NotPushable."""
    query, inner = _simple(source, dialect), remote_query(filtering, dialect)
    clause = EquiJoinClause(left=node.sourceJoinVariable, right=node.filteringSourceJoinVariable)
    Translator({**query.columns, **inner.columns}, dialect).condition(_equality(clause))
    tested = Translator(query.columns, dialect).key(node.sourceJoinVariable)
    # The side that is looked up must compare by its bytes too.
    Translator(inner.columns, dialect).key(node.filteringSourceJoinVariable)
    looked_up = render(inner, [node.filteringSourceJoinVariable.name], dialect)
    test = RemoteColumn(Translator({}, dialect).truth(f"({tested} IN ({looked_up}))"), "boolean", computed=True)
    columns = {**query.columns, node.semiJoinOutput.name: test}
    tested_query = replace(query, columns=columns, tables=(*query.tables, *inner.tables))
    return scan_of(source, tested_query, output_variables(node))


def _simple(scan: TableScanNode, dialect: Dialect) -> RemoteQuery:
    query = remote_query(scan, dialect)
    return query if query.simple else nested(query, dialect.quote(f"T{scan.id}_"), dialect)


def _equality(clause: EquiJoinClause) -> RowExpression:
    return operator("=", (clause.left, clause.right), BOOLEAN)
