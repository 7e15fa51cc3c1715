"""What is computed of no rows is no rows (Presto's SimplifyPlanWithEmptyInput); workers need not see it."""

from __future__ import annotations

from coordinator.optimizer.rule import RuleContext
from shared.plan.nodes import (
    AggregationNode,
    FilterNode,
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

KINDS = (
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


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """Empty Values with the node's output; an aggregation without keys has a row of its own."""
    if not isinstance(node, KINDS) or not isinstance(node.source, ValuesNode) or node.source.rows:
        return node
    if isinstance(node, AggregationNode) and (
        not node.groupingSets.groupingKeys or node.groupingSets.globalGroupingSets
    ):
        return node
    return ValuesNode(
        id=context.ids.next(), sourceLocation=node.sourceLocation, outputVariables=output_variables(node), rows=()
    )
