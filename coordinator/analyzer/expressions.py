"""The syntax tree's expressions as typed RowExpressions: what each kind of node becomes."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from coordinator.analyzer import call_binding
from coordinator.analyzer.calls import analyze_call, analyze_extract, analyze_grouping
from coordinator.analyzer.casts import analyze_cast
from coordinator.analyzer.conditionals import analyze_searched_case, analyze_simple_case
from coordinator.analyzer.context import Context
from coordinator.analyzer.literal_nodes import PLAIN_LITERALS, analyze_literal
from coordinator.analyzer.names import analyze_name
from coordinator.analyzer.operators import arithmetic, boolean, negate, row_subscript, subscript
from coordinator.analyzer.predicates import analyze_logic
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.analyzer.session_values import analyze_current
from coordinator.expressions.builders import coerce, constant, function_call, special, typed
from coordinator.expressions.types import BIGINT, TIME_TZ, TIMESTAMP_TZ, array, row, type_text
from coordinator.sql.parser import parse_expression
from coordinator.sql.tree import expressions as tree
from coordinator.sql.tree.expressions import Expression
from coordinator.vocabulary.nesting import too_deep
from shared.errors import ErrorCode
from shared.plan.expressions import RowExpression, Variable
from shared.spi.connector import TableMetadata
from shared.spi.session import Session

_WITHOUT_PLACE = (*PLAIN_LITERALS, tree.Parameter)
_MOST_OPERATORS = 10_000
"""Of one chain such as ``a + b + …``: C code that compares and hashes expressions recurses without a limit."""
_SPINE = (tree.ArithmeticBinaryExpression, tree.Concatenation)
_SIGNED = ("tinyint", "smallint", "integer", "bigint", "real", "double")


def analyze_predicate(text: str, table: TableMetadata, session: Session) -> RowExpression:
    """The WHERE condition ``text`` over the columns of ``table``; variables carry the columns' names.

    Raises located ProcessionErrors with Presto's texts, among them
    ``WHERE clause must evaluate to a boolean: actual type integer``.
    """
    relation = (table.catalog.lower(), table.schema.lower(), table.name.lower())
    shown = [column for column in table.columns if not column.hidden]
    fields = tuple(ScopeField(c.name, Variable(name=c.name, type=c.type), relation) for c in shown)
    context = Context(session, Scope(fields), clause="WHERE clause")
    return analyze_condition(parse_expression(text), context, "WHERE clause")


def analyze_condition(node: Expression, context: Context, what: str) -> RowExpression:
    """An expression that must be boolean."""
    return boolean(node, analyze_expression(node, context), context, what)


def analyze_expression(node: Expression, context: Context) -> RowExpression:
    """The typed form of a node.

    Raises ProcessionError; NOT_SUPPORTED for an expression that nests too deeply.
    """
    try:
        return _analyze(node, context)
    except RecursionError as error:
        raise too_deep() from error


def _analyze(node: Expression, context: Context) -> RowExpression:
    return _placed(_analyzed(node, context), node, context)


def _placed(expression: RowExpression, node: Expression, context: Context) -> RowExpression:
    """``expression`` at the place of ``node``; parts that have a place, and plain literals, stay as they are."""
    if expression.sourceLocation is not None or context.columns is None:
        return expression
    while isinstance(node, tree.ArithmeticUnaryExpression) and node.sign == "+":
        node = node.value
    if isinstance(expression, Variable) or isinstance(node, _WITHOUT_PLACE):
        return expression
    return replace(expression, sourceLocation=node.location)


def _analyzed(node: Expression, context: Context) -> RowExpression:
    match node:
        case tree.Identifier() | tree.DereferenceExpression():
            return analyze_name(node, context, _analyze)
        case (
            tree.StringLiteral()
            | tree.LongLiteral()
            | tree.DecimalLiteral()
            | tree.DoubleLiteral()
            | tree.NullLiteral()
            | tree.BooleanLiteral()
            | tree.BinaryLiteral()
            | tree.GenericLiteral()
            | tree.IntervalLiteral()
        ):
            return analyze_literal(node, context)
        case tree.FunctionCall():
            return analyze_call(node, context, _analyze)
        case (
            tree.ComparisonExpression()
            | tree.LogicalExpression()
            | tree.NotExpression()
            | tree.IsNullPredicate()
            | tree.IsNotNullPredicate()
            | tree.BetweenPredicate()
            | tree.InPredicate()
            | tree.LikePredicate()
            | tree.ExistsPredicate()
            | tree.QuantifiedComparisonExpression()
        ):
            return analyze_logic(node, context, _analyze)
        case tree.ArithmeticBinaryExpression() | tree.Concatenation():
            return _binary(node, context)
        case tree.Cast():
            return analyze_cast(node, context, _analyze)
        case _:
            return _other(node, context)


_Other = (
    tree.ArithmeticUnaryExpression
    | tree.SimpleCaseExpression
    | tree.SearchedCaseExpression
    | tree.SubqueryExpression
    | tree.SubscriptExpression
    | tree.ArrayConstructor
    | tree.Row
    | tree.AtTimeZone
    | tree.Extract
    | tree.CurrentTime
    | tree.Parameter
    | tree.GroupingOperation
    | tree.LambdaExpression
)


def _other(node: _Other, context: Context) -> RowExpression:  # noqa: C901 - one case a kind of node
    match node:
        case tree.ArithmeticUnaryExpression():
            return _signed(node, context)
        case tree.SimpleCaseExpression():
            return analyze_simple_case(node, context, _analyze)
        case tree.SearchedCaseExpression():
            return analyze_searched_case(node, context, _analyze)
        case tree.SubqueryExpression():
            if context.collector is None:
                raise context.unsupported(node, "Subquery here")
            return context.collector.scalar_subquery(node, context)
        case tree.SubscriptExpression():
            return _subscript(node, context)
        case tree.ArrayConstructor():
            return _array(node, context)
        case tree.Row():
            return _row(node, context)
        case tree.AtTimeZone():
            return _at_time_zone(node, context)
        case tree.Extract():
            return analyze_extract(node, context, _analyze)
        case tree.CurrentTime():
            return analyze_current(node, context)
        case tree.Parameter():
            return _parameter(node, context)
        case tree.GroupingOperation():
            return analyze_grouping(node, context, _analyze)
        case tree.LambdaExpression():
            raise context.error(node, "Lambda expression should always be used inside a function")
        case _:
            assert_never(node)


def _binary(node: tree.ArithmeticBinaryExpression | tree.Concatenation, context: Context) -> RowExpression:
    # Left spines are walked, not recursed: a + b + c + … may be thousands long.
    spine: list[tree.ArithmeticBinaryExpression | tree.Concatenation] = []
    first: Expression = node
    while isinstance(first, _SPINE):
        spine.append(first)
        first = first.left
    if len(spine) > _MOST_OPERATORS:
        raise too_deep()
    result = _analyze(first, context)
    for part in reversed(spine):
        right = _analyze(part.right, context)
        if isinstance(part, tree.Concatenation):
            result = call_binding.call(part, "concat", (result, right), context, display="CONCAT")
        else:
            result = arithmetic(part, part.operator, result, right, context)
        result = _placed(result, part, context)
    return result


def _signed(node: tree.ArithmeticUnaryExpression, context: Context) -> RowExpression:
    if node.sign == "+":
        value = _analyze(node.value, context)
        if typed(value).base not in _SIGNED:
            shown = type_text(typed(value))
            raise context.error(node, f"Unary '+' operator cannot by applied to {shown} type")
        return value
    if isinstance(node.value, tree.LongLiteral) and node.value.value == 1 << 63:
        return constant(-(1 << 63), BIGINT)
    return negate(node, _analyze(node.value, context), context)


def _subscript(node: tree.SubscriptExpression, context: Context) -> RowExpression:
    base = _analyze(node.base, context)
    if typed(base).base == "row":
        index = _analyze(node.index, context) if isinstance(node.index, PLAIN_LITERALS) else None
        return row_subscript(base, index, node.index, context)
    return subscript(node, base, _analyze(node.index, context), context)


def _array(node: tree.ArrayConstructor, context: Context) -> RowExpression:
    values = [_analyze(value, context) for value in node.values]
    common = call_binding.common_type(node.values, values, "All ARRAY elements", context)
    values = [coerce(value, common, context.zone) for value in values]
    return function_call("array_constructor", values, array(common), display="ARRAY")


def _row(node: tree.Row, context: Context) -> RowExpression:
    if not node.items:
        raise context.error(node, "Function row not registered")
    items = [_analyze(item, context) for item in node.items]
    return special("ROW_CONSTRUCTOR", row(tuple(typed(item) for item in items)), *items)


def _at_time_zone(node: tree.AtTimeZone, context: Context) -> RowExpression:
    value, zone = _analyze(node.value, context), _analyze(node.time_zone, context)
    type_ = typed(value)
    if type_.base not in ("timestamp", "timestamp with time zone", "time", "time with time zone"):
        what = "Type of value must be a time or timestamp with or without time zone"
        raise context.error(node.value, f"{what} (actual {type_text(type_)})")
    if type_.base in ("timestamp", "time"):
        value = coerce(value, TIME_TZ if type_.base == "time" else TIMESTAMP_TZ, context.zone)
    return call_binding.call(node, "at_timezone", (value, zone), context)


def _parameter(node: tree.Parameter, context: Context) -> RowExpression:
    if node.position >= len(context.parameters):
        message = f"Incorrect number of parameters: expected {node.position + 1} but found {len(context.parameters)}"
        raise context.error(node, message, ErrorCode.INVALID_ARGUMENTS)
    return context.parameters[node.position]
