"""``function(…) OVER (…)`` as analyzed parts: the call, its partition, order and frame, with Presto's refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from coordinator.analyzer import call_binding, calls, expressions, registry
from coordinator.analyzer.builders import coerce, typed, value_of
from coordinator.analyzer.context import Context, SortItem
from coordinator.analyzer.operators import arithmetic
from coordinator.analyzer.syntax import function_name
from coordinator.analyzer.types import BIGINT, DAY_SECOND, NUMERIC, YEAR_MONTH, is_comparable, is_orderable
from coordinator.planner.query.builder import replace as substitute
from coordinator.sql.tokens import location_of, tokenize
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.expressions import Call, Constant, RowExpression, type_of

_MOMENTS = ("date", "time", "time with time zone", "timestamp", "timestamp with time zone")
_INTERVALS = (DAY_SECOND.base, YEAR_MONTH.base)
NEGATIVE_OFFSET = "Window frame offset value must not be negative or null"


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a frame. ``value``: the offset, or for RANGE the bound itself, compared with ``key``.

    ``offset``: that of RANGE, where only running tells whether it is NULL or negative in a row.
    """

    kind: str
    value: RowExpression | None = None
    key: RowExpression | None = None
    text: str | None = None
    offset: RowExpression | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """A window frame."""

    kind: str = "RANGE"
    start: Bound = Bound("UNBOUNDED_PRECEDING")
    end: Bound = Bound("CURRENT_ROW")


@dataclass(frozen=True, slots=True)
class WindowCall:
    """One window function with its specification."""

    call: Call
    ignore_nulls: bool
    partition: tuple[RowExpression, ...]
    order: tuple[SortItem, ...]
    frame: Frame


def substituted(spec: WindowCall, mapping: Mapping[RowExpression, RowExpression]) -> WindowCall:
    """The same window over other expressions."""

    def bound(old: Bound) -> Bound:
        value, key, offset = (None if e is None else substitute(e, mapping) for e in (old.value, old.key, old.offset))
        return Bound(old.kind, value, key, old.text, offset)

    call = substitute(spec.call, mapping)
    assert isinstance(call, Call)
    order = tuple(SortItem(substitute(s.expression, mapping), s.order) for s in spec.order)
    frame = Frame(spec.frame.kind, bound(spec.frame.start), bound(spec.frame.end))
    partition = tuple(substitute(e, mapping) for e in spec.partition)
    return WindowCall(call, spec.ignore_nulls, partition, order, frame)


def window_call(node: Any, context: Context) -> WindowCall:
    """The analyzed form of ``function(…) OVER (…)``."""
    context.only(node, "this", "partition_by", "order", "spec", "alias", "over")
    inner, ignore = node.this, False
    if type(inner).__name__ in ("IgnoreNulls", "RespectNulls"):
        ignore, inner = type(inner).__name__ == "IgnoreNulls", inner.this
    block = node.parent_select or node
    if type(inner).__name__ == "Filter":
        raise context.error(block, "FILTER is not yet supported for window functions")
    name = function_name(inner)
    if name is None:
        raise context.unsupported(inner, f"{type(inner).__name__.upper()} window function")
    context.only(inner, "this", "expressions")
    analyze = expressions.analyze_expression
    arguments, distinct, order = calls.aggregate_arguments(inner, context, analyze)
    if order:
        raise context.error(node, "Window function with ORDER BY is not supported")
    if distinct:
        raise context.error(block, f"DISTINCT in window function parameters not yet supported: {_shown(node)}")
    if not {s.kind for s in registry.registry().get(name, ())} & {"window", "aggregate"} and registry.exists(name):
        raise context.error(block, f"Not a window function: {name}")
    call = call_binding.bind_call(inner, name, arguments, context, analyze, ("window", "aggregate"))
    assert isinstance(call, Call)
    call = replace(call, sourceLocation=context.place(inner))
    _refuse_offset(name, call)
    partition, sort = _specification(node, context)
    return WindowCall(call, ignore, partition, sort, _frame(node, sort, context))


_LEAST_OFFSETS = {"lag": 0, "lead": 0, "nth_value": 1}


def _refuse_offset(name: str, call: Call) -> None:
    least = _LEAST_OFFSETS.get(name)
    if least is None or len(call.arguments) < 2:
        return
    offset = call.arguments[1]
    value = value_of(offset) if isinstance(offset, Constant) else None
    if isinstance(value, int) and value < least:
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, f"Offset must be at least {least}")


def _shown(node: Any) -> str:
    return str(node.sql(dialect="trino")).lower().replace("fn$", "").replace('"', "")


def _specification(node: Any, context: Context) -> tuple[tuple[RowExpression, ...], tuple[SortItem, ...]]:
    if node.args.get("alias") is not None:
        raise context.unsupported(node, "A named WINDOW")
    partition = tuple(expressions.analyze_expression(e, context) for e in node.args.get("partition_by") or ())
    for key in partition:
        if not is_comparable(typed(key)):
            message = f"{type_of(key)} is not comparable, and therefore cannot be used in window function PARTITION BY"
            raise context.error(node, message)
    order = node.args.get("order")
    items = () if order is None else tuple(order.expressions)
    keys = [expressions.analyze_expression(o.this, context) for o in items]
    for key in keys:
        if not is_orderable(typed(key)):
            message = f"{type_of(key)} is not orderable, and therefore cannot be used in window function ORDER BY"
            raise context.error(node, message)
    return partition, tuple(calls.sort_item(o, key, context) for o, key in zip(items, keys, strict=True))


def _frame(node: Any, order: tuple[SortItem, ...], context: Context) -> Frame:
    spec = node.args.get("spec")
    if spec is None:
        return Frame()
    context.only(spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(spec.args.get("kind") or "RANGE").upper()
    start = _bound(node, kind, "start", order, context)
    end = Bound("CURRENT_ROW") if spec.args.get("end") is None else _bound(node, kind, "end", order, context)
    message = _misplaced(start.kind, end.kind)
    if message is not None:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=_frame_location(node, context))
    return Frame(kind, start, end)


def _frame_location(window: Any, context: Context) -> ErrorLocation | None:
    return _behind(window, ("ROWS", "RANGE", "GROUPS"), context)


def _without_order(window: Any, kind: str, context: Context) -> ProcessionError:
    message = f"Window frame of type {kind} PRECEDING or FOLLOWING requires ORDER BY"
    return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=_behind(window, ("OVER",), context))


def _behind(window: Any, words: tuple[str, ...], context: Context) -> ErrorLocation | None:
    """Where the window or its frame begins, which the parser does not keep: the first such word behind the call."""
    call = context.locate(window)
    if call is None or not context.text:
        return call
    for token in tokenize(context.text):
        here = location_of(context.text, token.start)
        behind = (here.line, here.column) > (call.line, call.column)
        if behind and str(token.text).upper() in words:
            return here
    return call


def _misplaced(start: str, end: str) -> str | None:
    if start == "UNBOUNDED_FOLLOWING":
        return "Window frame start cannot be UNBOUNDED FOLLOWING"
    if end == "UNBOUNDED_PRECEDING":
        return "Window frame end cannot be UNBOUNDED PRECEDING"
    if start == "CURRENT_ROW" and end == "PRECEDING":
        return "Window frame starting from CURRENT ROW cannot end with PRECEDING"
    if start == "FOLLOWING" and end == "PRECEDING":
        return "Window frame starting from FOLLOWING cannot end with PRECEDING"
    if start == "FOLLOWING" and end == "CURRENT_ROW":
        return "Window frame starting from FOLLOWING cannot end with CURRENT ROW"
    return None


def _bound(node: Any, kind: str, end: str, order: tuple[SortItem, ...], context: Context) -> Bound:
    spec = node.args["spec"]
    value, side = spec.args.get(end), spec.args.get(f"{end}_side")
    text = str(value).upper()
    if text == "CURRENT ROW":
        return Bound("CURRENT_ROW")
    direction = str(side or "PRECEDING").upper()
    if text == "UNBOUNDED":
        return Bound(f"UNBOUNDED_{direction}")
    if kind == "RANGE":
        return _range(node, value, direction, order, context)
    if kind == "GROUPS" and not order:
        raise _without_order(node, kind, context)
    offset = expressions.analyze_expression(value, context)
    if typed(offset).base not in ("integer", "bigint"):
        message = f"Window frame {kind} {end} value type must be INTEGER or BIGINT (actual {type_of(offset)})"
        raise context.error(node, message)
    _not_negative(offset)
    return Bound(direction, coerce(offset, BIGINT), None, _shown(value))


def _range(node: Any, value: Any, direction: str, order: tuple[SortItem, ...], context: Context) -> Bound:
    """The bound as Presto computes it: the sort key less or plus the offset."""
    what = "Window frame of type RANGE PRECEDING or FOLLOWING requires"
    if not order:
        raise _without_order(node, "RANGE", context)
    if len(order) != 1:
        raise context.error(node.args["order"], f"{what} single sort item in ORDER BY (actual: {len(order)})")
    key = order[0].expression
    base = typed(key).base
    if base not in (*NUMERIC, *_MOMENTS, *_INTERVALS):
        tree = node.args["order"].expressions[0].this
        message = f"{what} that sort item type be numeric, datetime or interval (actual: {type_of(key)})"
        raise context.error(tree, message)
    offset = expressions.analyze_expression(value, context)
    if typed(offset).base not in (NUMERIC if base in NUMERIC else _INTERVALS):
        raise context.error(value, _incompatible(offset, key))
    _not_negative(offset)
    symbol = "-" if (direction == "PRECEDING") == order[0].order.startswith("ASC") else "+"
    try:
        bound = arithmetic(value, symbol, key, offset, context)
    except ProcessionError as error:
        raise context.error(value, _incompatible(offset, key)) from error
    unknown = None if isinstance(offset, Constant) else offset
    return Bound(direction, bound, coerce(key, typed(bound)), _shown(value), unknown)


def _incompatible(offset: RowExpression, key: RowExpression) -> str:
    return f"Window frame RANGE value type ({type_of(offset)}) not compatible with sort item type ({type_of(key)})"


def _not_negative(offset: RowExpression) -> None:
    value = value_of(offset) if isinstance(offset, Constant) else None
    if isinstance(offset, Constant) and (value is None or (isinstance(value, int | float) and value < 0)):
        raise ProcessionError(ErrorCode.GENERIC_USER_ERROR, NEGATIVE_OFFSET)
