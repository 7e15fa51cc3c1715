"""``WHERE EXISTS (…)`` and ``WHERE NOT EXISTS (…)`` as the semi and anti joins that engines have.

Presto's vocabulary says EXISTS as a left join with a mark and, where more than equalities tie the two sides, as an
aggregation by row over it. Engines have a join that stops at the first match and carries any condition.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from coordinator.expressions.builders import conjunction, conjuncts, constant, value_of
from coordinator.expressions.types import BOOLEAN
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, Variable
from shared.plan.nodes import (
    AggregationNode,
    Assignments,
    AssignUniqueId,
    EquiJoinClause,
    FilterNode,
    JoinNode,
    PlanNode,
    ProjectNode,
    SemiJoinNode,
)
from shared.plan.traversal import free_variables, output_variables
from shared.plan.types import parse_type


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """Rows of ``join.left`` with a match in ``join.right``, or without any: what ``join`` is on, its output aside."""

    kind: Literal["SEMI", "ANTI"]
    join: JoinNode


@dataclass(frozen=True, slots=True)
class _Mark:
    """``node`` has the column ``name``, which is whether a row of the left side has a match, and those of ``left``."""

    join: JoinNode
    left: PlanNode
    uses: frozenset[str]
    """Columns that are gone with the mark."""


@dataclass(frozen=True, slots=True)
class ExistsFilter:
    """A filter by marks: ``matched`` filtered by ``rest``; ``above`` are the projections between, lowest first."""

    matched: MatchedRows
    above: tuple[ProjectNode, ...]
    rest: RowExpression | None


def exists_filter(node: FilterNode) -> ExistsFilter | None:
    """The filter as a semi or anti join, if one of its terms is a mark or the negation of one."""
    terms = conjuncts(node.predicate)
    for number, term in enumerate(terms):
        mark, kind = _tested(term)
        rest = [*terms[:number], *terms[number + 1 :]]
        if mark is None or any(mark in free_variables(other) for other in rest):
            continue
        above: list[ProjectNode] = []
        found = _marked(node.source, mark, kind, above) or _in(node.source, mark, kind, above)
        if found is not None:
            matched = MatchedRows(kind, replace(found.join, left=found.left))
            return ExistsFilter(matched, tuple(reversed(above)), conjunction(rest) if rest else None)
    return None


def _tested(term: RowExpression) -> tuple[Variable | None, Literal["SEMI", "ANTI"]]:
    match term:
        case Variable():
            return term, "SEMI"
        case Call(displayName="not", arguments=(Variable() as mark,)):
            return mark, "ANTI"
    return None, "SEMI"


def _marked(node: PlanNode, mark: Variable, kind: Literal["SEMI", "ANTI"], above: list[ProjectNode]) -> _Mark | None:
    """Walks down the projections to where ``mark`` is made; ``above`` gets them with the mark as a constant."""
    if not isinstance(node, ProjectNode):
        return None
    assigned = node.assignments.assignments
    made = assigned[mark.key]
    others = {key: e for key, e in assigned.items() if key != mark.key}
    found = _marked(node.source, made, kind, above) if isinstance(made, Variable) else _made(made, node.source)
    read = {v.name for e in others.values() for v in free_variables(e)}
    if found is None or read & found.uses:
        return None
    if not above and isinstance(found.left, AssignUniqueId) and found.left.idVariable.name not in read:
        found = dataclasses.replace(found, left=found.left.source)
    kept = {mark.key: constant(kind == "SEMI", BOOLEAN), **others}
    above.append(replace(node, assignments=Assignments(assignments={key: kept[key] for key in assigned})))
    return found


def _in(node: PlanNode, mark: Variable, kind: Literal["SEMI", "ANTI"], above: list[ProjectNode]) -> _Mark | None:
    """``value IN (query)``; NOT IN is another matter, since a NULL among the values hides every row."""
    if not isinstance(node, SemiJoinNode) or node.semiJoinOutput.name != mark.name or kind == "ANTI":
        return None
    value, values = node.sourceJoinVariable, node.filteringSourceJoinVariable
    if parse_type(value.type).arguments:
        return None  # an engine's equality of arrays and rows with NULLs inside is its own
    left = output_variables(node.source)
    join = JoinNode(
        id=node.id,
        type="LEFT",
        left=node.source,
        right=node.filteringSource,
        criteria=(EquiJoinClause(left=value, right=values),),
        outputVariables=left,
    )
    passed: dict[str, RowExpression] = {v.key: v for v in left}
    assignments = Assignments(assignments={**passed, mark.key: constant(True, BOOLEAN)})
    above.append(ProjectNode(id=node.id, source=node.source, assignments=assignments))
    return _Mark(join, node.source, frozenset())


def _made(expression: RowExpression, source: PlanNode) -> _Mark | None:
    match expression:
        case SpecialForm(form="COALESCE", arguments=(Variable() as mark, Constant() as otherwise)):
            return _distinct_keys(_renamed(source), mark) if value_of(otherwise) is False else None
        case Call(displayName="GREATER_THAN", arguments=(Variable() as count, Constant() as limit)):
            return _counted(_renamed(source), count) if value_of(limit) == 0 else None
    return None


def _renamed(node: PlanNode) -> PlanNode:
    """Below projections that only leave columns out."""
    while isinstance(node, ProjectNode) and all(
        isinstance(e, Variable) and e.key == key for key, e in node.assignments.assignments.items()
    ):
        node = node.source
    return node


def _distinct_keys(node: PlanNode, mark: Variable) -> _Mark | None:
    """A left join with the distinct values of its keys: a row has one match at most."""
    if not isinstance(node, JoinNode) or node.type != "LEFT":
        return None
    right = node.right
    if not isinstance(right, ProjectNode) or not _is_true(right, mark):
        return None
    keys = right.source
    if not isinstance(keys, AggregationNode) or keys.aggregations or not _is_single(keys):
        return None
    names = {clause.right.key for clause in node.criteria}
    fixed = {e.name for key, e in right.assignments.assignments.items() if key in names and isinstance(e, Variable)}
    if not {key.name for key in keys.groupingSets.groupingKeys} <= fixed:
        return None
    return _mark(node, replace(right, source=keys.source), node.left, {mark.name})


def _counted(node: PlanNode, count: Variable) -> _Mark | None:
    """The matches of each row counted, the row told by its unique id."""
    if not isinstance(node, AggregationNode) or set(node.aggregations) != {count.key} or not _is_single(node):
        return None
    join, (aggregation,) = node.source, node.aggregations.values()
    if not isinstance(join, JoinNode) or join.type != "LEFT" or not isinstance(join.left, AssignUniqueId):
        return None
    mark, keys = aggregation.mask, {key.name for key in node.groupingSets.groupingKeys}
    plain = aggregation.call.displayName == "count" and not aggregation.call.arguments and not aggregation.filter
    if not plain or aggregation.distinct is True or mark is None or aggregation.orderBy is not None:
        return None
    if join.left.idVariable.name not in keys or not keys <= {v.name for v in output_variables(join.left)}:
        return None
    if not isinstance(join.right, ProjectNode) or not _is_true(join.right, mark):
        return None
    return _mark(join, join.right, join.left, {mark.name, count.name})


def _mark(join: JoinNode, right: PlanNode, left: PlanNode, uses: set[str]) -> _Mark | None:
    if not join.criteria:
        return None
    gone = {v.name for v in output_variables(join.right)} | uses
    if join.filter is not None and any(v.name in uses for v in free_variables(join.filter)):
        return None
    return _Mark(replace(join, right=right), left, frozenset(gone))


def _is_true(node: ProjectNode, mark: Variable) -> bool:
    made = node.assignments.assignments.get(mark.key)
    return isinstance(made, Constant) and value_of(made) is True


def _is_single(node: AggregationNode) -> bool:
    return node.step == "SINGLE" and node.groupingSets.groupingSetCount == 1 and node.groupIdVariable is None
