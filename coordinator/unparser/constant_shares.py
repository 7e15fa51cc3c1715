"""``approx_percentile`` on Spark, which takes its percentiles as constants where they are a column of the plan."""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.expressions.builders import NAMESPACE, constant, function_call, value_of
from shared.plan.expressions import Call, Constant, RowExpression, StaticFunctionHandle, Variable
from shared.plan.nodes import Aggregation, AggregationNode, ExchangeNode, PlanNode, ProjectNode
from shared.plan.traversal import variable_of_key
from shared.plan.types import Type

_DOUBLE = Type("double")
_DOUBLES = Type("array", (_DOUBLE,))


def with_constant_shares(node: AggregationNode) -> AggregationNode:
    """The aggregation with the arrays of constants that are projected below it as its arguments."""
    known = _constants(node.source)
    if not known:
        return node
    made = {key: _with_constants(aggregation, known) for key, aggregation in node.aggregations.items()}
    return replace(node, aggregations=made)


def _constants(source: PlanNode) -> dict[str, RowExpression]:
    while isinstance(source, ExchangeNode) and len(source.sources) == 1:
        (source,) = source.sources
    if not isinstance(source, ProjectNode):
        return {}
    found: dict[str, RowExpression] = {}
    for key, expression in source.assignments.assignments.items():
        shares = _array(expression) if variable_of_key(key).type == "array(double)" else None
        if shares:
            found[variable_of_key(key).name] = function_call(
                "array_constructor", [constant(share, _DOUBLE) for share in shares], _DOUBLES, display="ARRAY"
            )
    return found


def _array(node: RowExpression) -> list[float] | None:
    """The numbers of an array of constants, cast or not; None for any other."""
    match _name(node), node:
        case "array_constructor", Call():
            return _known([_number(element) for element in node.arguments])
        case "$operator$cast", Call():
            return _array(node.arguments[0])
        case _, Constant() if isinstance(value_of(node), tuple | list):
            return _known([None if share is None else float(share) for share in value_of(node)])
    return None


def _known(shares: list[float | None]) -> list[float] | None:
    known = [share for share in shares if share is not None]
    return known if len(known) == len(shares) else None


def _number(node: RowExpression) -> float | None:
    while _name(node) == "$operator$cast" and isinstance(node, Call):
        (node,) = node.arguments
    value = value_of(node) if isinstance(node, Constant) else None
    return None if value is None else float(value)


def _name(node: RowExpression) -> str:
    handle = node.functionHandle if isinstance(node, Call) else None
    return handle.signature.name.removeprefix(NAMESPACE) if isinstance(handle, StaticFunctionHandle) else ""


def _with_constants(aggregation: Aggregation, known: dict[str, RowExpression]) -> Aggregation:
    call = aggregation.call
    if _name(call) != "approx_percentile":
        return aggregation
    arguments = tuple(known.get(a.name, a) if isinstance(a, Variable) else a for a in call.arguments)
    return replace(aggregation, call=replace(call, arguments=arguments))


def is_share(node: RowExpression) -> bool:
    """A percentile, or some, that are constants; what is none fails in the kernels."""
    shares = [_number(node)] if isinstance(node, Constant) and node.type == "double" else _array(node)
    return bool(shares) and all(share is not None and 0 <= share <= 1 for share in shares or ())


def is_accuracy(node: RowExpression) -> bool:
    """A constant that is an accuracy."""
    return isinstance(node, Constant) and node.type == "double" and 0 < (value_of(node) or 0) < 1
