"""VerifyNoUnresolvedSymbolExpression: every variable, constant and call has a type that can be read."""

from __future__ import annotations

from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.expressions import Lambda, RowExpression, Variable, type_of
from shared.plan.nodes import PlanNode, ProjectNode
from shared.plan.traversal import expressions, output_variables, walk, walk_expression
from shared.plan.types import parse_type


def check(plan: PlanNode) -> None:
    """Raises INVALID_PLAN_ERROR naming the first expression whose type is no Presto type."""
    known: set[str] = set()
    for node in walk(plan):
        if not isinstance(node, ProjectNode) or not _are_known(node, known):
            for variable in output_variables(node):
                if variable.type not in known:
                    _check_type(variable, known)
        for expression in expressions(node):
            for inner in walk_expression(expression):
                if not isinstance(inner, Lambda) and type_of(inner) not in known:
                    _check_type(inner, known)


def _are_known(node: ProjectNode, known: set[str]) -> bool:
    """Whether the types of a projection's columns are, without making variables of its keys."""
    return all(key.partition("<")[2][:-1] in known for key in node.assignments.assignments)


def _check_type(expression: RowExpression, known: set[str]) -> None:
    text = type_of(expression)
    try:
        parse_type(text)
    except ValueError as error:
        name = expression.name if isinstance(expression, Variable) else type(expression).__name__.lower()
        message = f"Unresolved symbol {name}: {error}"
        raise invalid_plan(message, expression.sourceLocation) from error
    known.add(text)
