"""ValidateStreamingAggregations: an aggregation that streams over its groups gets each group in one piece."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.expressions import Variable
from shared.plan.nodes import (
    AggregationNode,
    AssignUniqueId,
    ExchangeNode,
    FilterNode,
    JoinNode,
    LimitNode,
    MarkDistinctNode,
    OrderingScheme,
    PlanNode,
    ProjectNode,
    RemoteSourceNode,
    SemiJoinNode,
    SortNode,
    TableScanNode,
    TopNNode,
    UnnestNode,
    WindowNode,
)
from shared.plan.traversal import variable_of_key, walk

Groupings = frozenset[frozenset[str]]
"""Sets of variable names: rows that agree in all names of a set follow one another."""

_ANY: Groupings = frozenset({frozenset()})


def check(plan: PlanNode) -> None:
    """Raises INVALID_PLAN_ERROR for preGroupedVariables that no sort, unique id or connector accounts for."""
    for node in walk(plan):
        if not isinstance(node, AggregationNode) or not isinstance(node.preGroupedVariables, tuple):
            continue
        wanted = {v.name for v in node.preGroupedVariables}
        if wanted and not any(grouping <= wanted for grouping in _groupings(node.source)):
            raise invalid_plan("Streaming aggregation with input not grouped on the grouping keys", node.sourceLocation)


def _groupings(node: PlanNode) -> Groupings:
    match node:
        case TableScanNode():
            return _ANY  # the connector promised an order when the planner asked for one
        case SortNode() | TopNNode():
            return _prefixes(node.orderingScheme)
        case WindowNode():
            partition = frozenset(v.name for v in node.specification.partitionBy)
            return (_groupings(node.source) | {partition}) if partition else _groupings(node.source)
        case AggregationNode():
            return frozenset({_names(node.groupingSets.groupingKeys)})
        case AssignUniqueId():
            return _groupings(node.source) | {frozenset({node.idVariable.name})}
        case ExchangeNode() | RemoteSourceNode():
            return _prefixes(node.orderingScheme)
        case JoinNode(type="INNER" | "LEFT"):
            return _groupings(node.left)
        case ProjectNode():
            return _renamed(node, _groupings(node.source))
        case FilterNode() | LimitNode() | MarkDistinctNode() | SemiJoinNode() | UnnestNode():
            return _groupings(node.source)
        case _:
            return frozenset()


def _names(variables: Iterable[Variable]) -> frozenset[str]:
    return frozenset(v.name for v in variables)


def _prefixes(scheme: OrderingScheme | None) -> Groupings:
    if scheme is None:
        return frozenset()
    names = [order.variable.name for order in scheme.orderBy]
    return frozenset(frozenset(names[:length]) for length in range(1, len(names) + 1))


def _renamed(node: ProjectNode, groupings: Groupings) -> Groupings:
    new_names: dict[str, str] = {}
    for key, expression in node.assignments.assignments.items():
        if isinstance(expression, Variable):
            new_names.setdefault(expression.name, variable_of_key(key).name)
    return frozenset(
        frozenset(new_names[name] for name in grouping)
        for grouping in groupings
        if all(name in new_names for name in grouping)
    )
