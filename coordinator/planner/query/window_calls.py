"""``function(…) OVER (…)`` as analyzed parts: the call, its partition, order and frame, with Presto's refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from msgspec.structs import replace

from coordinator.analyzer import call_binding, calls, expressions, registry
from coordinator.analyzer.context import Context, SortItem
from coordinator.analyzer.operators import arithmetic
from coordinator.expressions.builders import coerce, typed, value_of
from coordinator.expressions.types import BIGINT, DAY_SECOND, NUMERIC, YEAR_MONTH, is_comparable, is_orderable
from coordinator.planner.query.builder import replace as substitute
from coordinator.sql.formatter import format_expression
from coordinator.sql.tree.expressions import Expression, FrameBound, FunctionCall, Window, WindowFrame
from coordinator.sql.tree.node import Node
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


def window_call(node: FunctionCall, window: Window, block: Node, context: Context) -> WindowCall:
    """The analyzed form of ``function(…) OVER (…)``; ``window`` has no name, ``block`` is the query block around."""
    if node.filter is not None:
        raise context.error(block, "FILTER is not yet supported for window functions")
    if node.order_by:
        raise context.error(node, "Window function with ORDER BY is not supported")
    if node.distinct:
        message = f"DISTINCT in window function parameters not yet supported: {format_expression(node)}"
        raise context.error(block, message)
    name = calls.function_name(node, context)
    if not {s.kind for s in registry.registry().get(name, ())} & {"window", "aggregate"} and registry.exists(name):
        raise context.error(block, f"Not a window function: {name}")
    analyze = expressions.analyze_expression
    call = call_binding.bind_call(node, name, node.arguments, context, analyze, ("window", "aggregate"))
    assert isinstance(call, Call)
    call = replace(call, sourceLocation=context.place(node))
    _refuse_offset(name, call)
    partition, sort = _specification(node, window, context)
    return WindowCall(call, node.nulls == "IGNORE", partition, sort, _frame(node, window, sort, context))


_LEAST_OFFSETS = {
    "lag": (1, 0, "Offset must be at least 0"), "lead": (1, 0, "Offset must be at least 0"),
    "nth_value": (1, 1, "Offset must be at least 1"), "ntile": (0, 1, "Argument for ntile must be greater than zero"),
}  # fmt: skip
"""The place of a function's offset among its arguments, the least that it may be, and Presto's error below that."""


def _refuse_offset(name: str, call: Call) -> None:
    place, least, message = _LEAST_OFFSETS.get(name, (0, 0, ""))
    if not message or len(call.arguments) <= place:
        return
    offset = call.arguments[place]
    value = value_of(offset) if isinstance(offset, Constant) else None
    if isinstance(value, int) and value < least:
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, message)


def _specification(
    node: FunctionCall, window: Window, context: Context
) -> tuple[tuple[RowExpression, ...], tuple[SortItem, ...]]:
    partition = tuple(expressions.analyze_expression(e, context) for e in window.partition_by)
    for key in partition:
        if not is_comparable(typed(key)):
            message = f"{type_of(key)} is not comparable, and therefore cannot be used in window function PARTITION BY"
            raise context.error(node, message)
    keys = [expressions.analyze_expression(item.sort_key, context) for item in window.order_by]
    for key in keys:
        if not is_orderable(typed(key)):
            message = f"{type_of(key)} is not orderable, and therefore cannot be used in window function ORDER BY"
            raise context.error(node, message)
    return partition, tuple(calls.sort_item(o, key, context) for o, key in zip(window.order_by, keys, strict=True))


def _frame(node: FunctionCall, window: Window, order: tuple[SortItem, ...], context: Context) -> Frame:
    spec = window.frame
    if spec is None:
        return Frame()
    around = _Around(node, window, spec, order)
    start = _bound(spec.start, "start", around, context)
    end = Bound("CURRENT_ROW") if spec.end is None else _bound(spec.end, "end", around, context)
    message = _misplaced(start.kind, end.kind)
    if message is not None:
        raise context.error(spec, message)
    return Frame(spec.kind, start, end)


@dataclass(frozen=True, slots=True)
class _Around:
    """What a bound stands in."""

    call: FunctionCall
    window: Window
    frame: WindowFrame
    order: tuple[SortItem, ...]


def _without_order(around: _Around, context: Context) -> ProcessionError:
    message = f"Window frame of type {around.frame.kind} PRECEDING or FOLLOWING requires ORDER BY"
    return context.error(around.window, message)


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


def _bound(node: FrameBound, end: Literal["start", "end"], around: _Around, context: Context) -> Bound:
    match node.kind:
        case "CURRENT ROW":
            return Bound("CURRENT_ROW")
        case "UNBOUNDED PRECEDING" | "UNBOUNDED FOLLOWING":
            return Bound(node.kind.replace(" ", "_"))
        case "PRECEDING" | "FOLLOWING":
            assert node.value is not None
            return _offset(node.value, node.kind, end, around, context)
        case _:
            assert_never(node.kind)


def _offset(value: Expression, direction: str, end: str, around: _Around, context: Context) -> Bound:
    kind = around.frame.kind
    if kind == "RANGE":
        return _range(value, direction, around, context)
    if kind == "GROUPS" and not around.order:
        raise _without_order(around, context)
    offset = expressions.analyze_expression(value, context)
    if typed(offset).base not in ("integer", "bigint"):
        message = f"Window frame {kind} {end} value type must be INTEGER or BIGINT (actual {type_of(offset)})"
        raise context.error(around.call, message)
    _not_negative(offset)
    return Bound(direction, coerce(offset, BIGINT), None, format_expression(value))


def _range(value: Expression, direction: str, around: _Around, context: Context) -> Bound:
    """The bound as Presto computes it: the sort key less or plus the offset."""
    what = "Window frame of type RANGE PRECEDING or FOLLOWING requires"
    order, items = around.order, around.window.order_by
    if not order:
        raise _without_order(around, context)
    if len(order) != 1:
        message = f"{what} single sort item in ORDER BY (actual: {len(order)})"
        word = around.window.order_by_location or items[0].location
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=ErrorLocation(word.line, word.column))
    key = order[0].expression
    base = typed(key).base
    if base not in (*NUMERIC, *_MOMENTS, *_INTERVALS):
        message = f"{what} that sort item type be numeric, datetime or interval (actual: {type_of(key)})"
        raise context.error(items[0].sort_key, message)
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
    return Bound(direction, bound, coerce(key, typed(bound)), format_expression(value), unknown)


def _incompatible(offset: RowExpression, key: RowExpression) -> str:
    return f"Window frame RANGE value type ({type_of(offset)}) not compatible with sort item type ({type_of(key)})"


def _not_negative(offset: RowExpression) -> None:
    value = value_of(offset) if isinstance(offset, Constant) else None
    if isinstance(offset, Constant) and (value is None or (isinstance(value, int | float) and value < 0)):
        raise ProcessionError(ErrorCode.GENERIC_USER_ERROR, NEGATIVE_OFFSET)
