"""Calls bound to signatures of the registry: coercions of arguments, lambdas, common types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count

from msgspec.structs import replace

from coordinator.analyzer import registry
from coordinator.analyzer.context import Analyze, Context
from coordinator.expressions.builders import (
    coerce,
    function_call,
    typed,
    value_of,
)
from coordinator.expressions.types import (
    UNKNOWN,
    common_super_type,
    type_text,
    untyped,
)
from coordinator.sql.tree.expressions import Expression, FunctionCall, LambdaExpression
from coordinator.sql.tree.node import Node
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, Variable, type_of
from shared.plan.types import Type

ALIASES = {"substring": "substr"}

_NOT_EXACT = ("date", "timestamp", "timestamp with time zone", "time", "time with time zone")


def bind_call(
    node: Node,
    name: str,
    arguments: Sequence[Expression],
    context: Context,
    analyze: Analyze,
    kinds: Sequence[str],
) -> Call:
    """A call of a registered function over argument trees."""
    if isinstance(node, FunctionCall) and node.star and name != "count":
        raise context.error(node, f"Star not allowed as argument of {name}")
    values = [None if isinstance(argument, LambdaExpression) else analyze(argument, context) for argument in arguments]
    bodies: dict[int, Lambda] = {}
    arities: dict[int, int] = {}

    def typer(position: int, types: tuple[Type, ...]) -> Type | None:
        function = arguments[position]
        assert isinstance(function, LambdaExpression)
        if len(function.arguments) != len(types):
            arities.setdefault(position, len(types))
            return None
        bodies[position] = _lambda(function, types, context, analyze)
        return typed(bodies[position].body)

    if name == "concat" and len(values) < 2 and values and values[0] is not None:
        _refuse_one_part(typed(values[0]))
    bound = registry.bind(name, [None if v is None else typed(v) for v in values], kinds, typer)
    if bound is None:
        _refuse_lambda(arguments, arities, context)
        raise unbound(node, name, [("function" if v is None else type_of(v)) for v in values], context)
    if name == "reduce_agg" and not _is_literal(values[1]):
        raise context.error(arguments[1], "REDUCE_AGG only supports non-NULL literal as the initial value")
    state = _state(name, values, bodies)
    if state is not None and values[1] is not None:
        widened = [values[0], coerce(values[1], state, context.zone), *values[2:]]
        again = registry.bind(name, [None if v is None else typed(v) for v in widened], kinds, typer)
        if again is not None:
            bound, values = again, widened
    return _bound_call(bound, name, values, bodies, context)


def _refuse_lambda(arguments: Sequence[Expression], arities: Mapping[int, int], context: Context) -> None:
    """A lambda of another number of parameters than the function, or every one of its signatures, gives it."""
    for position, wanted in arities.items():
        function = arguments[position]
        given = len(function.arguments) if isinstance(function, LambdaExpression) else 0
        raise context.error(function, f"Expected a lambda that takes {wanted} argument(s) but got {given}")


def _state(name: str, values: Sequence[RowExpression | None], bodies: dict[int, Lambda]) -> Type | None:
    """Of REDUCE_AGG, and of REDUCE that begins with NULL or an empty array: its steps tell what it will hold."""
    if name == "reduce_agg":
        return _widened_state(values[1], list(bodies.values()))
    if name == "reduce" and values[1] is not None and untyped(typed(values[1])):
        return _widened_state(values[1], [bodies[2]])
    return None


def _widened_state(initial: RowExpression | None, bodies: Sequence[Lambda]) -> Type | None:
    """The state where lambdas give a wider type than the initial value has."""
    if initial is None:
        return None
    type_: Type | None = typed(initial)
    for body in bodies:
        type_ = None if type_ is None else common_super_type(type_, typed(body.body))
    return type_ if type_ != typed(initial) else None


def _is_literal(value: RowExpression | None) -> bool:
    """A constant that is not NULL, cast or in a constructor."""
    if isinstance(value, Constant):
        return value_of(value) is not None
    if isinstance(value, Call) and value.displayName in ("CAST", "ARRAY", "map"):
        return all(_is_literal(argument) for argument in value.arguments)
    return isinstance(value, SpecialForm) and value.form == "ROW_CONSTRUCTOR" and all(map(_is_literal, value.arguments))


def _refuse_one_part(type_: Type) -> None:
    if type_.base in ("varchar", "varbinary", "char"):
        message = "There must be two or more concatenation arguments"
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, message)


def _bound_call(
    bound: registry.BoundFunction,
    name: str,
    values: Sequence[RowExpression | None],
    bodies: dict[int, Lambda],
    context: Context,
) -> Call:
    coerced: list[RowExpression] = []
    for position, (value, expected) in enumerate(zip(values, bound.arguments, strict=True)):
        if value is not None:
            coerced.append(coerce(value, expected, context.zone))
            continue
        body = bodies[position]
        result = expected.arguments[-1]
        if typed(body.body) != result:
            body = replace(body, body=coerce(body.body, result))
        coerced.append(body)
    return function_call(name, coerced, bound.result, kind=bound.kind.upper())


def _lambda(node: LambdaExpression, types: tuple[Type, ...], context: Context, analyze: Analyze) -> Lambda:
    names = [parameter.value.lower() for parameter in node.arguments]
    # A column that the body captures may have the name of a parameter.
    taken = context.variable_names()
    own = [next(c for c in chain((n,), (f"{n}_{i}" for i in count(1))) if c not in taken) for n in names]
    variables = {n: Variable(name=o, type=type_text(t)) for n, o, t in zip(names, own, types, strict=True)}
    return Lambda(
        sourceLocation=context.place(node),
        argumentTypes=tuple(type_text(t) for t in types),
        arguments=tuple(own),
        body=analyze(node.body, context.inside_lambda(variables)),
    )


def call(
    node: Node, name: str, values: Sequence[RowExpression], context: Context, *, display: str | None = None
) -> Call:
    """A call of a registered function over analyzed arguments."""
    bound = registry.bind(name, [typed(v) for v in values], ("scalar",))
    if bound is None:
        raise unbound(node, name, [type_of(v) for v in values], context)
    built = _bound_call(bound, name, values, {}, context)
    return function_call(name, built.arguments, bound.result, display=display or name)


def unbound(node: Node, name: str, types: Sequence[str], context: Context) -> ProcessionError:
    """Presto's error for a call that no signature takes."""
    if not registry.exists(name):
        return context.error(node, f"Function {name} not registered")
    message = (
        f"Unexpected parameters ({', '.join(types)}) for function {name}. Expected: {registry.expected_text(name)}"
    )
    return context.error(node, message)


def common_type(nodes: Sequence[Node], values: Sequence[RowExpression], what: str, context: Context) -> Type:
    """The type that all values coerce to; ``nodes`` are their places, where one that does not is refused."""
    common: Type = UNKNOWN
    for node, value in zip(nodes, values, strict=True):
        widened = common_super_type(common, typed(value))
        if widened is None:
            raise context.error(node, f"{what} must be the same type: {type_text(common)}")
        common = widened
    return common
