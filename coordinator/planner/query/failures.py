"""Conditions that end the query when a row does not meet them."""

from __future__ import annotations

from coordinator.expressions.builders import constant, function_call, special
from coordinator.expressions.types import BOOLEAN, INTEGER, UNKNOWN, VARCHAR
from coordinator.planner.query.marked_rows import TRUE
from shared.errors import ErrorCode
from shared.plan.expressions import RowExpression


def required(test: RowExpression, code: ErrorCode, message: str) -> RowExpression:
    """True where ``test`` is; otherwise the query fails with ``code`` and ``message``."""
    failure = function_call("fail", (constant(code.code, INTEGER), constant(message, VARCHAR)), UNKNOWN)
    otherwise = function_call("$operator$cast", (failure,), BOOLEAN, display="CAST")
    return special("SWITCH", BOOLEAN, TRUE, special("WHEN", BOOLEAN, test, TRUE), otherwise)
