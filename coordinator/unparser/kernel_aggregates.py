"""Aggregates of the Python kernels: the engine collects the group's rows in order, a program folds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from coordinator.expressions.builders import typed
from coordinator.expressions.types import INTEGERS
from coordinator.kernels.functions.aggregates import PREFIX
from coordinator.unparser.approximations import estimated_by_spark
from coordinator.unparser.collected import collect
from coordinator.unparser.compared_maps import holds_map
from coordinator.unparser.constant_shares import is_accuracy, is_share
from coordinator.unparser.constants import row
from coordinator.unparser.expressions import expression
from coordinator.unparser.functions import AGGREGATES
from coordinator.unparser.ordering import ordered
from coordinator.unparser.programs import aggregate_program, lambda_program, runs_in_python
from coordinator.unparser.trees import call, cast
from shared.plan.expressions import Call, Lambda, RowExpression
from shared.plan.nodes import Ordering
from shared.plan.types import Field, Type, parse_type

Wrap = Callable[[exp.Expr], exp.Expr]
_COUNTED = ("varchar", "boolean", "date", *INTEGERS)
"""Types of which equal values are one in both engines and in Presto."""
_WINDOWED = ("array_agg", "set_agg", "map_agg")


def in_kernels(function: str, node: Call, dialect: str, *, window: bool = False, sorted_rows: bool = False) -> bool:
    """Whether the kernels do this aggregate, because the engine lacks it or this form of it."""
    if not runs_in_python(PREFIX + function):
        return False
    if function not in AGGREGATES[dialect] or sorted_rows:
        return True
    if dialect == "spark" and function in ("approx_distinct", "approx_percentile") and not estimated_by_spark(function):
        return True
    if function == "histogram":
        return window or typed(node.arguments[0]).base not in _COUNTED
    count = len(node.arguments)
    if function in ("max", "min", "max_by", "min_by"):
        return count > (1 if function in ("max", "min") else 2)
    if function == "approx_percentile":
        _, share, *accuracy = node.arguments
        return not is_share(share) or not all(map(is_accuracy, accuracy))
    if dialect == "spark" and function == "set_agg" and holds_map(typed(node.arguments[0])):
        return True
    return dialect == "spark" and window and function in _WINDOWED


def kernel_aggregate(
    function: str,
    node: Call,
    dialect: str,
    *,
    distinct: bool = False,
    condition: exp.Expr | None = None,
    order: Sequence[Ordering] = (),
    over: Wrap = lambda tree: tree,
) -> exp.Expr:
    """The program over the collected rows; ``over`` makes a window of the collecting call."""
    values = [a for a in node.arguments if not isinstance(a, Lambda)]
    lambdas = [lambda_program(a, dialect) for a in node.arguments if isinstance(a, Lambda)]
    types = tuple(typed(v) for v in values)
    in_program = distinct and any(map(holds_map, types))
    by_engine = distinct and not in_program
    rows = _rows(values, types, dialect, distinct=by_engine, condition=condition, order=order, over=over)
    result = parse_type(node.returnType)
    return aggregate_program(PREFIX + function, types, result, rows, lambdas, dialect, distinct=in_program)


def _rows(
    values: Sequence[RowExpression],
    types: tuple[Type, ...],
    dialect: str,
    *,
    distinct: bool,
    condition: exp.Expr | None,
    order: Sequence[Ordering],
    over: Wrap,
) -> exp.Expr:
    trees = [cast(expression(v, dialect), k, dialect) for v, k in zip(values, types, strict=True)]
    if dialect == "spark":
        # A window has an order of its own, so that nothing is to be sorted over it.
        return over(collect(trees, distinct=distinct, condition=condition, order=order))
    type_ = Type("row", tuple(Field(f"v{i}", k) for i, k in enumerate(types)))
    inner: exp.Expr = row(trees, type_)
    if distinct:
        inner = exp.Distinct(expressions=[inner])
    if order:
        inner = exp.Order(this=inner, expressions=[ordered(o.variable, o.sortOrder) for o in order])
    tree = call("list", inner)
    if condition is not None:
        tree = exp.Filter(this=tree, expression=exp.Where(this=condition))
    return over(tree)
