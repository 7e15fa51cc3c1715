"""``Filter(TRUE)`` is its source; a filter that is FALSE or NULL is no rows (Presto's RemoveTrivialFilters)."""

from __future__ import annotations

from coordinator.optimizer.rule import RuleContext
from shared.plan.blocks import decode_constant
from shared.plan.expressions import Constant
from shared.plan.nodes import FilterNode, PlanNode, ValuesNode
from shared.plan.traversal import output_variables


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """The source, or empty Values with the source's output."""
    match node:
        case FilterNode(predicate=Constant() as predicate):
            if decode_constant(predicate.valueBlock, predicate.type) is True:
                return node.source
            return ValuesNode(
                id=context.ids.next(),
                sourceLocation=node.sourceLocation,
                outputVariables=output_variables(node),
                rows=(),
            )
        case _:
            return node
