"""Calls bound to signatures of the registry: coercions of arguments, lambdas, common types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, count
from typing import Any

from msgspec.structs import replace

from coordinator.analyzer import registry
from coordinator.analyzer.builders import (
    coerce,
    function_call,
    typed,
    value_of,
)
from coordinator.analyzer.context import Context
from coordinator.analyzer.types import (
    UNKNOWN,
    common_super_type,
    function_type,
    read_type,
    type_text,
)
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, Variable, type_of
from shared.plan.types import Type

Analyze = Callable[[Any, Context], RowExpression]

ALIASES = {"substring": "substr"}

_NOT_EXACT = ("date", "timestamp", "timestamp with time zone", "time", "time with time zone")


def bind_call(
    node: Any, name: str, arguments: Sequence[Any], context: Context, analyze: Analyze, kinds: Sequence[str]
) -> RowExpression:
    """A call of a registered function over argument trees."""
    if len(arguments) == 1 and type(arguments[0]).__name__ == "Star":
        if name != "count":
            raise context.error(node, f"Star not allowed as argument of {name}")
        arguments = ()
    trees = list(arguments)
    values = [None if type(t).__name__ == "Lambda" else analyze(t, context) for t in trees]
    bodies: dict[int, Lambda] = {}

    arities: dict[int, int] = {}

    def typer(position: int, types: tuple[Type, ...]) -> Type | None:
        if len(trees[position].expressions) != len(types):
            arities.setdefault(position, len(types))
            return None
        bodies[position] = _lambda(trees[position], types, context, analyze)
        return typed(bodies[position].body)

    if name == "concat" and len(values) < 2 and values and values[0] is not None:
        _refuse_one_part(typed(values[0]))
    bound = registry.bind(name, [None if v is None else typed(v) for v in values], kinds, typer)
    if bound is None:
        for position, wanted in arities.items():
            given = len(trees[position].expressions)
            message = f"Expected a lambda that takes {wanted} argument(s) but got {given}"
            raise context.error(trees[position], message)
        raise unbound(node, name, [("function" if v is None else type_of(v)) for v in values], context)
    if name == "reduce_agg" and not _is_literal(values[1]):
        raise context.error(trees[1], "REDUCE_AGG only supports non-NULL literal as the initial value")
    state = _widened_state(values[1], bodies) if name == "reduce_agg" else None
    if state is not None and values[1] is not None:
        widened = [values[0], coerce(values[1], state, context.zone), *values[2:]]
        again = registry.bind(name, [None if v is None else typed(v) for v in widened], kinds, typer)
        if again is not None:
            bound, values = again, widened
    return _bound_call(bound, name, values, bodies, context)


def _widened_state(initial: RowExpression | None, bodies: dict[int, Lambda]) -> Type | None:
    """The state of REDUCE_AGG where its lambdas give a wider type than its initial value has."""
    if initial is None:
        return None
    kind: Type | None = typed(initial)
    for body in bodies.values():
        kind = None if kind is None else common_super_type(kind, typed(body.body))
    return kind if kind != typed(initial) else None


def _is_literal(value: RowExpression | None) -> bool:
    """A constant that is not NULL, cast or in a constructor."""
    if isinstance(value, Constant):
        return value_of(value) is not None
    if isinstance(value, Call) and value.displayName in ("CAST", "ARRAY", "map"):
        return all(_is_literal(argument) for argument in value.arguments)
    return isinstance(value, SpecialForm) and value.form == "ROW_CONSTRUCTOR" and all(map(_is_literal, value.arguments))


def _refuse_one_part(kind: Type) -> None:
    if kind.base in ("varchar", "varbinary", "char"):
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


def _lambda(node: Any, types: tuple[Type, ...], context: Context, analyze: Analyze) -> Lambda:
    context.only(node, "this", "expressions")
    names = [str(p.this).lower() for p in node.expressions]
    # A column that the body captures may have the name of a parameter.
    taken = context.variable_names()
    own = [next(c for c in chain((n,), (f"{n}_{i}" for i in count(1))) if c not in taken) for n in names]
    variables = {n: Variable(name=o, type=type_text(t)) for n, o, t in zip(names, own, types, strict=True)}
    body = analyze(node.this, context.inside_lambda(variables))
    place = context.place(node)
    return Lambda(
        sourceLocation=place, argumentTypes=tuple(type_text(t) for t in types), arguments=tuple(own), body=body
    )


def call(
    node: Any, name: str, values: Sequence[RowExpression], context: Context, *, display: str | None = None
) -> Call:
    """A call of a registered function over analyzed arguments."""
    bound = registry.bind(name, [typed(v) for v in values], ("scalar",))
    if bound is None:
        raise unbound(node, name, [type_of(v) for v in values], context)
    built = _bound_call(bound, name, values, {}, context)
    return function_call(name, built.arguments, bound.result, display=display or name)


def unbound(node: Any, name: str, types: Sequence[str], context: Context) -> ProcessionError:
    """Presto's error for a call that no signature takes."""
    if not registry.exists(name):
        return context.error(node, f"Function {name} not registered")
    message = (
        f"Unexpected parameters ({', '.join(types)}) for function {name}. Expected: {registry.expected_text(name)}"
    )
    return context.error(node, message)


def common_type(
    node: Any, values: Sequence[RowExpression], what: str, context: Context, places: Sequence[Any] = ()
) -> Type:
    """The type that all values coerce to; one that does not is told at its place, without places at ``node``."""
    common: Type = UNKNOWN
    for position, value in enumerate(values):
        widened = common_super_type(common, typed(value))
        if widened is None:
            message = f"All {what} operands must be the same type: {type_text(common)}"
            if what in ("CASE", "IF"):
                message = f"All {what} results must be the same type: {type_text(common)}"
            raise context.error(places[position] if places else node, message)
        common = widened
    return common


def constant_integer(expression: RowExpression) -> int | None:
    """The value of an integer constant, or None."""
    if isinstance(expression, Constant):
        value = value_of(expression)
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    return None


def lambda_type(expression: Lambda) -> Type:
    """The function type of a lambda."""
    return function_type(tuple(read_type(t) for t in expression.argumentTypes), typed(expression.body))
