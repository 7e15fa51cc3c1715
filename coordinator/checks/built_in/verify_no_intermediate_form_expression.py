"""VerifyNoIntermediateFormExpression: a lambda stands only where a function takes it; elsewhere it has no value."""

from __future__ import annotations

from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.expressions import Lambda, SpecialForm
from shared.plan.nodes import PlanNode
from shared.plan.traversal import expressions, walk, walk_expression


def check(plan: PlanNode) -> None:
    """Raises INVALID_PLAN_ERROR for a lambda that is neither an argument of a call nor of BIND."""
    for node in walk(plan):
        for expression in expressions(node):
            if isinstance(expression, Lambda):
                raise _unexpected(expression)
            for inner in walk_expression(expression):
                if isinstance(inner, SpecialForm | Lambda):
                    _check_arguments(inner)


def _check_arguments(expression: SpecialForm | Lambda) -> None:
    match expression:
        case SpecialForm(form=form) if form != "BIND":
            for argument in expression.arguments:
                if isinstance(argument, Lambda):
                    raise _unexpected(argument)
        case Lambda(body=Lambda() as body):
            raise _unexpected(body)
        case _:
            pass


def _unexpected(expression: Lambda) -> Exception:
    return invalid_plan("Unexpected lambda expression outside of a function call", expression.sourceLocation)
