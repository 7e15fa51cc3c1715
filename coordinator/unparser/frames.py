"""What a plan's projections say of a window frame's bounds."""

from __future__ import annotations

from sqlglot import exp

from coordinator.unparser.trees import binary, call, case, cast, column, number, text
from shared.plan.expressions import Call, Constant, RowExpression, Variable
from shared.plan.nodes import (
    FilterNode,
    Ordering,
    PlanNode,
    ProjectNode,
    RowNumberNode,
    TopNRowNumberNode,
    WindowFrame,
    WindowNode,
)
from shared.plan.types import Type


def definitions(node: PlanNode) -> dict[str, RowExpression]:
    """The variables of a plan's top projections and what they stand for, the uppermost first."""
    found: dict[str, RowExpression] = {}
    while isinstance(node, ProjectNode | WindowNode | RowNumberNode | TopNRowNumberNode | FilterNode):
        if isinstance(node, ProjectNode):
            for key, assigned in node.assignments.assignments.items():
                if not isinstance(assigned, Variable):
                    found.setdefault(key.partition("<")[0], assigned)
        node = node.source
    return found


def constant_offset(frame: WindowFrame, bound: Variable, known: dict[str, RowExpression]) -> Constant | None:
    """A bound's offset when it is constant: for RANGE, what the plan adds to the sort key or takes from it."""
    defined = known.get(bound.name)
    if frame.type == "RANGE" and isinstance(defined, Call) and len(defined.arguments) == 2:
        defined = defined.arguments[1]
        if isinstance(defined, Variable):
            defined = known.get(defined.name)
    return defined if isinstance(defined, Constant) else None


def row_offset(frame: WindowFrame, kind: str, bound: Variable, order: Ordering | None) -> exp.Expr:
    """DuckDB's offset of a bound, each row its own, with Presto's errors for what is none.

    The plan keeps where a RANGE ends and not how far that is from the sort key, so the distance is taken again.
    """
    if frame.type != "RANGE" or order is None:
        return _counted(frame, kind, column(bound.name))
    starts = kind == "PRECEDING" and frame.startValue is bound
    key = frame.sortKeyCoercedForFrameStartComparison if starts else frame.sortKeyCoercedForFrameEndComparison
    sort_key = order.variable if key is None else key
    key_tree, end_tree = _timestamp(sort_key), _timestamp(bound)
    ascending = order.sortOrder.startswith("ASC")
    high, low = (key_tree, end_tree) if (kind == "PRECEDING") == ascending else (end_tree, key_tree)
    no_key = binary(exp.Is, column(order.variable.name), exp.Null())
    wrong = binary(exp.Or, binary(exp.Is, column(bound.name), exp.Null()), binary(exp.LT, high, low))
    message = text("KernelError: GENERIC_USER_ERROR: Window frame offset value must not be negative or null")
    distance = binary(exp.Sub, high, low)
    return case([(no_key, _zero(sort_key)), (wrong, call("error", message))], distance)


def _timestamp(variable: Variable) -> exp.Expr:
    """A date as a timestamp, so that a difference is an interval."""
    return (
        cast(column(variable.name), Type("timestamp"), "duckdb") if variable.type == "date" else column(variable.name)
    )


def _zero(key: Variable) -> exp.Expr:
    temporal = key.type == "date" or key.type.startswith("time")
    return exp.Interval(this=text("0"), unit=exp.Var(this="SECOND")) if temporal else number(0)


def _counted(frame: WindowFrame, kind: str, value: exp.Expr) -> exp.Expr:
    """Of ROWS and GROUPS."""
    place = "ending" if kind == "FOLLOWING" and frame.startType != "FOLLOWING" else "starting"
    null, negative = binary(exp.Is, value, exp.Null()), binary(exp.LT, value, number(0))
    nothing = text(f"KernelError: INVALID_WINDOW_FRAME: Window frame {place} offset must not be null")
    begin = text("KernelError: INVALID_WINDOW_FRAME: Window frame ")
    below = call("concat", begin, value, text(" offset must not be negative"))
    return case([(null, call("error", nothing)), (negative, call("error", below))], value)
