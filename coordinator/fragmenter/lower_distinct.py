"""DISTINCT aggregates as workers run them: equal rows are found first, so that the aggregation has two steps.

Where all aggregates are of the same columns, the rows are grouped by those first (Presto's
SingleDistinctAggregationToGroupBy). Otherwise the first row of each value is marked, and the mark is the aggregate's
mask (MultipleDistinctAggregationToMarkDistinct). Engines have a DISTINCT of their own: their SQL keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from coordinator.vocabulary.identifiers import PlanNodeIds, Variables
from shared.plan.expressions import Variable
from shared.plan.nodes import Aggregation, AggregationNode, GroupingSets, MarkDistinctNode, PlanNode
from shared.plan.traversal import output_variables, rewrite_bottom_up, walk

_Columns = tuple[Variable, ...]


def lower_distinct(plan: PlanNode, ids: PlanNodeIds) -> PlanNode:
    """``plan`` without DISTINCT aggregates, but for those whose rows have an order or a condition."""
    if not any(isinstance(node, AggregationNode) and _columns(node) for node in walk(plan)):
        return plan
    names = Variables()
    for name in {variable.name for node in walk(plan) for variable in output_variables(node)}:
        names.new(name, "boolean")
    return rewrite_bottom_up(
        plan, lambda node: _lowered(node, ids, names) if isinstance(node, AggregationNode) else node
    )


def _lowered(node: AggregationNode, ids: PlanNodeIds, names: Variables) -> PlanNode:
    columns = _columns(node)
    if not columns:
        return node
    if len(columns) == len(node.aggregations) and len(set(columns.values())) == 1:
        return _grouped(node, next(iter(columns.values())), ids)
    return _marked(node, columns, ids, names)


def _columns(node: AggregationNode) -> Mapping[str, _Columns]:
    """The columns of each DISTINCT aggregate by its key; none where one of them has to stay as it is."""
    found: dict[str, _Columns] = {}
    for key, aggregation in node.aggregations.items():
        if aggregation.distinct is not True:
            continue
        arguments = aggregation.call.arguments
        columns = tuple(replace(a, sourceLocation=None) for a in arguments if isinstance(a, Variable))
        limited = aggregation.mask or aggregation.filter or aggregation.orderBy
        if limited or not columns or len(columns) < len(arguments):
            return {}
        found[key] = columns
    return found if node.step == "SINGLE" else {}


def _grouped(node: AggregationNode, columns: _Columns, ids: PlanNodeIds) -> PlanNode:
    keys = _together(node.groupingSets.groupingKeys, columns)
    rows = AggregationNode(
        id=ids.next(),
        sourceLocation=node.sourceLocation,
        source=node.source,
        aggregations={},
        groupingSets=GroupingSets(groupingKeys=keys, groupingSetCount=1, globalGroupingSets=()),
        preGroupedVariables=(),
        step="SINGLE",
    )
    plain = {key: replace(aggregation, distinct=False) for key, aggregation in node.aggregations.items()}
    return replace(node, source=rows, aggregations=plain)


def _marked(node: AggregationNode, columns: Mapping[str, _Columns], ids: PlanNodeIds, names: Variables) -> PlanNode:
    markers: dict[_Columns, Variable] = {}
    source = node.source
    for wanted in columns.values():
        if wanted in markers:
            continue
        markers[wanted] = names.new(wanted[0].name, "boolean")
        source = MarkDistinctNode(
            id=ids.next(),
            sourceLocation=node.sourceLocation,
            source=source,
            markerVariable=markers[wanted],
            distinctVariables=_together(node.groupingSets.groupingKeys, wanted),
        )
    made: dict[str, Aggregation] = {}
    for key, aggregation in node.aggregations.items():
        own = columns.get(key)
        made[key] = aggregation if own is None else replace(aggregation, distinct=False, mask=markers[own])
    return replace(node, source=source, aggregations=made)


def _together(keys: Sequence[Variable], columns: _Columns) -> _Columns:
    known = {key.name for key in keys}
    return (*keys, *dict.fromkeys(column for column in columns if column.name not in known))
