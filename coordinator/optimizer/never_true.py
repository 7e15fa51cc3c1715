"""What a condition cannot be while some columns are NULL, by three-valued logic alone."""

from __future__ import annotations

from coordinator.expressions.builders import NAMESPACE, OPERATORS, value_of
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, StaticFunctionHandle, Variable

_BETWEEN = "$operator$between"
_OF_NULL_NULL = frozenset(
    {
        *(f"$operator${name}" for symbol, name in OPERATORS.items() if symbol != "IS DISTINCT FROM"),
        "$operator$cast",
        "$operator$negation",
        "$operator$subscript",
        "like",
        "not",
    }
)
"""Functions that are NULL as soon as one argument is."""


def never_true(condition: RowExpression, nulls: frozenset[str]) -> bool:
    """Whether a condition is FALSE or NULL whenever all columns named in ``nulls`` are NULL."""
    match condition:
        case SpecialForm(form="AND"):
            return any(never_true(part, nulls) for part in condition.arguments)
        case SpecialForm(form="OR"):
            return all(never_true(part, nulls) for part in condition.arguments)
        case Call(arguments=(inner,)) if _name(condition) == "not":
            return never_false(inner, nulls)
        case Call(arguments=bounded) if _name(condition) == _BETWEEN:
            return any(always_null(argument, nulls) for argument in bounded)
        case Constant():
            return value_of(condition) is not True
        case _:
            return always_null(condition, nulls)


def never_false(condition: RowExpression, nulls: frozenset[str]) -> bool:
    """Whether it is TRUE or NULL."""
    match condition:
        case SpecialForm(form="AND"):
            return all(never_false(part, nulls) for part in condition.arguments)
        case SpecialForm(form="OR"):
            return any(never_false(part, nulls) for part in condition.arguments)
        case SpecialForm(form="IS_NULL", arguments=(inner,)):
            return always_null(inner, nulls)
        case Call(arguments=(inner,)) if _name(condition) == "not":
            return never_true(inner, nulls)
        case Constant():
            return value_of(condition) is not False
        case _:
            return always_null(condition, nulls)


def always_null(expression: RowExpression, nulls: frozenset[str]) -> bool:
    """Whether it is NULL, as far as its form tells."""
    match expression:
        case Variable():
            return expression.name in nulls
        case Constant():
            return value_of(expression) is None
        case Call(arguments=(value, low, high)) if _name(expression) == _BETWEEN:
            # 1 BETWEEN NULL AND 0 is FALSE.
            return always_null(value, nulls) or (always_null(low, nulls) and always_null(high, nulls))
        case Call():
            return _name(expression) in _OF_NULL_NULL and any(always_null(a, nulls) for a in expression.arguments)
        case SpecialForm(form="IN" | "DEREFERENCE"):
            return always_null(expression.arguments[0], nulls)
        case SpecialForm(form="COALESCE" | "AND" | "OR"):
            return all(always_null(a, nulls) for a in expression.arguments)
        case _:
            return False


def _name(call: Call) -> str:
    handle = call.functionHandle
    return handle.signature.name.removeprefix(NAMESPACE) if isinstance(handle, StaticFunctionHandle) else ""
