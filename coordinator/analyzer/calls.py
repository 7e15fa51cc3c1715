"""Function calls: special forms with call syntax, binding to the registry, lambdas, aggregates."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timezone
from typing import Any

from msgspec.structs import replace

from coordinator.analyzer import registry
from coordinator.analyzer.aggregate_checks import misplaced, refuse_nested, refuse_other_order, refuse_output_columns
from coordinator.analyzer.builders import (
    cast,
    coerce,
    constant,
    function_call,
    operator,
    special,
    typed,
)
from coordinator.analyzer.call_binding import ALIASES, Analyze, bind_call, common_type, unbound
from coordinator.analyzer.casts import can_cast
from coordinator.analyzer.context import Context, SortItem
from coordinator.analyzer.moments import note_clock
from coordinator.analyzer.syntax import function_name
from coordinator.analyzer.token_rewriter import CAST, EXTRACT, LITERAL, PARAMETER, POSITION, TRY_CAST
from coordinator.analyzer.typed_literals import moment_in_region, typed_literal
from coordinator.analyzer.types import (
    BOOLEAN,
    DATE,
    TIME,
    TIME_TZ,
    TIMESTAMP,
    TIMESTAMP_TZ,
    VARCHAR,
    common_super_type,
    displayed,
    is_comparable,
    is_orderable,
    read_type,
    row,
    type_text,
)
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Call, Lambda, RowExpression, SpecialForm, type_of

_EXTRACT = {
    "day_of_month": "day", "dow": "day_of_week", "day_of_week": "day_of_week", "doy": "day_of_year",
    "day_of_year": "day_of_year", "year_of_week": "year_of_week", "yow": "year_of_week",
    **{f: f for f in ("year", "quarter", "month", "week", "day", "hour", "minute", "second",
                      "timezone_hour", "timezone_minute")},
}  # fmt: skip


def analyze_call(node: Any, context: Context, analyze: Analyze) -> RowExpression:
    """A call, with FILTER, DISTINCT and ORDER BY where it is an aggregate."""
    inner = node
    condition_node = None
    if type(node).__name__ == "Filter":
        context.only(node, "this", "expression")
        inner, condition_node = node.this, node.expression
    if type(inner).__name__ == "WithinGroup":
        raise context.unsupported(inner, "WITHIN GROUP")
    name = function_name(inner)
    if name is None:
        raise context.unsupported(inner, f"{type(inner).__name__.upper()} expression")
    context.only(inner, "this", "expressions")
    if condition_node is None and name in _SPECIAL:
        return _SPECIAL[name](inner, context, analyze)
    name = ALIASES.get(name, name)
    if _is_aggregate(name):
        return _aggregate(node, inner, name, condition_node, context, analyze)
    if condition_node is not None:
        raise context.error(node, "Filter is only valid for aggregation functions")
    if {s.kind for s in registry.registry().get(name, ())} == {"window"}:
        bind_call(inner, name, inner.expressions, context, analyze, ("window",))
        raise context.error(node, f"Window function presto.default.{name} requires an OVER clause")
    if inner.expressions and type(inner.expressions[-1]).__name__ == "Order":
        raise context.error(node, "ORDER BY is only valid for aggregation functions")
    return bind_call(inner, name, inner.expressions, context, analyze, ("scalar",))


def _is_aggregate(name: str) -> bool:
    return any(s.kind == "aggregate" for s in registry.registry().get(name, ()))


def _aggregate(
    node: Any, inner: Any, name: str, condition_node: Any, context: Context, analyze: Analyze
) -> RowExpression:
    if context.sinks is None:
        raise misplaced(node, context.clause, context)
    if context.lambdas:
        raise misplaced(node, "Lambda expression", context)
    refuse_output_columns(inner, context)
    refuse_nested(node, inner, name, context, _is_aggregate)
    arguments, distinct, order = aggregate_arguments(inner, context, analyze)
    bound = bind_call(inner, name, arguments, context, analyze, ("aggregate",))
    assert isinstance(bound, Call)
    bound = replace(bound, sourceLocation=context.place(inner))
    if distinct and not all(is_comparable(typed(a)) for a in bound.arguments):
        stray = next(a for a in bound.arguments if not is_comparable(typed(a)))
        message = f"DISTINCT can only be applied to comparable types (actual: {type_of(stray)})"
        raise context.error(node, message)
    condition = None
    if condition_node is not None:
        predicate = condition_node.this if type(condition_node).__name__ == "Where" else condition_node
        value = analyze(predicate, context)
        if typed(value) != BOOLEAN:
            message = f"FILTER expression must evaluate to a boolean: actual type {type_of(value)}"
            raise context.error(predicate, message)
        condition = value
    return context.sinks.aggregate(node, bound, distinct=distinct, condition=condition, order=order)


def aggregate_arguments(inner: Any, context: Context, analyze: Analyze) -> tuple[list[Any], bool, tuple[SortItem, ...]]:
    """The argument trees of an aggregate without its DISTINCT and ORDER BY, and those."""
    arguments = list(inner.expressions)
    order: tuple[SortItem, ...] = ()
    distinct = False
    if arguments and type(arguments[-1]).__name__ == "Order":
        context.only(arguments[-1], "this", "expressions")
        sorted_by = arguments[-1].expressions
        order = tuple(_aggregate_order(inner, o, analyze(o.this, context), context) for o in sorted_by)
        arguments[-1] = arguments[-1].this
        if any(type(a).__name__ == "Distinct" for a in arguments):
            refuse_other_order(arguments, sorted_by, context)
    if len(arguments) == 1 and type(arguments[0]).__name__ == "Distinct":
        context.only(arguments[0], "expressions")
        distinct, arguments = True, list(arguments[0].expressions)
    return arguments, distinct, order


def _aggregate_order(call: Any, node: Any, expression: RowExpression, context: Context) -> SortItem:
    if not is_orderable(typed(expression)):
        shown = displayed(typed(expression))
        raise context.error(call, f"ORDER BY can only be applied to orderable types (actual: {shown})")
    return sort_item(node, expression, context)


def sort_item(node: Any, expression: RowExpression, context: Context) -> SortItem:
    """One ORDER BY item; NULLS LAST is the default for both directions, as in Presto."""
    context.only(node, "this", "desc", "nulls_first")
    if not is_orderable(typed(expression)):
        message = f"Type {type_of(expression)} is not orderable, and therefore cannot be used in ORDER BY"
        raise context.error(node, message)
    direction = "DESC" if node.args.get("desc") else "ASC"
    return SortItem(expression, f"{direction}_NULLS_{'FIRST' if _nulls_first(node) else 'LAST'}")


def _nulls_first(node: Any) -> bool:
    # sqlglot marks NULLS FIRST with nulls_first=True; Presto's default is NULLS LAST whatever the direction.
    return bool(node.args.get("nulls_first"))


def _cast(node: Any, context: Context, analyze: Analyze) -> RowExpression:
    tree, target_node = node.expressions
    value = analyze(tree, context)
    try:
        target = read_type(str(target_node.this))
    except ValueError as error:
        raise context.error(node, str(error)) from error
    if target.base == "unknown":
        raise context.error(node, "UNKNOWN is not a valid type")
    source = typed(value)
    if not can_cast(source, target):
        raise context.error(node, f"Cannot cast {type_text(source)} to {type_text(target)}")
    if function_name(node) == TRY_CAST:
        return function_call("try_cast", (value,), target, display="TRY_CAST")
    made = cast(value, target, context.zone)
    return made if made is value else replace(made, sourceLocation=context.place(node))


def _literal(node: Any, context: Context, _analyze: Analyze) -> RowExpression:
    name, text = str(node.expressions[0].this).lower(), str(node.expressions[1].this)
    if name == PARAMETER:
        return _parameter(int(text), node, context)
    try:
        return typed_literal(name, text, context)
    except ProcessionError as error:
        message = error.message
        if name in ("tinyint", "smallint", "integer"):
            message = f"Invalid formatted generic {name} literal: {name.upper()} '{text}'"
        raise context.error(node, message, ErrorCode.SYNTAX_ERROR) from error
    except ValueError as error:
        raise context.error(node, f"'{text}' is not a valid {name} literal") from error


def _parameter(position: int, node: Any, context: Context) -> RowExpression:
    if position >= len(context.parameters):
        message = f"Incorrect number of parameters: expected {position + 1} but found {len(context.parameters)}"
        raise context.error(node, message, ErrorCode.INVALID_ARGUMENTS)
    return context.parameters[position]


def _extract(node: Any, context: Context, analyze: Analyze) -> RowExpression:
    field, tree = str(node.expressions[0].this).lower(), node.expressions[1]
    if field not in _EXTRACT:
        raise context.error(node, f"Invalid EXTRACT field: {field}")
    return bind_call(node, _EXTRACT[field], (tree,), context, analyze, ("scalar",))


def _position(node: Any, context: Context, analyze: Analyze) -> RowExpression:
    needle, haystack = node.expressions
    return bind_call(node, "strpos", (haystack, needle), context, analyze, ("scalar",))


def _trim_from(node: Any, context: Context, analyze: Analyze) -> RowExpression:
    name = (function_name(node) or "").rsplit("_", 1)[-1]
    characters, source = node.expressions
    return bind_call(node, name, (source, characters), context, analyze, ("scalar",))


def _row(node: Any, context: Context, analyze: Analyze) -> RowExpression:
    if not node.expressions:
        raise context.error(node, "Function row not registered")
    items = [analyze(e, context) for e in node.expressions]
    return special("ROW_CONSTRUCTOR", row(tuple(typed(i) for i in items)), *items)


def _if(node: Any, context: Context, analyze: Analyze) -> RowExpression:
    trees = node.expressions
    if len(trees) not in (2, 3):
        raise context.error(node, "Invalid number of arguments for 'if' function")
    condition = analyze(trees[0], context)
    if typed(condition).base not in ("boolean", "unknown"):
        message = f"IF condition must evaluate to a boolean (actual: {type_of(condition)})"
        raise context.error(trees[0], message)
    values = [analyze(t, context) for t in trees[1:]]
    if len(values) == 1:
        values.append(constant(None, typed(values[0])))
    result = common_type(node, values, "IF", context)
    return special("IF", result, coerce(condition, BOOLEAN), *(coerce(v, result, context.zone) for v in values))


def _coalesce(node: Any, context: Context, analyze: Analyze) -> RowExpression:
    values = [analyze(e, context) for e in node.expressions]
    if len(values) < 2:
        raise context.error(node, "The 'coalesce' function must have at least two arguments")
    result = common_type(node, values, "COALESCE", context, node.expressions)
    return special("COALESCE", result, *(coerce(v, result, context.zone) for v in values))


def _nullif(node: Any, context: Context, analyze: Analyze) -> RowExpression:
    if len(node.expressions) != 2:
        raise context.error(node, "Invalid number of arguments for 'nullif' function")
    first, second = (analyze(e, context) for e in node.expressions)
    common = common_super_type(typed(first), typed(second))
    if common is None:
        message = f"Types are not comparable with NULLIF: {type_of(first)} vs {type_of(second)}"
        raise context.error(node, message)
    kind = typed(first)
    if _large(first) or typed(first).base == "unknown":
        return special("NULL_IF", kind, first, second)
    # As Presto: workers know no NULL_IF.
    same = operator("=", (coerce(first, common, context.zone), coerce(second, common, context.zone)), BOOLEAN)
    return special("IF", kind, same, constant(None, kind), first)


_MOST_TWICE = 100


def _large(expression: RowExpression) -> bool:
    """Whether an expression is better not written twice: NULLIFs in one another would double it each time."""
    stack, parts = [expression], 0
    while stack and parts <= _MOST_TWICE:
        current, parts = stack.pop(), parts + 1
        match current:
            case Call():
                if not all(s.deterministic for s in registry.registry().get(current.displayName.lower(), ())):
                    return True
                stack.extend(current.arguments)
            case SpecialForm():
                stack.extend(current.arguments)
            case Lambda():
                stack.append(current.body)
            case _:
                pass
    return bool(stack)


def _try(node: Any, context: Context, analyze: Analyze) -> RowExpression:
    if len(node.expressions) != 1:
        raise context.error(node, "The 'try' function must have exactly one argument")
    body = analyze(node.expressions[0], context)
    thunk = Lambda(argumentTypes=(), arguments=(), body=body)
    return function_call("$internal$try", (thunk,), typed(body), display="TRY")


def _grouping(node: Any, context: Context, analyze: Analyze) -> RowExpression:
    if context.sinks is None:
        raise misplaced(node, context.clause, context)
    return context.sinks.grouping(node, tuple(analyze(e, context) for e in node.expressions))


def _moment(node: Any, context: Context, analyze: Analyze) -> RowExpression:
    """What the session and its clock tell, one value for the whole statement."""
    name = function_name(node) or ""
    if name in ("now", "current_timezone") and node.expressions:
        raise unbound(node, name, [type_of(analyze(e, context)) for e in node.expressions], context)
    zone = context.zone
    told = {
        "current_timezone": context.session.time_zone,
        "current_user": context.session.user,
        "current_catalog": context.session.catalog,
        "current_schema": context.session.schema,
    }
    if name in told:
        return constant(told[name], VARCHAR)
    note_clock()
    started: datetime = context.session.start.astimezone(zone)
    started = started.replace(microsecond=started.microsecond // 1000 * 1000)
    match name:
        case "current_date":
            return constant(started.date(), DATE)
        case "localtimestamp":
            return constant(started.replace(tzinfo=None), TIMESTAMP)
        case "localtime":
            return constant(started.time(), TIME)
        case "current_time":
            return constant(
                started.timetz().replace(tzinfo=timezone(started.utcoffset() or UTC.utcoffset(None))), TIME_TZ
            )
    if isinstance(zone, timezone) or started.utcoffset() == UTC.utcoffset(None):
        return constant(started, TIMESTAMP_TZ)
    return moment_in_region(started, context.session.time_zone)


_SPECIAL: dict[str, Callable[[Any, Context, Analyze], RowExpression]] = {
    CAST: _cast,
    TRY_CAST: _cast,
    LITERAL: _literal,
    EXTRACT: _extract,
    POSITION: _position,
    "$from_trim": _trim_from,
    "$from_ltrim": _trim_from,
    "$from_rtrim": _trim_from,
    "row": _row,
    "if": _if,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "try": _try,
    "grouping": _grouping,
    **dict.fromkeys(
        (
            "current_date", "current_timestamp", "now", "localtimestamp", "localtime", "current_time",
            "current_timezone", "current_user", "current_catalog", "current_schema",
        ),
        _moment,
    ),
}  # fmt: skip
