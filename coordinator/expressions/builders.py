"""RowExpressions as Presto writes them: calls with static handles, casts, special forms, constants."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import Any

from msgspec.structs import replace

from coordinator.expressions.kernel_values import cast_constant
from coordinator.expressions.types import BOOLEAN, type_text
from shared.errors import ProcessionError
from shared.plan.blocks import decode_constant, encode_constant
from shared.plan.expressions import (
    Call,
    Constant,
    RowExpression,
    Signature,
    SourceLocation,
    SpecialForm,
    SpecialFormName,
    StaticFunctionHandle,
    type_of,
)
from shared.plan.types import Type, parse_type

NAMESPACE = "presto.default."
OPAQUE = ("re2jregexp", "joniregexp", "jsonpath", "likepattern", "codepoints")
"""Types whose values no plan holds: what is cast to them stays a cast."""
OPERATORS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "%": "modulus",
    "=": "equal",
    "<>": "not_equal",
    "<": "less_than",
    "<=": "less_than_or_equal",
    ">": "greater_than",
    ">=": "greater_than_or_equal",
    "IS DISTINCT FROM": "is_distinct_from",
}


def constant(value: object, value_type: Type) -> Constant:
    """A literal of a type; ``value`` as in ``shared.spi.procedure.Arguments``."""
    text = type_text(value_type)
    return Constant(valueBlock=encode_constant(value, text), type=text)


def value_of(expression: Constant) -> Any:
    """The Python value of a constant."""
    return decode_constant(expression.valueBlock, expression.type)


def typed(expression: RowExpression) -> Type:
    """The structured type of an expression."""
    return parse_type(type_of(expression))


def function_call(
    name: str,
    arguments: Sequence[RowExpression],
    result: Type,
    *,
    display: str | None = None,
    kind: str = "SCALAR",
    place: SourceLocation | None = None,
) -> Call:
    """A call of a built-in function; the handle's argument types are those of ``arguments``."""
    signature = Signature(
        name=NAMESPACE + name,
        kind=kind,
        typeVariableConstraints=(),
        longVariableConstraints=(),
        returnType=type_text(result),
        argumentTypes=tuple(type_of(a) for a in arguments),
        variableArity=False,
    )
    return Call(
        sourceLocation=place,
        displayName=display or name,
        functionHandle=StaticFunctionHandle(signature=signature, builtInFunctionKind="ENGINE"),
        returnType=type_text(result),
        arguments=tuple(arguments),
    )


def operator(symbol: str, arguments: Sequence[RowExpression], result: Type) -> Call:
    """An operator by its SQL symbol."""
    name = OPERATORS[symbol]
    return function_call(f"$operator${name}", arguments, result, display=name.upper())


def special(form: SpecialFormName, result: Type, *arguments: RowExpression) -> SpecialForm:
    """A special form."""
    return SpecialForm(form=form, returnType=type_text(result), arguments=arguments)


def not_(argument: RowExpression) -> Call:
    """``NOT argument``."""
    return function_call("not", (argument,), BOOLEAN, place=argument.sourceLocation)


def conjunction(terms: Sequence[RowExpression]) -> RowExpression:
    """The terms joined by AND as Presto joins them: a balanced tree, TRUE for none."""
    return _combine("AND", list(terms))


def disjunction(terms: Sequence[RowExpression]) -> RowExpression:
    """The terms joined by OR."""
    return _combine("OR", list(terms))


def _combine(form: SpecialFormName, terms: list[RowExpression]) -> RowExpression:
    if not terms:
        return constant(form == "AND", BOOLEAN)
    while len(terms) > 1:
        pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
        terms = [special(form, BOOLEAN, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return terms[0]


def conjuncts(expression: RowExpression) -> list[RowExpression]:
    """The terms of nested ANDs, left to right."""
    if isinstance(expression, SpecialForm) and expression.form == "AND":
        return [term for argument in expression.arguments for term in conjuncts(argument)]
    return [expression]


def cast(expression: RowExpression, target: Type, zone: tzinfo = UTC) -> RowExpression:
    """An explicit CAST; a constant is cast at once when that cannot fail differently later."""
    source = typed(expression)
    if type_of(expression) == type_text(target):
        return expression
    if isinstance(expression, Constant) and (source.base == "unknown" or target.base not in OPAQUE):
        try:
            made = constant(cast_constant(value_of(expression), source, target, zone), target)
            # Only parameters of DESCRIBE INPUT have a place, by which they are found again.
            place = expression.sourceLocation
            return made if place is None else replace(made, sourceLocation=place)
        except (ProcessionError, ValueError):
            pass
    return function_call("$operator$cast", (expression,), target, display="CAST", place=expression.sourceLocation)


def coerce(expression: RowExpression, target: Type, zone: tzinfo = UTC) -> RowExpression:
    """An implicit coercion, written as an explicit cast, as Presto's planner does."""
    return cast(expression, target, zone)
