"""VerifyProjectionLocality: a projection is computed here or by a remote server, never by both."""

from __future__ import annotations

from coordinator.checks.built_in.external_functions import calls_external_function
from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.expressions import Call, Variable
from shared.plan.nodes import PlanNode, ProjectNode
from shared.plan.traversal import walk


def check(plan: PlanNode) -> None:
    """Raises INVALID_PLAN_ERROR; a projection that says nothing counts as LOCAL."""
    for node in walk(plan):
        if isinstance(node, ProjectNode):
            _check(node)


def _check(node: ProjectNode) -> None:
    assigned = node.assignments.assignments.values()
    match node.locality:
        case "LOCAL" | None:
            if any(calls_external_function(expression) for expression in assigned):
                raise invalid_plan("ProjectNode with LOCAL locality has remote functions", node.sourceLocation)
        case "REMOTE":
            for expression in assigned:
                if isinstance(expression, Variable):
                    continue
                if not isinstance(expression, Call):
                    found = type(expression).__name__
                    message = f"Expect VariableReferenceExpression or CallExpression, got {found}"
                    raise invalid_plan(message, expression.sourceLocation or node.sourceLocation)
                if not calls_external_function(expression):
                    message = f"Expect expression {expression.displayName} to be an external function"
                    raise invalid_plan(message, expression.sourceLocation or node.sourceLocation)
        case _:
            raise invalid_plan("ProjectNode should have locality LOCAL or REMOTE", node.sourceLocation)
