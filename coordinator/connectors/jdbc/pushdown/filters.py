"""Filters: each conjunct that the database computes as Presto does; the others stay above."""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.pushdown.expressions import Translator
from coordinator.connectors.jdbc.pushdown.refusal import NotPushable, explained
from coordinator.connectors.jdbc.remote_query import nested, remote_query, scan_of
from coordinator.expressions.builders import conjunction, conjuncts
from shared.plan.expressions import RowExpression
from shared.plan.nodes import FilterNode, PlanNode, TableScanNode


def push_filter(node: FilterNode, scan: TableScanNode, dialect: Dialect) -> PlanNode:
    """The scan with what could be pushed, under a filter with the rest. Raises NotPushable when that is all."""
    query = remote_query(scan, dialect)
    if not query.simple:
        query = nested(query, dialect.quote(f"T{node.id}"), dialect)
    translator = Translator(query.columns, dialect)
    pushed: list[str] = []
    rest: list[RowExpression] = []
    reasons: list[str] = []
    for term in conjuncts(node.predicate):
        try:
            pushed.append(translator.condition(term))
        except NotPushable as reason:
            rest.append(term)
            reasons.append(str(reason))
            # Case or trailing spaces may not count there: it sends some rows too many, but not all.
            with suppress(NotPushable):
                pushed.append(translator.wider(term))
    if not pushed:
        raise NotPushable("; ".join(dict.fromkeys(reasons)))
    where = tuple(dict.fromkeys((*query.where, *pushed)))
    filtered = scan_of(scan, replace(query, where=where), scan.outputVariables)
    if not rest:
        return filtered
    noted = explained(filtered, "; ".join(dict.fromkeys(reasons)), "filter")
    return replace(node, source=noted, predicate=conjunction(rest))
