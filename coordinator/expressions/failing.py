"""Which expressions have a value for every row."""

from __future__ import annotations

from coordinator.expressions.builders import NAMESPACE, typed
from coordinator.expressions.types import INTEGERS
from shared.plan.expressions import (
    Call,
    Constant,
    Lambda,
    RowExpression,
    SpecialForm,
    StaticFunctionHandle,
    Variable,
)

_NEVER_FAIL = frozenset(
    {
        "not", "equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal",
        "between", "is_distinct_from", "like", "lower", "upper", "length", "trim", "ltrim", "rtrim", "strpos",
        "starts_with", "year", "month", "day", "is_nan",
    }
)  # fmt: skip
"""Functions and operators that have a value for all arguments."""


def may_fail(node: RowExpression) -> bool:
    """Whether computing the expression for some row could be an error; for what is not known here, it could."""
    match node:
        case Variable() | Constant():
            return False
        case Lambda():
            return True
        case SpecialForm():
            return any(may_fail(argument) for argument in node.arguments)
        case Call():
            return not _always_has_a_value(node) or any(may_fail(argument) for argument in node.arguments)


def _always_has_a_value(call: Call) -> bool:
    handle = call.functionHandle
    if not isinstance(handle, StaticFunctionHandle):
        return False
    name = handle.signature.name.removeprefix(NAMESPACE).removeprefix("$operator$")
    if name == "cast":
        source, target = typed(call.arguments[0]).base, typed(call).base
        return source in INTEGERS and target in ("bigint", "double", "varchar")
    return name in _NEVER_FAIL
