"""Aggregates and window functions as calls of an engine."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from sqlglot import exp

from coordinator.expressions.builders import NAMESPACE, typed, value_of
from coordinator.unparser.approximations import estimated_by_spark
from coordinator.unparser.averages import exact_average, is_wide
from coordinator.unparser.collected import COLLECTED, collected_call
from coordinator.unparser.compared_maps import compared, holds_map
from coordinator.unparser.correlation import correlation
from coordinator.unparser.expressions import expression
from coordinator.unparser.frames import constant_offset, row_offset
from coordinator.unparser.functions import AGGREGATES, WINDOWS, apply, needs_cast
from coordinator.unparser.kernel_aggregates import in_kernels, kernel_aggregate
from coordinator.unparser.ordering import ordered
from coordinator.unparser.refusals import place_refusal, unsupported
from coordinator.unparser.spark_estimates import Wrap, distinct_bits, distinct_estimate
from coordinator.unparser.spark_windows import fitted, without_offset
from coordinator.unparser.trees import call, cast, column, number, text
from shared.errors import ProcessionError
from shared.plan.expressions import Call, Constant, RowExpression, StaticFunctionHandle, Variable
from shared.plan.nodes import Aggregation, Ordering, WindowFrame, WindowFunction, WindowSpecification
from shared.plan.types import parse_type


def function_of(node: Call, dialect: str) -> str:
    """The Presto name of a call's function."""
    handle = node.functionHandle
    if not isinstance(handle, StaticFunctionHandle):
        raise unsupported(f"Function {node.displayName}", dialect)
    return handle.signature.name.removeprefix(NAMESPACE)


def aggregate_call(aggregation: Aggregation, key: str, dialect: str) -> tuple[exp.Expr, str]:
    """The aggregate and the name of its variable."""
    try:
        return _aggregate_call(aggregation, key, dialect)
    except ProcessionError as error:
        place_refusal(error, aggregation.call.sourceLocation)
        raise


def _aggregate_call(aggregation: Aggregation, key: str, dialect: str) -> tuple[exp.Expr, str]:
    function = function_of(aggregation.call, dialect)
    order = aggregation.orderBy.orderBy if aggregation.orderBy is not None else ()
    condition = column(aggregation.mask.name) if aggregation.mask is not None else None
    unsorted = dialect == "duckdb" or not order or function in (*_ORDER_FREE, *COLLECTED)
    bounded = _bounded_estimate(function, aggregation.call, dialect, partial(_filtered, condition=condition))
    if bounded is not None:
        return bounded, key.partition("<")[0]
    collected = in_kernels(function, aggregation.call, dialect, sorted_rows=not unsorted)
    if collected or _distinct_in_kernels(function, aggregation):
        # Equal values change no count of different ones, and are dropped before they are sent anywhere.
        once = aggregation.distinct is True or (function == "approx_distinct" and dialect == "spark")
        tree = kernel_aggregate(function, aggregation.call, dialect, distinct=once, condition=condition, order=order)
        return tree, key.partition("<")[0]
    arguments = [expression(a, dialect) for a in aggregation.call.arguments]
    if function == "avg" and (type_ := parse_type(aggregation.call.returnType)).base == "decimal":
        values = _distinct(arguments, dialect) if aggregation.distinct is True else arguments
        tree = exact_average(values[0], type_, partial(_filtered, condition=condition), dialect)
        return tree, key.partition("<")[0]
    if function == "count" and not arguments:
        arguments = [exp.Star()]
    if dialect == "spark" and function in COLLECTED:
        distinct = aggregation.distinct is True
        tree = collected_call(function, arguments, distinct=distinct, condition=condition, order=order)
        return tree, key.partition("<")[0]
    if aggregation.distinct is True:
        given = aggregation.call.arguments
        if function == "count" and len(given) == 1 and isinstance(given[0], Variable):
            arguments = [compared(given[0], dialect)]
        arguments = _distinct(arguments, dialect)
    if order:
        if dialect == "spark" and function not in _ORDER_FREE:
            raise unsupported(f"ORDER BY in {function}", dialect)
        if dialect == "duckdb":
            arguments[-1] = exp.Order(this=arguments[-1], expressions=[ordered(o.variable, o.sortOrder) for o in order])
    tree = _of_rows(function, arguments, dialect, condition)
    type_ = parse_type(aggregation.call.returnType)
    tree = cast(tree, type_, dialect) if needs_cast(function, type_, dialect) else tree
    return tree, key.partition("<")[0]


def _distinct_in_kernels(function: str, aggregation: Aggregation) -> bool:
    """Averages of different decimals that cannot be summed in two parts; maps, which engines do not tell apart."""
    if aggregation.distinct is not True:
        return False
    type_ = parse_type(aggregation.call.returnType)
    if function == "avg":
        return type_.base == "decimal" and is_wide(type_)
    return function in COLLECTED and any(holds_map(typed(a)) for a in aggregation.call.arguments)


def _bounded_estimate(function: str, node: Call, dialect: str, wrap: Wrap) -> exp.Expr | None:
    """Presto's ``approx_distinct`` out of what Spark aggregates; None for other aggregates."""
    if function != "approx_distinct" or dialect != "spark" or estimated_by_spark(function):
        return None
    bits = distinct_bits(node)
    return None if bits is None else distinct_estimate(expression(node.arguments[0], dialect), node, bits, wrap)


def _distinct(arguments: list[exp.Expr], dialect: str) -> list[exp.Expr]:
    """Of several arguments sqlglot would make one row."""
    if len(arguments) == 1:
        return [exp.Distinct(expressions=arguments)]
    shown = arguments[0].sql(dialect=dialect, comments=False)
    return [exp.Var(this=f"DISTINCT {shown}"), *arguments[1:]]


# Aggregates whose result no order changes.
_ORDER_FREE = ("count", "sum", "avg", "min", "max", "bool_and", "bool_or", "count_if", "approx_distinct")


def _applied(function: str, arguments: list[exp.Expr], dialect: str) -> exp.Expr:
    template = AGGREGATES[dialect].get(function)
    if template is None:
        raise unsupported(f"Aggregate function {function}", dialect)
    try:
        return apply(template, arguments)
    except TypeError as error:
        raise unsupported(f"Aggregate function {function} with {len(arguments)} arguments", dialect) from error


def _of_rows(function: str, arguments: list[exp.Expr], dialect: str, condition: exp.Expr | None) -> exp.Expr:
    """The aggregate of the rows for which the condition holds."""
    if dialect == "spark" and function == "corr":
        return correlation(arguments, partial(_filtered, condition=condition))
    return _filtered(_applied(function, arguments, dialect), condition)


def _filtered(tree: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    """FILTER belongs to the engine's aggregates, which may stand inside scalar functions."""
    if condition is None:
        return tree
    if isinstance(tree, exp.Anonymous) and str(tree.this) in _WRAPPERS:
        return call(str(tree.this), *(_filtered(e, condition.copy()) for e in tree.expressions))
    if _surrounds(tree):
        return call(str(tree.this), _filtered(tree.expressions[0], condition), *tree.expressions[1:])
    return exp.Filter(this=tree, expression=exp.Where(this=condition.copy()))


_WRAPPERS = ("exp", "map")


def _surrounds(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Anonymous) and str(tree.this) in ("finite_or_null", "nanvl")


def _bare(value: exp.Expr) -> exp.Expr:
    inner = value.this if isinstance(value, exp.Cast) else value
    return number(int(str(inner.this))) if isinstance(inner, exp.Literal) else value


def window_call(
    function: WindowFunction, spec: WindowSpecification, key: str, dialect: str, known: dict[str, RowExpression]
) -> tuple[exp.Expr, str]:
    """A window function with its OVER, and the name of its variable; ``known`` is what variables stand for."""
    try:
        return _window_call(function, spec, key, dialect, known)
    except ProcessionError as error:
        place_refusal(error, function.functionCall.sourceLocation)
        raise


def _window_call(
    function: WindowFunction, spec: WindowSpecification, key: str, dialect: str, known: dict[str, RowExpression]
) -> tuple[exp.Expr, str]:
    presto = function_of(function.functionCall, dialect)

    def over(tree: exp.Expr) -> exp.Expr:
        return _window(tree, function, spec, presto, dialect, known)

    bounded = _bounded_estimate(presto, function.functionCall, dialect, over)
    if bounded is not None:
        return bounded, key.partition("<")[0]
    if in_kernels(presto, function.functionCall, dialect, window=True):
        return kernel_aggregate(presto, function.functionCall, dialect, over=over), key.partition("<")[0]
    if dialect == "spark" and (null := without_offset(presto, function.functionCall, known)) is not None:
        return null, key.partition("<")[0]
    arguments = [expression(a, dialect) for a in function.functionCall.arguments]
    if presto == "avg" and (type_ := parse_type(function.functionCall.returnType)).base == "decimal":
        return exact_average(arguments[0], type_, over, dialect), key.partition("<")[0]
    if presto == "count" and not arguments:
        arguments = [exp.Star()]
    if presto in ("ntile", "nth_value", "lag", "lead"):
        place = 0 if presto == "ntile" else 1
        # Spark wants a bare literal for an offset.
        arguments[place:] = [_bare(a) if i == place else a for i, a in enumerate(arguments) if i >= place]
    if function.ignoreNulls and dialect == "duckdb" and arguments:
        # DuckDB wants the words inside the parentheses, where sqlglot writes none.
        shown = arguments[-1].sql(dialect=dialect, comments=False)
        arguments = [*arguments[:-1], exp.Var(this=f"{shown} IGNORE NULLS")]
    inner: exp.Expr = call(WINDOWS[presto], *arguments) if presto in WINDOWS else _applied(presto, arguments, dialect)
    if function.ignoreNulls and dialect != "duckdb":
        inner = exp.IgnoreNulls(this=inner)
    if dialect == "spark" and presto == "corr":
        window = correlation(arguments, over)
    elif _surrounds(inner):
        window = call(str(inner.this), over(inner.expressions[0]), *inner.expressions[1:])
    else:
        window = over(inner)
    type_ = parse_type(function.functionCall.returnType)
    tree = cast(window, type_, dialect) if needs_cast(presto, type_, dialect) else window
    return tree, key.partition("<")[0]


def _window(
    inner: exp.Expr,
    function: WindowFunction,
    spec: WindowSpecification,
    presto: str,
    dialect: str,
    known: dict[str, RowExpression],
) -> exp.Expr:
    order = [ordered(o.variable, o.sortOrder) for o in spec.orderingScheme.orderBy] if spec.orderingScheme else []
    if dialect == "spark" and presto in RANKING and not order:
        order = [exp.Ordered(this=exp.Null())]
    first = spec.orderingScheme.orderBy[0] if spec.orderingScheme else None
    frame = None if presto in RANKING else _frame(function, first, known, dialect)
    if frame is not None and dialect == "spark" and function.frame.type == "GROUPS":
        order = [exp.Ordered(this=column(PEERS), nulls_first=True)]
    return exp.Window(
        this=inner,
        partition_by=[compared(v, dialect) for v in spec.partitionBy],
        order=exp.Order(expressions=order) if order else None,
        spec=frame,
    )


RANKING = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead")
PEERS = "procession_peers"
"""The number of a row's peer group, for an engine that has no GROUPS: a frame of groups is a range of numbers."""


def _frame(
    function: WindowFunction, order: Ordering | None, known: dict[str, RowExpression], dialect: str
) -> exp.WindowSpec | None:
    frame = function.frame
    default = (frame.type, frame.startType, frame.endType) == ("RANGE", "UNBOUNDED_PRECEDING", "CURRENT_ROW")
    if default and order is None:
        return None
    if dialect == "spark" and (spec := fitted(frame, known)) is not None:
        return spec
    start, start_side = _bound(frame, frame.startType, frame.startValue, known, order, dialect)
    end, end_side = _bound(frame, frame.endType, frame.endValue, known, order, dialect)
    type_ = "RANGE" if dialect == "spark" and frame.type == "GROUPS" else frame.type
    return exp.WindowSpec(kind=type_, start=start, start_side=start_side, end=end, end_side=end_side)


def _bound(
    frame: WindowFrame,
    kind: str,
    value: Variable | None,
    known: dict[str, RowExpression],
    order: Ordering | None,
    dialect: str,
) -> tuple[exp.Expr | str, str | None]:
    if kind == "CURRENT_ROW":
        return "CURRENT ROW", None
    if kind.startswith("UNBOUNDED"):
        return "UNBOUNDED", kind.removeprefix("UNBOUNDED_")
    assert value is not None
    offset = constant_offset(frame, value, known)
    if offset is None:
        if dialect == "spark":
            raise unsupported("A window frame whose offset is no constant", dialect)
        return row_offset(frame, kind, value, order), kind
    # A distance from the sort key is of the key's type; a number of rows is a bare number to Spark.
    key = order.variable.type if frame.type == "RANGE" and order is not None else None
    # An interval is a number to the engines, of milliseconds or of months.
    return (expression(offset, dialect) if key == offset.type else _offset(offset, key, dialect)), kind


def _offset(offset: Constant, key: str | None, dialect: str) -> exp.Expr:
    found = value_of(offset)
    match offset.type:
        case "interval day to second" if isinstance(found, timedelta | int):
            span = found if isinstance(found, timedelta) else timedelta(milliseconds=found)
            # Spark wants days from a date, and both bounds of one unit.
            whole = not span % timedelta(days=1) if dialect == "duckdb" else key == "date"
            shown = str(span.days) if whole else str(span.total_seconds())
            return exp.Interval(this=text(shown), unit=exp.Var(this="DAY" if whole else "SECOND"))
        case "interval year to month":
            return exp.Interval(this=text(str(found)), unit=exp.Var(this="MONTH"))
    return number(found) if isinstance(found, int) else expression(offset, dialect)
