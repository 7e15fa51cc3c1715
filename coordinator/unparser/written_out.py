"""How large a computed column is where Spark writes it out in a filter above.

Spark asks a filter below the projections that it stands above, with what they compute in the place of their columns:
of twenty projections that name the one below twice it makes a filter of a million parts, and its server has no memory
left. It leaves a filter where it is above a projection that gives other values at other times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sqlglot import exp

from coordinator.unparser.trees import binary, call, case, number
from shared.plan.expressions import RowExpression, Variable
from shared.plan.traversal import walk_expression

MOST_WRITTEN_AGAIN = 500
"""Parts of an expression that are there because it names a column again."""


def written_out(expression: RowExpression, sizes: Mapping[str, int]) -> tuple[int, bool]:
    """Its parts with those of its columns, and whether many of them are there because columns stand in it again."""
    parts = list(walk_expression(expression))
    columns = Counter(part.name for part in parts if isinstance(part, Variable))
    once = len(parts) + sum(sizes.get(name, 1) - 1 for name in columns)
    size = len(parts) + sum((sizes.get(name, 1) - 1) * count for name, count in columns.items())
    return size, size - once > MOST_WRITTEN_AGAIN


def at_its_place(value: exp.Expr) -> exp.Expr:
    """The value, by a condition that Spark takes for another one in each task, though it is always true."""
    return case([(binary(exp.GTE, call("spark_partition_id"), number(0)), value)])
