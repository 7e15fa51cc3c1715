"""How many rows a plan gives, from the exact counts of its tables and rules of thumb for the rest.

Presto's coefficients where it has them (``FilterStatsCalculator``: 0.9 for what it cannot estimate). The smaller side
of an equality is taken to hold the key: a join gives the rows of its larger side, thinned as much as the smaller was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coordinator.analyzer.builders import NAMESPACE, conjuncts
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, StaticFunctionHandle
from shared.plan.nodes import (
    AggregationNode,
    AssignUniqueId,
    FilterNode,
    JoinNode,
    LimitNode,
    PlanNode,
    ProjectNode,
    SemiJoinNode,
    TableScanNode,
    TopNNode,
    ValuesNode,
)
from shared.plan.traversal import output_variables
from shared.plan.types import parse_type

UNKNOWN_FILTER = 0.9
_EQUALITY, _RANGE, _LIKE, _GROUPS = 0.05, 0.33, 0.25, 0.1
_WIDTHS = {"boolean": 1, "tinyint": 1, "smallint": 2, "integer": 4, "real": 4, "date": 4, "decimal": 16}
_OTHER_WIDTH, _TEXT_WIDTH = 8, 32


@dataclass(frozen=True, slots=True)
class Cardinality:
    """``rows`` that come out, and ``base``: how many there were before filters."""

    rows: float
    base: float


def cardinality(node: PlanNode, table_rows: Mapping[str, int]) -> Cardinality | None:
    """The estimate for ``node``; ``table_rows`` are exact counts by scan id. None where a part is unknown."""
    match node:
        case TableScanNode():
            known = table_rows.get(node.id)
            return None if known is None else Cardinality(known, known)
        case ValuesNode():
            return Cardinality(len(node.rows), len(node.rows))
        case FilterNode():
            below = cardinality(node.source, table_rows)
            return None if below is None else Cardinality(below.rows * selectivity(node.predicate), below.base)
        case ProjectNode() | AssignUniqueId() | SemiJoinNode():
            return cardinality(node.source, table_rows)
        case AggregationNode():
            below = cardinality(node.source, table_rows)
            return None if below is None else _grouped(node, below)
        case LimitNode() | TopNNode():
            below = cardinality(node.source, table_rows)
            return None if below is None else Cardinality(min(below.rows, node.count), below.base)
        case JoinNode():
            return _joined(node, table_rows)
        case _:
            return None


def size(node: PlanNode, rows: float) -> float:
    """Bytes of so many rows of ``node``'s output."""
    return rows * sum(_width(variable.type) for variable in output_variables(node))


def selectivity(predicate: RowExpression) -> float:
    """The share of rows that a predicate keeps, from 0 to 1."""
    result = 1.0
    for term in conjuncts(predicate):
        result *= _term(term)
    return result


def _term(term: RowExpression) -> float:
    match term:
        case SpecialForm(form="OR"):
            missed = 1.0
            for argument in term.arguments:
                missed *= 1 - selectivity(argument)
            return 1 - missed
        case SpecialForm(form="IN"):
            return min(1.0, _EQUALITY * (len(term.arguments) - 1))
        case Call() if isinstance(term.functionHandle, StaticFunctionHandle):
            return _call(term.functionHandle.signature.name.removeprefix(NAMESPACE), term)
        case _:
            return UNKNOWN_FILTER


def _call(name: str, term: Call) -> float:
    constant = any(isinstance(argument, Constant) for argument in term.arguments)
    match name:
        case "$operator$equal":
            return _EQUALITY if constant else UNKNOWN_FILTER
        case "$operator$between":
            return _RANGE
        case "$operator$less_than" | "$operator$less_than_or_equal":
            return _RANGE if constant else UNKNOWN_FILTER
        case "$operator$greater_than" | "$operator$greater_than_or_equal":
            return _RANGE if constant else UNKNOWN_FILTER
        case "like":
            return _LIKE
        case "not":
            return max(0.0, 1 - selectivity(term.arguments[0]))
        case _:
            return UNKNOWN_FILTER


def _grouped(node: AggregationNode, below: Cardinality) -> Cardinality:
    if not node.groupingSets.groupingKeys:
        return Cardinality(1, 1)
    rows = max(1.0, below.rows * _GROUPS)
    return Cardinality(rows, rows)


def _joined(node: JoinNode, table_rows: Mapping[str, int]) -> Cardinality | None:
    left, right = cardinality(node.left, table_rows), cardinality(node.right, table_rows)
    if left is None or right is None:
        return None
    # The smaller side holds the key, so that the other one keeps its rows.
    rows = left.rows * right.rows / (max(1.0, min(left.base, right.base)) if node.criteria else 1)
    if node.type in ("LEFT", "FULL"):
        rows = max(rows, left.rows)
    if node.type in ("RIGHT", "FULL"):
        rows = max(rows, right.rows)
    return Cardinality(rows, max(left.base, right.base))


def _width(kind: str) -> int:
    base = parse_type(kind).base
    return _TEXT_WIDTH if base in ("varchar", "char", "varbinary", "json") else _WIDTHS.get(base, _OTHER_WIDTH)
