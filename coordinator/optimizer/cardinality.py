"""How many rows a plan gives, from the counts of its tables, distinct values, and rules of thumb for the rest.

Presto's coefficients where it has them (``FilterStatsCalculator``: 0.9 for what it cannot estimate). The smaller side
of an equality is taken to hold the key where the distinct values of the two are unknown: a join gives the rows of its
larger side, thinned as much as the smaller was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from msgspec import Struct

from coordinator.expressions.builders import NAMESPACE, conjuncts
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, StaticFunctionHandle, Variable
from shared.plan.nodes import (
    AggregationNode,
    AssignUniqueId,
    FilterNode,
    JoinNode,
    LimitNode,
    OutputNode,
    PlanNode,
    ProjectNode,
    SemiJoinNode,
    SortNode,
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


class Cardinality(Struct, frozen=True):
    """``rows`` that come out, and ``base``: how many there were before filters."""

    rows: float
    base: float


Distinct = Mapping[str, float]
"""How many different values a column has, by the name of its variable; columns of which that is unknown are absent."""
_UNKNOWN: Distinct = {}


def cardinality(node: PlanNode, table_rows: Mapping[str, int], distinct: Distinct = _UNKNOWN) -> Cardinality | None:
    """The estimate for ``node``; ``table_rows`` are counts by scan id. None where a part is unknown."""
    match node:
        case TableScanNode():
            known = table_rows.get(node.id)
            return None if known is None else Cardinality(known, known)
        case ValuesNode():
            return Cardinality(len(node.rows), len(node.rows))
        case FilterNode():
            below = cardinality(node.source, table_rows, distinct)
            return (
                None if below is None else Cardinality(below.rows * selectivity(node.predicate, distinct), below.base)
            )
        case ProjectNode() | AssignUniqueId() | SemiJoinNode():
            return cardinality(node.source, table_rows, distinct)
        case AggregationNode():
            below = cardinality(node.source, table_rows, distinct)
            return None if below is None else _grouped(node, below, distinct)
        case LimitNode() | TopNNode():
            below = cardinality(node.source, table_rows, distinct)
            return None if below is None else Cardinality(min(below.rows, node.count), below.base)
        case JoinNode():
            return _joined(node, table_rows, distinct)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a query's result is expected to have."""

    rows: float
    bytes: float


def result_estimate(root: OutputNode, table_rows: Mapping[str, int], distinct: Distinct = _UNKNOWN) -> Estimate | None:
    """The rows and bytes of a whole query; None where a part is unknown."""
    plan = root.source
    while isinstance(plan, SortNode | ProjectNode):
        plan = plan.source
    found = cardinality(plan, table_rows, distinct)
    return None if found is None else Estimate(found.rows, size(root, found.rows))


def size(node: PlanNode, rows: float) -> float:
    """Bytes of so many rows of ``node``'s output."""
    return rows * sum(_width(variable.type) for variable in output_variables(node))


def selectivity(predicate: RowExpression, distinct: Distinct = _UNKNOWN) -> float:
    """The share of rows that a predicate keeps, from 0 to 1."""
    result = 1.0
    for term in conjuncts(predicate):
        result *= _term(term, distinct)
    return result


def _term(term: RowExpression, distinct: Distinct) -> float:
    match term:
        case SpecialForm(form="OR"):
            missed = 1.0
            for argument in term.arguments:
                missed *= 1 - selectivity(argument, distinct)
            return 1 - missed
        case SpecialForm(form="IN"):
            return min(1.0, _one_value(term.arguments, distinct) * (len(term.arguments) - 1))
        case Call() if isinstance(term.functionHandle, StaticFunctionHandle):
            return _call(term.functionHandle.signature.name.removeprefix(NAMESPACE), term, distinct)
        case _:
            return UNKNOWN_FILTER


def _one_value(arguments: Sequence[RowExpression], distinct: Distinct) -> float:
    """The share of rows that have one value of the column among the arguments."""
    counts = [distinct[a.name] for a in arguments if isinstance(a, Variable) and a.name in distinct]
    return 1 / max(1.0, counts[0]) if counts else _EQUALITY


def _call(name: str, term: Call, distinct: Distinct) -> float:
    constant = any(isinstance(argument, Constant) for argument in term.arguments)
    match name:
        case "$operator$equal":
            return _one_value(term.arguments, distinct) if constant else UNKNOWN_FILTER
        case "$operator$between":
            return _RANGE
        case "$operator$less_than" | "$operator$less_than_or_equal":
            return _RANGE if constant else UNKNOWN_FILTER
        case "$operator$greater_than" | "$operator$greater_than_or_equal":
            return _RANGE if constant else UNKNOWN_FILTER
        case "like":
            return _LIKE
        case "not":
            return max(0.0, 1 - selectivity(term.arguments[0], distinct))
        case _:
            return UNKNOWN_FILTER


def _grouped(node: AggregationNode, below: Cardinality, distinct: Distinct) -> Cardinality:
    keys = node.groupingSets.groupingKeys
    if not keys:
        return Cardinality(1, 1)
    rows = max(1.0, below.rows * _GROUPS)
    if all(key.name in distinct for key in keys):
        rows = max(1.0, min(below.rows, prod(distinct[key.name] for key in keys)))
    return Cardinality(rows, rows)


def _joined(node: JoinNode, table_rows: Mapping[str, int], distinct: Distinct) -> Cardinality | None:
    left, right = cardinality(node.left, table_rows, distinct), cardinality(node.right, table_rows, distinct)
    if left is None or right is None:
        return None
    pairs = [(clause.left, clause.right) for clause in node.criteria]
    rows = left.rows * right.rows / (key_values(pairs, min(left.base, right.base), distinct) if pairs else 1)
    if node.type in ("LEFT", "FULL"):
        rows = max(rows, left.rows)
    if node.type in ("RIGHT", "FULL"):
        rows = max(rows, right.rows)
    return Cardinality(rows, max(left.base, right.base))


def key_values(pairs: Sequence[tuple[Variable, Variable]], smaller: float, distinct: Distinct) -> float:
    """Among how many values the rows of two joined sides spread: the larger number of distinct values of the pair that
    has most; where that is unknown, the rows of the ``smaller`` side, which is taken to hold the key."""
    known = [max(distinct[a.name], distinct[b.name]) for a, b in pairs if a.name in distinct and b.name in distinct]
    return max(1.0, *known) if known else max(1.0, smaller)


def _width(type_: str) -> int:
    base = parse_type(type_).base
    return _TEXT_WIDTH if base in ("varchar", "char", "varbinary", "json") else _WIDTHS.get(base, _OTHER_WIDTH)
