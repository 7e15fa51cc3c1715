"""Aggregates and window functions as calls of an engine."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from coordinator.analyzer.builders import NAMESPACE
from coordinator.unparser.expressions import expression, unsupported
from coordinator.unparser.functions import AGGREGATES, WINDOWS, apply, needs_cast
from coordinator.unparser.trees import cast, column
from shared.plan.expressions import Call, StaticFunctionHandle
from shared.plan.nodes import Aggregation, Ordering, WindowFunction, WindowSpecification
from shared.plan.types import parse_type


def function_of(node: Call, dialect: str) -> str:
    """The Presto name of a call's function."""
    handle = node.functionHandle
    if not isinstance(handle, StaticFunctionHandle):
        raise unsupported(f"Function {node.displayName}", dialect)
    return handle.signature.name.removeprefix(NAMESPACE)


def aggregate_call(aggregation: Aggregation, key: str, dialect: str) -> tuple[Any, str]:
    """The aggregate and the name of its variable."""
    function = function_of(aggregation.call, dialect)
    arguments = [expression(a, dialect) for a in aggregation.call.arguments]
    if function == "count" and not arguments:
        arguments = [exp.Star()]
    template = AGGREGATES[dialect].get(function)
    if template is None:
        raise unsupported(f"Aggregate function {function}", dialect)
    if aggregation.distinct is True:
        arguments = [exp.Distinct(expressions=arguments)]
    if aggregation.orderBy is not None:
        if dialect == "spark":
            raise unsupported(f"ORDER BY in {function}", dialect)
        arguments[-1] = exp.Order(this=arguments[-1], expressions=[_ordered(o) for o in aggregation.orderBy.orderBy])
    tree = apply(template, arguments)
    if aggregation.mask is not None:
        tree = exp.Filter(this=tree, expression=exp.Where(this=column(aggregation.mask.name)))
    kind = parse_type(aggregation.call.returnType)
    tree = cast(tree, kind, dialect) if needs_cast(function, kind, dialect) else tree
    return tree, key.partition("<")[0]


def _ordered(item: Ordering) -> Any:
    direction, _, nulls = item.sortOrder.partition("_NULLS_")
    return exp.Ordered(this=column(item.variable.name), desc=direction == "DESC", nulls_first=nulls == "FIRST")


def window_call(function: WindowFunction, spec: WindowSpecification, key: str, dialect: str) -> tuple[Any, str]:
    """A window function with its OVER, and the name of its variable."""
    presto = function_of(function.functionCall, dialect)
    arguments = [expression(a, dialect) for a in function.functionCall.arguments]
    if presto == "count" and not arguments:
        arguments = [exp.Star()]
    template = WINDOWS.get(presto) or AGGREGATES[dialect].get(presto)
    if template is None:
        raise unsupported(f"Window function {presto}", dialect)
    inner: Any = apply(template, arguments)
    if function.ignoreNulls:
        inner = exp.IgnoreNulls(this=inner)
    order = [_ordered(o) for o in spec.orderingScheme.orderBy] if spec.orderingScheme is not None else []
    window = exp.Window(
        this=inner,
        partition_by=[column(v.name) for v in spec.partitionBy],
        order=exp.Order(expressions=order) if order else None,
        spec=_frame(function, presto, bool(order)),
    )
    kind = parse_type(function.functionCall.returnType)
    tree = cast(window, kind, dialect) if needs_cast(presto, kind, dialect) else window
    return tree, key.partition("<")[0]


_RANKING = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead")


def _frame(function: WindowFunction, presto: str, ordered: bool) -> Any:
    frame = function.frame
    default = (frame.type, frame.startType, frame.endType) == ("RANGE", "UNBOUNDED_PRECEDING", "CURRENT_ROW")
    if presto in _RANKING or (default and not ordered):
        return None
    start, start_side = _bound(frame.startType, frame.startValue)
    end, end_side = _bound(frame.endType, frame.endValue)
    return exp.WindowSpec(kind=frame.type, start=start, start_side=start_side, end=end, end_side=end_side)


def _bound(kind: str, value: Any) -> tuple[Any, str | None]:
    if kind == "CURRENT_ROW":
        return "CURRENT ROW", None
    if kind.startswith("UNBOUNDED"):
        return "UNBOUNDED", kind.removeprefix("UNBOUNDED_")
    return column(value.name), kind
