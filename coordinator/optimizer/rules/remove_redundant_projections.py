"""A Project that only passes on every column of its source is its source (RemoveRedundantIdentityProjections)."""

from __future__ import annotations

from coordinator.optimizer.rule import RuleContext
from shared.plan.expressions import Variable
from shared.plan.nodes import PlanNode, ProjectNode
from shared.plan.traversal import output_variables, variable_of_key


def rewrite(node: PlanNode, _context: RuleContext) -> PlanNode:
    """The source; columns are read by name, so that their order says nothing."""
    if not isinstance(node, ProjectNode):
        return node
    for key, expression in node.assignments.assignments.items():
        if not isinstance(expression, Variable) or expression.name != variable_of_key(key).name:
            return node
    passed = {variable_of_key(key).name for key in node.assignments.assignments}
    return node.source if passed == {v.name for v in output_variables(node.source)} else node
