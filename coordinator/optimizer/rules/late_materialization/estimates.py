"""How many rows can be left: bounds that LIMITs give, and rough shares of rows that conditions leave.

The shares are the usual guesses of textbooks and of Presto's filter statistics where nothing is known of a column;
they only say whether a second pass is worth trying. What a first pass really left decides when the query runs.
"""

from __future__ import annotations

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


def selective(predicate: RowExpression) -> bool:
    """Whether a condition is likely to leave few rows."""
    return share(predicate) <= _SELECTIVE


def share_left(node: PlanNode) -> float:
    """The share of rows that a filter, or the condition beside a join's keys, leaves."""
    match node:
        case nodes.FilterNode():
            return share(node.predicate)
        case nodes.JoinNode() if node.type == "INNER" and node.filter is not None:
            return share(node.filter)
        case _:
            return 1.0


def share(predicate: RowExpression) -> float:
    """The share of rows for which ``predicate`` is true."""
    match predicate:
        case SpecialForm(form="AND"):
            result = 1.0
            for argument in predicate.arguments:
                result *= share(argument)
            return result
        case SpecialForm(form="OR"):
            return min(1.0, sum(share(argument) for argument in predicate.arguments))
        case SpecialForm(form="IN"):
            return min(0.5, _EQUAL * (len(predicate.arguments) - 1))
        case SpecialForm(form="IS_NULL"):
            return _EQUAL
        case Call(displayName=name):
            return _of_call(name.lower(), predicate)
        case Constant():
            return 1.0
        case _:
            return _UNKNOWN


def _of_call(name: str, call: Call) -> float:
    match name:
        case "not":
            return 1.0 - share(call.arguments[0])
        case "equal":
            return _EQUAL
        case "not_equal":
            return 1.0 - _EQUAL
        case "less_than" | "less_than_or_equal" | "greater_than" | "greater_than_or_equal" | "between":
            # A plain range over one column is often most of it; of a computed value nothing is known.
            return _RANGE if isinstance(call.arguments[0], Variable) else _UNKNOWN
        case "like":
            return _EQUAL
        case _:
            return _UNKNOWN
