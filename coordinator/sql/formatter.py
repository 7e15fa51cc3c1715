"""Expressions as Presto writes them in its messages: operations in parentheses, names of functions in quotes.

Source: Presto's ExpressionFormatter, and the texts of a 0.296 server.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import assert_never

from coordinator.sql.query_formatter import query_text
from coordinator.sql.tree import expressions as tree
from coordinator.sql.tree.expressions import Expression
from coordinator.sql.tree.queries import Query

_OWN_LITERALS = ("time", "timestamp", "decimal", "char")
_OWN_CALLS = ("if", "nullif", "try", "coalesce")


def format_expression(node: Expression) -> str:
    """One expression, as in ``("sum"(x) + 1)``."""
    match node:
        case tree.Identifier():
            return f'"{node.value.replace(chr(34), chr(34) * 2)}"' if node.delimited else node.value
        case (
            tree.ArithmeticBinaryExpression()
            | tree.Concatenation()
            | tree.ComparisonExpression()
            | tree.DereferenceExpression()
            | tree.SubscriptExpression()
        ):
            return _left_spine(node)
        case (
            tree.NullLiteral()
            | tree.BooleanLiteral()
            | tree.LongLiteral()
            | tree.DecimalLiteral()
            | tree.DoubleLiteral()
            | tree.StringLiteral()
            | tree.BinaryLiteral()
            | tree.GenericLiteral()
            | tree.IntervalLiteral()
            | tree.Parameter()
            | tree.CurrentTime()
        ):
            return _literal(node)
        case (
            tree.LogicalExpression()
            | tree.NotExpression()
            | tree.IsNullPredicate()
            | tree.IsNotNullPredicate()
            | tree.BetweenPredicate()
            | tree.InPredicate()
            | tree.LikePredicate()
            | tree.SubqueryExpression()
            | tree.ExistsPredicate()
            | tree.QuantifiedComparisonExpression()
        ):
            return _condition(node)
        case tree.FunctionCall():
            return _call(node)
        case _:
            return _form(node)


def format_query(node: Query) -> str:
    """A query in Presto's lines."""
    return query_text(node, 0, format_expression, format_sort_items)


def format_sort_items(items: Iterable[tree.SortItem]) -> str:
    """``a ASC, b DESC NULLS FIRST``."""
    return ", ".join(
        format_expression(item.sort_key)
        + (" DESC" if item.descending else " ASC")
        + (" NULLS FIRST" if item.nulls_first else "")
        for item in items
    )


def _left_spine(node: Expression) -> str:
    """Walked, since chains may be thousands long."""
    opening: list[str] = []
    ends: list[str] = []
    while True:
        match node:
            case tree.ArithmeticBinaryExpression() | tree.ComparisonExpression():
                opening.append("(")
                ends.append(f" {node.operator} {format_expression(node.right)})")
                node = node.left
            case tree.Concatenation():
                opening.append('"concat"(')
                ends.append(f", {format_expression(node.right)})")
                node = node.left
            case tree.DereferenceExpression():
                ends.append("." + format_expression(node.field))
                node = node.base
            case tree.SubscriptExpression():
                ends.append(f"[{format_expression(node.index)}]")
                node = node.base
            case _:
                return "".join((*opening, format_expression(node), *reversed(ends)))


def _joined(nodes: Iterable[Expression], separator: str = ", ") -> str:
    return separator.join(format_expression(node) for node in nodes)


def string_literal(value: str) -> str:
    """A text in quotes; with code points where it has other characters than ASCII's."""
    quoted = value.replace("'", "''")
    if quoted.isascii() and (quoted.isprintable() or not quoted):
        return f"'{quoted}'"
    return "U&'" + "".join(_escaped(character) for character in quoted) + "'"


def _escaped(character: str) -> str:
    code = ord(character)
    if character == "\\":
        return "\\\\"
    if 0x20 <= code < 0x7F:
        return character
    return f"\\{code:04X}" if code <= 0xFFFF else f"\\+{code:06X}"


def _double(text: str) -> str:
    _, digits, exponent = Decimal(repr(float(text))).normalize().as_tuple()
    shown = "".join(map(str, digits))
    fraction = f".{shown[1:]}" if shown[1:] else ""
    return f"{shown[0]}{fraction}E{int(exponent) + len(shown) - 1}"


def _literal(node: Expression) -> str:
    match node:
        case tree.NullLiteral():
            return "null"
        case tree.BooleanLiteral():
            return "true" if node.value else "false"
        case tree.LongLiteral():
            return str(node.value)
        case tree.DecimalLiteral():
            return f"DECIMAL '{node.value}'"
        case tree.DoubleLiteral():
            return _double(node.value)
        case tree.StringLiteral():
            return string_literal(node.value)
        case tree.BinaryLiteral():
            return f"X'{node.value.hex().upper()}'"
        case tree.GenericLiteral():
            type_ = node.type.upper() if node.type.lower() in _OWN_LITERALS else node.type
            return f"{type_} {string_literal(node.value)}"
        case tree.IntervalLiteral():
            end = "" if node.end is None else f" TO {node.end.upper()}"
            sign = "- " if node.sign < 0 else ""
            return f"INTERVAL {sign} '{node.value}' {node.start.upper()}{end}"
        case tree.CurrentTime():
            return node.function + ("" if node.precision is None else f"({node.precision})")
        case _:
            return "?"


def _condition(node: Expression) -> str:
    match node:
        case tree.LogicalExpression():
            first, *others = node.terms
            ends = "".join(f" {node.operator} {format_expression(term)})" for term in others)
            return "(" * len(others) + format_expression(first) + ends
        case tree.NotExpression():
            return f"(NOT {format_expression(node.value)})"
        case tree.IsNullPredicate():
            return f"({format_expression(node.value)} IS NULL)"
        case tree.IsNotNullPredicate():
            return f"({format_expression(node.value)} IS NOT NULL)"
        case tree.BetweenPredicate():
            value, low, high = (format_expression(e) for e in (node.value, node.min, node.max))
            return f"({value} BETWEEN {low} AND {high})"
        case tree.InPredicate(value_list=tree.InListExpression(values=values)):
            return f"({format_expression(node.value)} IN ({_joined(values)}))"
        case tree.InPredicate(value_list=tree.SubqueryExpression() as query):
            return f"({format_expression(node.value)} IN {format_expression(query)})"
        case tree.LikePredicate():
            escape = "" if node.escape is None else f" ESCAPE {format_expression(node.escape)}"
            return f"({format_expression(node.value)} LIKE {format_expression(node.pattern)}{escape})"
        case tree.ExistsPredicate():
            return f"(EXISTS {format_expression(node.subquery)})"
        case tree.QuantifiedComparisonExpression():
            compared = f"{format_expression(node.value)} {node.operator} {node.quantifier}"
            return f"({compared} {format_expression(node.subquery)})"
        case tree.SubqueryExpression():
            return f"({format_query(node.query)})"
        case _:
            raise TypeError(type(node).__name__)


def _call(node: tree.FunctionCall) -> str:
    name = ".".join(part.value.lower() for part in node.name)
    if name in _OWN_CALLS:
        return f"{name.upper()}({_joined(node.arguments)})"
    arguments = "*" if node.star else _joined(node.arguments)
    parts = [".".join(f'"{part.value.lower()}"' for part in node.name), "("]
    parts += ["DISTINCT ", arguments] if node.distinct else [arguments]
    if node.order_by:
        parts.append(" ORDER BY " + format_sort_items(node.order_by))
    parts.append(")")
    if node.nulls == "IGNORE":
        parts.append(" IGNORE NULLS")
    if node.filter is not None:
        parts.append(f" FILTER (WHERE {format_expression(node.filter)})")
    if node.window is not None:
        parts.append(" OVER " + _window(node.window))
    return "".join(parts)


def _window(node: tree.Window) -> str:
    parts = [] if node.name is None else [format_expression(node.name)]
    if node.partition_by:
        parts.append("PARTITION BY " + _joined(node.partition_by))
    if node.order_by:
        parts.append("ORDER BY " + format_sort_items(node.order_by))
    if node.frame is not None:
        start = _bound(node.frame.start)
        bounds = start if node.frame.end is None else f"BETWEEN {start} AND {_bound(node.frame.end)}"
        parts.append(f"{node.frame.kind} {bounds}")
    return f"({' '.join(parts)})"


def _bound(bound: tree.FrameBound) -> str:
    return bound.kind if bound.value is None else f"{format_expression(bound.value)} {bound.kind}"


def _form(
    node: tree.ArithmeticUnaryExpression
    | tree.Cast
    | tree.SimpleCaseExpression
    | tree.SearchedCaseExpression
    | tree.ArrayConstructor
    | tree.Row
    | tree.LambdaExpression
    | tree.AtTimeZone
    | tree.Extract
    | tree.GroupingOperation,
) -> str:
    match node:
        case tree.ArithmeticUnaryExpression():
            value = format_expression(node.value)
            separator = " " if node.sign == "-" and value.startswith("-") else ""
            return node.sign + separator + value
        case tree.Cast():
            return f"{'TRY_CAST' if node.safe else 'CAST'}({format_expression(node.expression)} AS {node.type})"
        case tree.SimpleCaseExpression():
            return _case(["CASE", format_expression(node.operand)], node)
        case tree.SearchedCaseExpression():
            return _case(["CASE"], node)
        case tree.ArrayConstructor():
            return f"ARRAY[{_joined(node.values, ',')}]"
        case tree.Row():
            return f"ROW ({_joined(node.items)})"
        case tree.LambdaExpression():
            return f"({_joined(node.arguments)}) -> {format_expression(node.body)}"
        case tree.AtTimeZone():
            return f"{format_expression(node.value)} AT TIME ZONE {format_expression(node.time_zone)}"
        case tree.Extract():
            return f"EXTRACT({node.field.upper()} FROM {format_expression(node.expression)})"
        case tree.GroupingOperation():
            return f"GROUPING ({_joined(node.columns)})"
        case _:
            assert_never(node)


def _case(parts: list[str], node: tree.SimpleCaseExpression | tree.SearchedCaseExpression) -> str:
    for when in node.when_clauses:
        parts.append(f"WHEN {format_expression(when.operand)} THEN {format_expression(when.result)}")
    if node.default is not None:
        parts.append(f"ELSE {format_expression(node.default)}")
    return f"({' '.join((*parts, 'END'))})"
