"""How many rows can be left: bounds that LIMITs give, and rough shares of rows that conditions leave.

Shares come from the bounds of columns where files keep them, as if values were spread evenly. The others are the
usual guesses of textbooks and of Presto's filter statistics. They only say whether a second pass is worth trying: what
a first pass really left decides when the query runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from coordinator.expressions.builders import value_of
from coordinator.optimizer.rules.late_materialization.intervals import Interval, Intervals, interval
from shared.plan import nodes
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, Variable
from shared.plan.nodes import PlanNode

_EQUAL, _RANGE, _UNKNOWN, _SELECTIVE = 0.05, 0.6, 0.33, 0.15


def most_rows(node: PlanNode) -> int | None:
    """The most rows that ``node`` can give, None when no LIMIT says so."""
    match node:
        case nodes.TopNNode() | nodes.LimitNode():
            below = most_rows(node.source)
            return node.count if below is None else min(below, node.count)
        case nodes.OffsetNode():
            below = most_rows(node.source)
            return None if below is None else max(0, below - node.count)
        case nodes.ValuesNode():
            return len(node.rows)
        case nodes.EnforceSingleRowNode():
            return 1
        case nodes.AggregationNode() if not node.groupingSets.groupingKeys:
            return 1
        case (
            nodes.OutputNode()
            | nodes.ProjectNode()
            | nodes.FilterNode()
            | nodes.SortNode()
            | nodes.WindowNode()
            | nodes.RowNumberNode()
            | nodes.TopNRowNumberNode()
            | nodes.SemiJoinNode()
            | nodes.AssignUniqueId()
            | nodes.SampleNode()
        ):
            return most_rows(node.source)
        case nodes.ExchangeNode():
            parts = [most_rows(source) for source in node.sources]
            known = [part for part in parts if part is not None]
            return sum(known) if len(known) == len(parts) else None
        case _:
            return None


def selective(predicate: RowExpression, known: Intervals) -> bool:
    """Whether a condition is likely to leave few rows."""
    return share(predicate, known) <= _SELECTIVE


def share_left(chain: Sequence[PlanNode], known: Intervals) -> float:
    """The share of the rows of a scan that is left at a root; ``chain`` are the nodes from the root to the scan."""
    result = 1.0
    for at, node in enumerate(chain):
        result *= _kept_by(node, known)
        if isinstance(node, nodes.JoinNode) and node.type == "INNER":
            # What the other side's filters took away, this side loses with it.
            other = node.right if chain[at + 1] is node.left else node.left
            result *= _kept_below(other, known)
    return result


def limits_row_numbers(node: PlanNode) -> bool:
    """Whether only the first rows of each partition are left, by their numbers."""
    return isinstance(node, nodes.RowNumberNode | nodes.TopNRowNumberNode) and node.maxRowCountPerPartition is not None


def _kept_by(node: PlanNode, known: Intervals) -> float:
    match node:
        case nodes.FilterNode() if limits_row_numbers(node.source):
            return 1.0  # as a rule it says no more than the limit
        case nodes.RowNumberNode() | nodes.TopNRowNumberNode() if limits_row_numbers(node):
            return _guess(node.rowNumberVariable)
        case nodes.FilterNode():
            return share(node.predicate, known)
        case nodes.JoinNode() if node.type == "INNER" and node.filter is not None:
            return share(node.filter, known)
        case _:
            return 1.0


def _kept_below(node: PlanNode, known: Intervals) -> float:
    match node:
        case (
            nodes.FilterNode()
            | nodes.ProjectNode()
            | nodes.SemiJoinNode()
            | nodes.RowNumberNode()
            | nodes.TopNRowNumberNode()
        ):
            return _kept_by(node, known) * _kept_below(node.source, known)
        case nodes.JoinNode() if node.type == "INNER":
            below = _kept_below(node.left, known) * _kept_below(node.right, known)
            return _kept_by(node, known) * below
        case _:
            return 1.0


def share(predicate: RowExpression, known: Intervals) -> float:
    """The share of rows for which ``predicate`` is true."""
    match predicate:
        case SpecialForm(form="AND"):
            result = 1.0
            for argument in predicate.arguments:
                result *= share(argument, known)
            return result
        case SpecialForm(form="OR"):
            return min(1.0, sum(share(argument, known) for argument in predicate.arguments))
        case SpecialForm(form="IN"):
            value, *listed = predicate.arguments
            return min(1.0, sum(_compared("equal", value, item, known, _EQUAL) for item in listed))
        case SpecialForm(form="IS_NULL"):
            return _EQUAL
        case Call(displayName=name):
            return _of_call(name.lower(), predicate, known)
        case Constant(type="boolean"):
            return 1.0 if value_of(predicate) else 0.0
        case _:
            return _UNKNOWN


def _of_call(name: str, call: Call, known: Intervals) -> float:
    match name, call.arguments:
        case "not", (argument,):
            return 1.0 - share(argument, known)
        case ("equal", (a, b)):
            return _compared(name, a, b, known, _EQUAL)
        case ("not_equal", (a, b)):
            return 1.0 - _compared("equal", a, b, known, _EQUAL)
        case "less_than" | "less_than_or_equal" | "greater_than" | "greater_than_or_equal", (a, b):
            return _compared(name, a, b, known, _guess(a))
        case "between", (a, low, high):
            above = _compared("greater_than_or_equal", a, low, known, None)
            below = _compared("less_than_or_equal", a, high, known, None)
            return _guess(a) if above is None or below is None else max(0.0, above + below - 1)
        case "like", _:
            return _EQUAL
        case _:
            return _UNKNOWN


def _guess(of: RowExpression) -> float:
    # A plain range over one column is often most of it; of a computed value nothing is known.
    return _RANGE if isinstance(of, Variable) else _UNKNOWN


@overload
def _compared(name: str, a: RowExpression, b: RowExpression, known: Intervals, otherwise: float) -> float: ...


@overload
def _compared(name: str, a: RowExpression, b: RowExpression, known: Intervals, otherwise: None) -> float | None: ...


def _compared(name: str, a: RowExpression, b: RowExpression, known: Intervals, otherwise: float | None) -> float | None:
    left, right = interval(a, known), interval(b, known)
    if left is None or right is None:
        return otherwise
    difference = Interval(left.low - right.high, left.high - right.low, left.whole and right.whole)
    match name:
        case "less_than":
            return difference.share_below(0, inclusive=False)
        case "less_than_or_equal":
            return difference.share_below(0, inclusive=True)
        case "greater_than":
            return 1.0 - difference.share_below(0, inclusive=True)
        case "greater_than_or_equal":
            return 1.0 - difference.share_below(0, inclusive=False)
        case _:
            if difference.low > 0 or difference.high < 0:
                return 0.0
            return min(1.0, 1 / difference.values) if difference.whole else _EQUAL
