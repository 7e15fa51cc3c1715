"""``corr`` on Spark, whose own divides by zero where one side is the same in all rows; Presto's is NULL then."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from coordinator.unparser.spark_estimates import Wrap
from coordinator.unparser.trees import call


def correlation(pair: Sequence[exp.Expr], wrap: Wrap) -> exp.Expr:
    """Out of the sums that it is made of, each with its FILTER or OVER by ``wrap``; NULL where it is not finite."""
    both, first, second = (wrap(call(f"regr_{part}", *(a.copy() for a in pair))) for part in ("sxy", "sxx", "syy"))
    root = call("sqrt", exp.Mul(this=first, expression=second))
    return call("nanvl", call("try_divide", both, root), exp.Null())
