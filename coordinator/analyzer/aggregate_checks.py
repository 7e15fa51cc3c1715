"""Where aggregates may stand and what they may read, as Presto's analyzer refuses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from coordinator.analyzer.context import Context
from coordinator.analyzer.expression_text import expression_text
from coordinator.analyzer.syntax import function_name
from shared.errors import ProcessionError


def misplaced(node: Any, clause: str, context: Context) -> ProcessionError:
    """The error of an aggregation, window or grouping where none may stand."""
    what = "aggregations, window functions or grouping operations"
    return context.error(node, f"{clause} cannot contain {what}: [{expression_text(node)}]")


def refuse_nested(node: Any, call: Any, name: str, context: Context, is_aggregate: Callable[[str], bool]) -> None:
    """No aggregate or window inside an aggregate."""
    inside = list(_calls(call))
    windows = [expression_text(n) for n in inside if type(n).__name__ == "Window"]
    aggregates = [expression_text(n) for n in inside if is_aggregate(function_name(n) or "")]
    for what, nested in (("aggregations", aggregates), ("window functions", windows)):
        if nested:
            raise context.error(node, f"Cannot nest {what} inside aggregation '{name}': [{', '.join(nested)}]")


def _calls(node: Any) -> Iterator[Any]:
    """The outermost calls and windows below a call; subqueries have their own."""
    for child in node.iter_expressions():
        kind = type(child).__name__
        if kind == "Window":
            yield child
        elif kind not in ("Subquery", "Select", "Exists"):
            if kind == "Anonymous":
                yield child
            yield from _calls(child)


def refuse_other_order(arguments: Sequence[Any], order: Sequence[Any], context: Context) -> None:
    """A DISTINCT aggregate can be ordered only by what it aggregates."""
    aggregated = {expression_text(e) for a in arguments for e in (a.expressions or (a,))}
    for item in order:
        if expression_text(item.this) not in aggregated:
            message = "For aggregate function with DISTINCT, ORDER BY expressions must appear in arguments"
            raise context.error(item.this, message)


def refuse_output_columns(call: Any, context: Context) -> None:
    """In ORDER BY, a name means the query's output first, and that is made only after aggregation."""
    if context.clause != "ORDER BY clause":
        return
    for column, sorted_by in _columns(call, False):
        parts = [str(part.name).lower() for part in column.parts]
        if parts[0] in context.lambdas or not any(
            context.scope.find(parts[count - 1], tuple(parts[: count - 1])) for count in range(1, len(parts) + 1)
        ):
            continue
        message = "Invalid reference to output projection attribute from ORDER BY aggregation"
        if sorted_by:
            message = "ORDER BY clause in aggregation function must not reference query output columns"
        raise context.error(column, message)


def _columns(node: Any, sorted_by: bool) -> Iterator[tuple[Any, bool]]:
    """The columns that a call reads itself, and whether in its ORDER BY; subqueries and lambdas name their own."""
    kind = type(node).__name__
    if kind == "Column":
        yield node, sorted_by
    elif kind not in ("Subquery", "Select", "Lambda", "Exists"):
        for child in node.iter_expressions():
            yield from _columns(child, sorted_by or kind == "Ordered")
