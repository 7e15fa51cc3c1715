"""Filters: each conjunct that the database computes as Presto does; the others stay above."""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.analyzer.builders import conjunction, conjuncts
from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.pushdown.expressions import Translator
from coordinator.connectors.jdbc.pushdown.refusal import NotPushable
from coordinator.connectors.jdbc.remote_query import nested, remote_query, scan_of
from shared.plan.expressions import RowExpression
from shared.plan.nodes import FilterNode, PlanNode, TableScanNode


def push_filter(node: FilterNode, scan: TableScanNode, dialect: Dialect) -> PlanNode | None:
    """The scan with what could be pushed, under a filter with the rest."""
    query = remote_query(scan, dialect)
    if not query.simple:
        query = nested(query, dialect.quote(f"T{node.id}"), dialect)
    translator = Translator(query.columns, dialect)
    pushed: list[str] = []
    rest: list[RowExpression] = []
    for term in conjuncts(node.predicate):
        try:
            pushed.append(translator.condition(term))
        except NotPushable:
            rest.append(term)
    if not pushed:
        return None
    where = tuple(dict.fromkeys((*query.where, *pushed)))
    filtered = scan_of(scan, replace(query, where=where), scan.outputVariables)
    return replace(node, source=filtered, predicate=conjunction(rest)) if rest else filtered
