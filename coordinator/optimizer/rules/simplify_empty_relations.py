"""What is computed of no rows is no rows (Presto's SimplifyPlanWithEmptyInput); workers need not see it.

Nor the branches of a UNION that have none.
"""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.optimizer.rule import RuleContext
from shared.plan.expressions import RowExpression
from shared.plan.nodes import (
    AggregationNode,
    Assignments,
    ExchangeNode,
    FilterNode,
    JoinNode,
    LimitNode,
    PlanNode,
    ProjectNode,
    RowNumberNode,
    SortNode,
    TopNNode,
    TopNRowNumberNode,
    ValuesNode,
    WindowNode,
)
from shared.plan.traversal import output_variables

_ONE_SOURCE = (
    AggregationNode,
    FilterNode,
    LimitNode,
    ProjectNode,
    RowNumberNode,
    SortNode,
    TopNNode,
    TopNRowNumberNode,
    WindowNode,
)
KINDS = (*_ONE_SOURCE, ExchangeNode, JoinNode)


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """Empty Values with the node's output; an aggregation without keys has a row of its own."""
    if isinstance(node, ExchangeNode):
        return _union(node, context)
    if isinstance(node, JoinNode):
        left, right = map(_is_empty, (node.left, node.right))
        none = {"INNER": left or right, "LEFT": left, "RIGHT": right, "FULL": left and right}[node.type]
        return _no_rows(node, context) if none else node
    if not isinstance(node, _ONE_SOURCE) or not isinstance(node.source, ValuesNode) or node.source.rows:
        return node
    if isinstance(node, AggregationNode) and (
        not node.groupingSets.groupingKeys or node.groupingSets.globalGroupingSets
    ):
        return node
    return _no_rows(node, context)


def _union(node: ExchangeNode, context: RuleContext) -> PlanNode:
    """Without the branches that have no rows; the columns of a single one that is left get the union's names."""
    if not any(map(_is_empty, node.sources)):
        return node
    left = [(s, i) for s, i in zip(node.sources, node.inputs, strict=True) if not _is_empty(s)]
    if not left:
        return _no_rows(node, context)
    if len(left) > 1:
        return replace(node, sources=tuple(s for s, _ in left), inputs=tuple(i for _, i in left))
    ((source, columns),) = left
    names = node.partitioningScheme.outputLayout
    if any(name.type != column.type for name, column in zip(names, columns, strict=True)):
        return node
    made: dict[str, RowExpression] = {name.key: column for name, column in zip(names, columns, strict=True)}
    return ProjectNode(
        id=context.ids.next(),
        sourceLocation=node.sourceLocation,
        source=source,
        assignments=Assignments(assignments=made),
    )


def _is_empty(node: PlanNode) -> bool:
    return isinstance(node, ValuesNode) and not node.rows


def _no_rows(node: PlanNode, context: RuleContext) -> ValuesNode:
    return ValuesNode(
        id=context.ids.next(), sourceLocation=node.sourceLocation, outputVariables=output_variables(node), rows=()
    )
