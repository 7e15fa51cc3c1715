"""Where aggregates may stand and what they may read, as Presto's analyzer refuses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from coordinator.analyzer.context import Context
from coordinator.analyzer.scope import MOST_PARTS
from coordinator.sql.formatter import format_expression
from coordinator.sql.tree.expressions import (
    DereferenceExpression,
    Expression,
    FunctionCall,
    GroupingOperation,
    Identifier,
    LambdaExpression,
    SortItem,
    SubqueryExpression,
    Window,
)
from coordinator.sql.tree.names import qualified_name
from coordinator.sql.tree.node import Node, children
from shared.errors import ProcessionError


def misplaced(node: FunctionCall | GroupingOperation, clause: str, context: Context) -> ProcessionError:
    """The error of an aggregation, window or grouping where none may stand."""
    what = "aggregations, window functions or grouping operations"
    return context.error(node, f"{clause} cannot contain {what}: [{format_expression(node)}]")


def refuse_nested(node: FunctionCall, name: str, context: Context, is_aggregate: Callable[[str], bool]) -> None:
    """No aggregate, window or grouping inside an aggregate, its order and its filter."""
    operands = (*node.arguments, *node.order_by, *(() if node.filter is None else (node.filter,)))
    inside = [call for operand in operands for call in _calls(operand)]
    calls = [call for call in inside if isinstance(call, FunctionCall)]
    windows = [call for call in calls if call.window is not None]
    aggregates = [call for call in calls if call.window is None and is_aggregate(call.name[-1].value.lower())]
    groupings = [call for call in inside if isinstance(call, GroupingOperation)]
    found = (("aggregations", aggregates), ("window functions", windows), ("grouping operations", groupings))
    for what, nested in found:
        if nested:
            shown = ", ".join(map(format_expression, nested))
            raise context.error(node, f"Cannot nest {what} inside aggregation '{name}': [{shown}]")


def _calls(node: Node) -> Iterator[FunctionCall | GroupingOperation]:
    """The calls at a node and below it; a window hides what is in it, and subqueries have calls of their own."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, GroupingOperation):
            yield current
        if isinstance(current, FunctionCall):
            yield current
            if current.window is not None:
                continue
        if not isinstance(current, SubqueryExpression):
            stack.extend(reversed(list(children(current))))


def refuse_other_order(node: FunctionCall, context: Context) -> None:
    """A DISTINCT aggregate can be ordered only by what it aggregates."""
    for item in node.order_by:
        if item.sort_key not in node.arguments:
            message = "For aggregate function with DISTINCT, ORDER BY expressions must appear in arguments"
            raise context.error(item.sort_key, message)


def refuse_output_columns(call: FunctionCall, context: Context) -> None:
    """In ORDER BY, a name means the query's output first, and that is made only after aggregation."""
    if context.clause != "ORDER BY clause":
        return
    for column, parts, sorted_by in _columns(call):
        if parts[0] in context.lambdas or not any(
            context.scope.find(parts[count - 1], parts[: count - 1])
            for count in range(1, min(len(parts), MOST_PARTS) + 1)
        ):
            continue
        message = "Invalid reference to output projection attribute from ORDER BY aggregation"
        if sorted_by:
            message = "ORDER BY clause in aggregation function must not reference query output columns"
        raise context.error(column, message)


def _columns(call: FunctionCall) -> Iterator[tuple[Expression, tuple[str, ...], bool]]:
    """The columns that a call reads itself, and whether in its ORDER BY; subqueries and lambdas name their own."""
    stack: list[tuple[Node, bool]] = [(call, False)]
    while stack:
        node, sorted_by = stack.pop()
        below: tuple[Node, ...]
        match node:
            case Identifier() | DereferenceExpression():
                parts = qualified_name(node)
                if parts is not None:
                    yield node, tuple(part.value.lower() for part in parts), sorted_by
                below = (node.base,) if parts is None and isinstance(node, DereferenceExpression) else ()
            case SubqueryExpression() | LambdaExpression():
                below = ()
            case FunctionCall():
                below = tuple(part for part in children(node))[len(node.name) :]
            case Window():
                below = (*node.partition_by, *node.order_by)
            case _:
                below = tuple(children(node))
        sorted_by = sorted_by or isinstance(node, SortItem)
        stack.extend((child, sorted_by) for child in reversed(below))
