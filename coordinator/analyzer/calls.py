"""Function calls: forms with the syntax of a call, scalar functions, aggregates, windows."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from coordinator.analyzer import registry
from coordinator.analyzer.aggregate_checks import misplaced, refuse_nested, refuse_other_order, refuse_output_columns
from coordinator.analyzer.call_binding import ALIASES, bind_call
from coordinator.analyzer.conditionals import analyze_coalesce, analyze_if, analyze_nullif, analyze_try
from coordinator.analyzer.context import Analyze, Context, SortItem
from coordinator.analyzer.session_function_calls import expand
from coordinator.analyzer.session_values import SESSION_FUNCTIONS, analyze_session_function
from coordinator.expressions.builders import typed
from coordinator.expressions.types import BOOLEAN, displayed, is_comparable, is_orderable
from coordinator.sql.tree import expressions as tree
from coordinator.sql.tree.expressions import Extract, FunctionCall, GroupingOperation
from shared.plan.expressions import RowExpression, type_of
from shared.spi.session_function import SessionFunction

_BUILT_IN = ("presto", "default")
_EXTRACT = {
    "day_of_month": "day", "dow": "day_of_week", "day_of_week": "day_of_week", "doy": "day_of_year",
    "day_of_year": "day_of_year", "year_of_week": "year_of_week", "yow": "year_of_week",
    **{f: f for f in ("year", "quarter", "month", "week", "day", "hour", "minute", "second",
                      "timezone_hour", "timezone_minute")},
}  # fmt: skip
_FORMS: dict[str, Callable[[FunctionCall, Context, Analyze], RowExpression]] = {
    "if": analyze_if,
    "coalesce": analyze_coalesce,
    "nullif": analyze_nullif,
    "try": analyze_try,
}


def function_name(node: FunctionCall, context: Context) -> str:
    """The name in lower case, without the namespace of built-in functions; there is no other one."""
    parts = tuple(part.value.lower() for part in node.name)
    if len(parts) > 1 and parts[:-1] != _BUILT_IN:
        raise context.error(node, f"Function {'.'.join(parts)} not registered")
    return parts[-1]


def analyze_call(node: FunctionCall, context: Context, analyze: Analyze) -> RowExpression:
    """A call, with OVER or, where it is an aggregate, FILTER, DISTINCT and ORDER BY."""
    if node.window is not None:
        if context.collector is None:
            raise misplaced(node, context.clause, context)
        return context.collector.window(node, context)
    name = function_name(node, context)
    name = ALIASES.get(name, name)
    if _is_aggregate(name):
        return _aggregate(node, name, context, analyze)
    if node.filter is not None:
        raise context.error(node, "Filter is only valid for aggregation functions")
    if {s.kind for s in registry.registry().get(name, ())} == {"window"}:
        bind_call(node, name, node.arguments, context, analyze, ("window",))
        raise context.error(node, f"Window function presto.default.{name} requires an OVER clause")
    if node.order_by:
        raise context.error(node, "ORDER BY is only valid for aggregation functions")
    if node.distinct:
        raise context.unsupported(node, "DISTINCT expression")
    declared = session_functions(name, context)
    if declared:
        return expand(node, declared, context, analyze)
    form = _FORMS.get(name)
    if form is not None:
        return form(node, context, analyze)
    if name in SESSION_FUNCTIONS:
        return analyze_session_function(node, name, context, analyze)
    return bind_call(node, name, node.arguments, context, analyze, ("scalar",))


def is_built_in(name: str) -> bool:
    """Whether a call by this name means a function that every session has."""
    return name in _FORMS or name in SESSION_FUNCTIONS or registry.exists(ALIASES.get(name, name))


def session_functions(name: str, context: Context) -> list[SessionFunction]:
    """The temporary functions that a call means: none where a built-in one has the name."""
    if not context.session.functions or is_built_in(name):
        return []
    return [function for function in context.session.functions if function.name.lower() == name]


def _is_aggregate(name: str) -> bool:
    return any(s.kind == "aggregate" for s in registry.registry().get(name, ()))


def _aggregate(node: FunctionCall, name: str, context: Context, analyze: Analyze) -> RowExpression:
    if context.collector is None:
        raise misplaced(node, context.clause, context)
    if context.lambdas:
        raise misplaced(node, "Lambda expression", context)
    refuse_output_columns(node, context)
    refuse_nested(node, name, context, _is_aggregate)
    order = tuple(_aggregate_order(node, item, analyze(item.sort_key, context), context) for item in node.order_by)
    if node.distinct:
        refuse_other_order(node, context)
    bound = bind_call(node, name, node.arguments, context, analyze, ("aggregate",))
    bound = replace(bound, sourceLocation=context.place(node))
    if node.distinct:
        for argument in bound.arguments:
            if not is_comparable(typed(argument)):
                message = f"DISTINCT can only be applied to comparable types (actual: {type_of(argument)})"
                raise context.error(node, message)
    condition = None
    if node.filter is not None:
        condition = analyze(node.filter, context)
        if typed(condition) != BOOLEAN:
            message = f"FILTER expression must evaluate to a boolean: actual type {type_of(condition)}"
            raise context.error(node.filter, message)
    return context.collector.aggregate(node, bound, distinct=node.distinct, condition=condition, order=order)


def _aggregate_order(call: FunctionCall, node: tree.SortItem, key: RowExpression, context: Context) -> SortItem:
    if not is_orderable(typed(key)):
        shown = displayed(typed(key))
        raise context.error(call, f"ORDER BY can only be applied to orderable types (actual: {shown})")
    return sort_item(node, key, context)


def sort_item(node: tree.SortItem, key: RowExpression, context: Context) -> SortItem:
    """One ORDER BY item whose sort key is ``key``."""
    if not is_orderable(typed(key)):
        message = f"Type {type_of(key)} is not orderable, and therefore cannot be used in ORDER BY"
        raise context.error(node.sort_key, message)
    direction = "DESC" if node.descending else "ASC"
    return SortItem(key, f"{direction}_NULLS_{'FIRST' if node.nulls_first else 'LAST'}")


def analyze_extract(node: Extract, context: Context, analyze: Analyze) -> RowExpression:
    """``EXTRACT(field FROM value)``: a call of the function of that name."""
    name = _EXTRACT.get(node.field.lower())
    if name is None:
        raise context.error(node, f"Invalid EXTRACT field: {node.field.lower()}")
    return bind_call(node, name, (node.expression,), context, analyze, ("scalar",))


def analyze_grouping(node: GroupingOperation, context: Context, analyze: Analyze) -> RowExpression:
    """``GROUPING(column, …)``."""
    if context.collector is None:
        raise misplaced(node, context.clause, context)
    return context.collector.grouping(node, tuple(analyze(column, context) for column in node.columns))
