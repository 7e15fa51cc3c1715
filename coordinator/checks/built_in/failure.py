"""The error of a plan that contradicts itself: our own planner's fault, never the user's."""

from __future__ import annotations

from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.expressions import SourceLocation


def invalid_plan(message: str, at: SourceLocation | None = None) -> ProcessionError:
    """INVALID_PLAN_ERROR, located where the offending node or expression stands in the statement."""
    return ProcessionError(ErrorCode.INVALID_PLAN_ERROR, message, location=located(at))


def located(at: SourceLocation | None) -> ErrorLocation | None:
    """A plan's source location as an error's."""
    return None if at is None else ErrorLocation(at.line, at.column)
