"""Comparisons that NaN meets, on Spark: NaN is above all numbers, and no bound of an Iceberg file tells of it.

Iceberg skips files and row groups by ``d > 5`` alone; with NaN beside it, it looks at their counts of NaN as well.
"""

from __future__ import annotations

import math

from sqlglot import exp

from coordinator.expressions.builders import typed, value_of
from coordinator.unparser.constants import literal
from coordinator.unparser.trees import binary
from shared.plan.expressions import Call, Constant, RowExpression, Variable

_ABOVE = {("greater_than", True), ("greater_than_or_equal", True), ("less_than", False), ("less_than_or_equal", False)}
"""Operators with whether the column stands before the number."""


def with_nan(compared: exp.Expr, node: Call, operator: str, arguments: list[exp.Expr]) -> exp.Expr:
    """``compared``, a comparison of a column with a number, or of anything else, so that files are not skipped."""
    first, second = node.arguments
    column, number, tree = (
        (first, second, arguments[0]) if isinstance(first, Variable) else (second, first, arguments[1])
    )
    plain = isinstance(column, Variable) and typed(column).base in ("double", "real") and _is_number(number)
    if not plain or (operator, column is first) not in _ABOVE:
        return compared
    nan = literal(math.nan, typed(column), "spark")
    return exp.Paren(this=exp.Or(this=compared, expression=binary(exp.EQ, tree.copy(), nan)))


def _is_number(node: RowExpression) -> bool:
    if not isinstance(node, Constant):
        return False
    value = value_of(node)
    return isinstance(value, float) and not math.isnan(value)
