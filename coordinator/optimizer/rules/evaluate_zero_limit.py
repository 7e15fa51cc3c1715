"""``LIMIT 0`` is no rows (Presto's EvaluateZeroLimit); workers have no such operator."""

from __future__ import annotations

from coordinator.optimizer.rule import RuleContext
from shared.plan.nodes import LimitNode, PlanNode, TopNNode, ValuesNode
from shared.plan.traversal import output_variables


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """Empty Values with the limit's output."""
    match node:
        case LimitNode(count=0) | TopNNode(count=0):
            return ValuesNode(
                id=context.ids.next(),
                sourceLocation=node.sourceLocation,
                outputVariables=output_variables(node),
                rows=(),
            )
        case _:
            return node
