"""Comparisons that NaN meets, over Iceberg tables on Spark: above all numbers, and in no bounds of a file.

Iceberg skips files and row groups by ``d > 5`` alone; with NaN beside it, it looks at their counts of NaN as well.
"""

from __future__ import annotations

import math

from coordinator.expressions.builders import constant, disjunction, operator, special, typed, value_of
from coordinator.expressions.types import BOOLEAN
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, Variable

_ABOVE = {("GREATER_THAN", 0), ("GREATER_THAN_OR_EQUAL", 0), ("LESS_THAN", 1), ("LESS_THAN_OR_EQUAL", 1)}
"""Operators with the place of the column among the arguments."""


def with_nan(condition: RowExpression) -> RowExpression:
    """The same condition, which says of a column above a number that it may be NaN."""
    if isinstance(condition, SpecialForm) and condition.form in ("AND", "OR"):
        return special(condition.form, BOOLEAN, *map(with_nan, condition.arguments))
    column = _above_a_number(condition)
    if column is None:
        return condition
    return disjunction([condition, operator("=", (column, constant(math.nan, typed(column))), BOOLEAN)])


def _above_a_number(condition: RowExpression) -> Variable | None:
    """The column that is compared."""
    if not isinstance(condition, Call) or len(condition.arguments) != 2:
        return None
    for place, (found, other) in enumerate((condition.arguments, condition.arguments[::-1])):
        is_column = isinstance(found, Variable) and typed(found).base in ("double", "real")
        if is_column and (condition.displayName, place) in _ABOVE and _is_number(other):
            assert isinstance(found, Variable)
            return found
    return None


def _is_number(node: RowExpression) -> bool:
    if not isinstance(node, Constant):
        return False
    value = value_of(node)
    return isinstance(value, float) and not math.isnan(value)
