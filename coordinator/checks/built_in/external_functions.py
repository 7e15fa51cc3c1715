"""Which calls run outside the engine: functions that a remote REST server evaluates."""

from __future__ import annotations

from shared.plan.expressions import Call, RestFunctionHandle, RowExpression
from shared.plan.traversal import walk_expression


def calls_external_function(expression: RowExpression) -> bool:
    """Whether ``expression`` holds such a call anywhere."""
    return any(
        isinstance(inner, Call) and isinstance(inner.functionHandle, RestFunctionHandle)
        for inner in walk_expression(expression)
    )
