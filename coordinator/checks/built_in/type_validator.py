"""TypeValidator: a variable has the type of the expression that makes it."""

from __future__ import annotations

from collections.abc import Iterator

from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.expressions import RowExpression, type_of
from shared.plan.nodes import AggregationNode, PlanNode, ProjectNode, ValuesNode, WindowNode
from shared.plan.traversal import variable_of_key, walk
from shared.plan.types import UNBOUNDED_LENGTH, Type, parse_type


def check(plan: PlanNode) -> None:
    """Raises INVALID_PLAN_ERROR for a projection, aggregation, window function or value of another type."""
    for node in walk(plan):
        for key, expression in _assigned(node):
            actual = type_of(expression)
            if key.endswith(f"<{actual}>"):  # as nearly all are
                continue
            variable = variable_of_key(key)
            if not is_type_only_coercion(actual, variable.type):
                raise invalid_plan(
                    f"type of variable '{variable.name}' is expected to be {variable.type}, "
                    f"but the actual type is {actual}",
                    expression.sourceLocation or node.sourceLocation,
                )


def _assigned(node: PlanNode) -> Iterator[tuple[str, RowExpression]]:
    """What a node assigns, by the keys of the variables."""
    match node:
        case ProjectNode():
            yield from node.assignments.assignments.items()
        case AggregationNode():
            for key, aggregation in node.aggregations.items():
                yield key, aggregation.call
        case WindowNode():
            for key, function in node.windowFunctions.items():
                yield key, function.functionCall
        case ValuesNode():
            for row in node.rows:
                yield from zip((v.key for v in node.outputVariables), row, strict=True)
        case _:
            pass


def is_type_only_coercion(actual: str, expected: str) -> bool:
    """Whether a value of ``actual`` is one of ``expected`` as it stands: equal types, or varchar made wider."""
    return actual == expected or _compatible(parse_type(actual), parse_type(expected))


def _compatible(actual: Type, expected: Type) -> bool:
    if actual.base == "unknown":
        return True
    if actual.base != expected.base:
        return False
    if actual.base == "varchar":
        return _length(actual) <= _length(expected)
    inner = zip(actual.arguments, expected.arguments, strict=False)
    return (
        len(actual.arguments) == len(expected.arguments)
        and actual.numbers == expected.numbers
        and all(_compatible(a, e) for a, e in inner)
    )


def _length(varchar: Type) -> int:
    return varchar.numbers[0] if varchar.numbers else UNBOUNDED_LENGTH
