"""ORDER BY items."""

from __future__ import annotations

from sqlglot import exp

from coordinator.unparser.trees import column
from shared.plan.expressions import Variable


def ordered(variable: Variable, order: str) -> exp.Expr:
    """One ORDER BY item; the place of NULLs is always written."""
    direction, _, nulls = order.partition("_NULLS_")
    return exp.Ordered(this=column(variable.name), desc=direction == "DESC", nulls_first=nulls == "FIRST")
