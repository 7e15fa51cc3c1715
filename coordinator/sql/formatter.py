"""Expressions as Presto writes them in its messages: function names quoted, every operation in parentheses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from coordinator.sql.tree import expressions as tree
from coordinator.sql.tree.expressions import Expression

_FORMS = frozenset(("if", "nullif", "coalesce", "try"))
"""Calls that are nodes of their own in Presto, where their names are words."""
_UPPER = frozenset(("time", "timestamp", "decimal", "char"))


def format_expression(node: Expression) -> str:
    """One expression, as in ``("sum"(x) + 1)``. A subquery is shown as ``(SELECT ...)``."""
    match node:
        case tree.Identifier():
            return _identifier(node)
        case tree.DereferenceExpression():
            return f"{format_expression(node.base)}.{_identifier(node.field)}"
        case tree.FunctionCall():
            return _call(node)
        case (
            tree.ArithmeticBinaryExpression()
            | tree.ArithmeticUnaryExpression()
            | tree.Concatenation()
            | tree.ComparisonExpression()
            | tree.LogicalExpression()
            | tree.NotExpression()
        ):
            return _operation(node)
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
        ):
            return _literal(node)
        case (
            tree.IsNullPredicate()
            | tree.IsNotNullPredicate()
            | tree.BetweenPredicate()
            | tree.InPredicate()
            | tree.LikePredicate()
            | tree.ExistsPredicate()
            | tree.QuantifiedComparisonExpression()
            | tree.SubqueryExpression()
        ):
            return _predicate(node)
        case _:
            return _other(node)


def format_sort_item(node: tree.SortItem) -> str:
    """One item of ORDER BY; NULLS LAST, the default, is not written."""
    nulls = " NULLS FIRST" if node.nulls_first else ""
    return f"{format_expression(node.sort_key)} {'DESC' if node.descending else 'ASC'}{nulls}"


def format_window(node: tree.Window) -> str:
    """What stands in OVER, with its parentheses, or the name of a window."""
    if node.name is not None and not (node.partition_by or node.order_by or node.frame):
        return _identifier(node.name)
    parts = [] if node.name is None else [_identifier(node.name)]
    if node.partition_by:
        parts.append(f"PARTITION BY {_joined(node.partition_by)}")
    if node.order_by:
        parts.append(f"ORDER BY {', '.join(map(format_sort_item, node.order_by))}")
    if node.frame is not None:
        parts.append(_frame(node.frame))
    return f"({' '.join(parts)})"


def _frame(node: tree.WindowFrame) -> str:
    if node.end is None:
        return f"{node.kind} {_bound(node.start)}"
    return f"{node.kind} BETWEEN {_bound(node.start)} AND {_bound(node.end)}"


def _bound(node: tree.FrameBound) -> str:
    return node.kind if node.value is None else f"{format_expression(node.value)} {node.kind}"


def _identifier(node: tree.Identifier) -> str:
    return '"' + node.value.replace('"', '""') + '"' if node.delimited else node.value


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _joined(nodes: Sequence[Expression]) -> str:
    return ", ".join(map(format_expression, nodes))


def _call(node: tree.FunctionCall) -> str:
    parts = [part.value.lower() for part in node.name]
    arguments = _joined(node.arguments)
    if parts[-1] == "count" and not node.arguments:
        arguments = "*"
    if len(parts) == 1 and parts[0] in _FORMS:
        return f"{parts[0].upper()}({arguments})"
    if node.distinct:
        arguments = f"DISTINCT {arguments}"
    if node.order_by:
        arguments = f"{arguments} ORDER BY {', '.join(map(format_sort_item, node.order_by))}"
    name = ".".join(f'"{part}"' for part in parts)
    nulls = " IGNORE NULLS" if node.nulls == "IGNORE" else ""
    condition = "" if node.filter is None else f" FILTER (WHERE {format_expression(node.filter)})"
    window = "" if node.window is None else f" OVER {format_window(node.window)}"
    return f"{name}({arguments}){nulls}{condition}{window}"


_Operation = (
    tree.ArithmeticBinaryExpression
    | tree.ArithmeticUnaryExpression
    | tree.Concatenation
    | tree.ComparisonExpression
    | tree.LogicalExpression
    | tree.NotExpression
)


def _operation(node: _Operation) -> str:
    match node:
        case tree.ArithmeticBinaryExpression() | tree.Concatenation():
            return _spine(node)
        case tree.ArithmeticUnaryExpression(sign=sign):
            value = format_expression(node.value)
            # Two minuses would be a comment.
            return f"{sign} {value}" if sign == "-" and value.startswith("-") else f"{sign}{value}"
        case tree.ComparisonExpression():
            return f"({format_expression(node.left)} {node.operator} {format_expression(node.right)})"
        case tree.LogicalExpression():
            first, *rest = map(format_expression, node.terms)
            return "(" * len(rest) + first + "".join(f" {node.operator} {term})" for term in rest)
        case tree.NotExpression():
            return f"(NOT {format_expression(node.value)})"
        case _:
            assert_never(node)


def _spine(node: tree.ArithmeticBinaryExpression | tree.Concatenation) -> str:
    """Operations to the left of one another, thousands perhaps; ``||`` is a call of concat."""
    before: list[str] = []
    after: list[str] = []
    first: Expression = node
    while isinstance(first, tree.ArithmeticBinaryExpression | tree.Concatenation):
        right = format_expression(first.right)
        if isinstance(first, tree.Concatenation):
            before.append('"concat"(')
            after.append(f", {right})")
        else:
            before.append("(")
            after.append(f" {first.operator} {right})")
        first = first.left
    return "".join(before) + format_expression(first) + "".join(reversed(after))


_Literal = (
    tree.NullLiteral
    | tree.BooleanLiteral
    | tree.LongLiteral
    | tree.DecimalLiteral
    | tree.DoubleLiteral
    | tree.StringLiteral
    | tree.BinaryLiteral
    | tree.GenericLiteral
    | tree.IntervalLiteral
)


def _literal(node: _Literal) -> str:
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
            return node.value
        case tree.StringLiteral():
            return _text(node.value)
        case tree.BinaryLiteral():
            return f"X'{node.value.hex().upper()}'"
        case tree.GenericLiteral():
            name = node.type.upper() if node.type.lower() in _UPPER else node.type
            return f"{name} {_text(node.value)}"
        case tree.IntervalLiteral():
            end = "" if node.end is None else f" TO {node.end.upper()}"
            sign = "- " if node.sign < 0 else ""
            return f"INTERVAL {sign} '{node.value}' {node.start.upper()}{end}"  # two blanks, as Presto has it
        case _:
            assert_never(node)


_Predicate = (
    tree.IsNullPredicate
    | tree.IsNotNullPredicate
    | tree.BetweenPredicate
    | tree.InPredicate
    | tree.LikePredicate
    | tree.ExistsPredicate
    | tree.QuantifiedComparisonExpression
    | tree.SubqueryExpression
)


def _predicate(node: _Predicate) -> str:
    match node:
        case tree.IsNullPredicate():
            return f"({format_expression(node.value)} IS NULL)"
        case tree.IsNotNullPredicate():
            return f"({format_expression(node.value)} IS NOT NULL)"
        case tree.BetweenPredicate():
            low, high = format_expression(node.min), format_expression(node.max)
            return f"({format_expression(node.value)} BETWEEN {low} AND {high})"
        case tree.InPredicate():
            listed = node.value_list
            inside = f"({_joined(listed.values)})" if isinstance(listed, tree.InListExpression) else _predicate(listed)
            return f"({format_expression(node.value)} IN {inside})"
        case tree.LikePredicate():
            escape = "" if node.escape is None else f" ESCAPE {format_expression(node.escape)}"
            return f"({format_expression(node.value)} LIKE {format_expression(node.pattern)}{escape})"
        case tree.ExistsPredicate():
            return f"(EXISTS {_predicate(node.subquery)})"
        case tree.QuantifiedComparisonExpression():
            value = format_expression(node.value)
            return f"({value} {node.operator} {node.quantifier} {_predicate(node.subquery)})"
        case tree.SubqueryExpression():
            return "(SELECT ...)"
        case _:
            assert_never(node)


_Other = (
    tree.Cast
    | tree.SimpleCaseExpression
    | tree.SearchedCaseExpression
    | tree.ArrayConstructor
    | tree.Row
    | tree.SubscriptExpression
    | tree.LambdaExpression
    | tree.AtTimeZone
    | tree.Extract
    | tree.CurrentTime
    | tree.GroupingOperation
    | tree.Parameter
)


def _other(node: _Other) -> str:  # noqa: C901 - one case a kind of node
    match node:
        case tree.Cast():
            return f"{'TRY_CAST' if node.safe else 'CAST'}({format_expression(node.expression)} AS {node.type})"
        case tree.SimpleCaseExpression():
            return _case([format_expression(node.operand)], node)
        case tree.SearchedCaseExpression():
            return _case([], node)
        case tree.ArrayConstructor():
            return f"ARRAY[{','.join(map(format_expression, node.values))}]"
        case tree.Row():
            return f"ROW ({_joined(node.items)})"
        case tree.SubscriptExpression():
            return f"{format_expression(node.base)}[{format_expression(node.index)}]"
        case tree.LambdaExpression():
            return f"({', '.join(map(_identifier, node.arguments))}) -> {format_expression(node.body)}"
        case tree.AtTimeZone():
            return f"{format_expression(node.value)} AT TIME ZONE {format_expression(node.time_zone)}"
        case tree.Extract():
            return f"EXTRACT({node.field.upper()} FROM {format_expression(node.expression)})"
        case tree.CurrentTime():
            return node.function + ("" if node.precision is None else f"({node.precision})")
        case tree.GroupingOperation():
            return f"GROUPING ({_joined(node.columns)})"
        case tree.Parameter():
            return "?"
        case _:
            assert_never(node)


def _case(operand: list[str], node: tree.SimpleCaseExpression | tree.SearchedCaseExpression) -> str:
    whens = [f"WHEN {format_expression(w.operand)} THEN {format_expression(w.result)}" for w in node.when_clauses]
    default = [] if node.default is None else [f"ELSE {format_expression(node.default)}"]
    return f"({' '.join(['CASE', *operand, *whens, *default, 'END'])})"
