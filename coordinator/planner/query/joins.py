"""Nodes that the rewriting of subqueries puts together: joins, aggregations, projections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coordinator.expressions.builders import conjunction, conjuncts, function_call
from coordinator.expressions.types import BIGINT
from coordinator.planner.query.builder import Builder, Ids, free_variables
from shared.plan.expressions import Call, RowExpression, SourceLocation, Variable
from shared.plan.nodes import (
    Aggregation,
    AggregationNode,
    Assignments,
    EquiJoinClause,
    GroupingSets,
    JoinNode,
    PlanNode,
    ProjectNode,
)
from shared.plan.traversal import output_variables


def project(ids: Ids, source: PlanNode, assignments: Mapping[str, RowExpression]) -> ProjectNode:
    """Exactly the assigned variables."""
    assigned = Assignments(assignments=dict(assignments))
    return ProjectNode(id=ids.node(), source=source, assignments=assigned, locality="LOCAL")


def extend(ids: Ids, source: PlanNode, more: Mapping[Variable, RowExpression]) -> PlanNode:
    """The variables of ``source`` and those of ``more``."""
    kept: dict[str, RowExpression] = {v.key: v for v in output_variables(source)}
    return project(ids, source, kept | {v.key: e for v, e in more.items()}) if more else source


def aggregate(
    ids: Ids, source: PlanNode, keys: Sequence[Variable], aggregations: Mapping[str, Aggregation]
) -> AggregationNode:
    """One grouping set; a global one without keys."""
    sets = GroupingSets(groupingKeys=tuple(keys), groupingSetCount=1, globalGroupingSets=() if keys else (0,))
    return AggregationNode(
        id=ids.node(),
        source=source,
        aggregations=dict(aggregations),
        groupingSets=sets,
        preGroupedVariables=(),
        step="SINGLE",
    )


def aggregation(call: Call, mask: Variable | None = None) -> Aggregation:
    """A plain aggregate, of the rows for which ``mask`` is true."""
    return Aggregation(
        call=call, distinct=False, arguments=call.arguments, functionHandle=call.functionHandle, mask=mask
    )


def count_rows(mask: Variable | None = None) -> Aggregation:
    """``count(*)``."""
    return aggregation(function_call("count", (), BIGINT, kind="AGGREGATE"), mask)


def join(
    ids: Ids,
    kind: str,
    left: PlanNode,
    right: PlanNode,
    criteria: Sequence[EquiJoinClause] = (),
    condition: RowExpression | None = None,
    place: SourceLocation | None = None,
) -> JoinNode:
    """A join of all columns of both sides."""
    return JoinNode(
        sourceLocation=place or left.sourceLocation or right.sourceLocation,
        id=ids.node(),
        type=kind,  # type: ignore[arg-type]
        left=left,
        right=right,
        criteria=tuple(criteria),
        outputVariables=(*output_variables(left), *output_variables(right)),
        filter=condition,
        dynamicFilters={},
    )


def join_on(
    ids: Ids,
    kind: str,
    left: PlanNode,
    right: PlanNode,
    condition: RowExpression,
    place: SourceLocation | None = None,
) -> JoinNode:
    """A join whose equalities between the sides are its criteria and whose other terms its filter."""
    sides = [set(output_variables(left)), set(output_variables(right))]
    pairs: list[tuple[RowExpression, RowExpression]] = []
    rest: list[RowExpression] = []
    for term in conjuncts(condition):
        pair = equality(term, sides)
        if pair is None:
            rest.append(term)
        else:
            pairs.append(pair)
    builders = [Builder(ids, left), Builder(ids, right)]
    keys = [builders[i].add((p[i], "expr") for p in pairs) for i in (0, 1)]
    criteria = tuple(EquiJoinClause(left=a, right=b) for a, b in zip(*keys, strict=True))
    remaining = conjunction(rest) if rest else None
    return join(ids, kind, builders[0].node, builders[1].node, criteria, remaining, place)


def equality(term: RowExpression, sides: Sequence[set[Variable]]) -> tuple[RowExpression, RowExpression] | None:
    """The expressions of the two sides that ``term`` compares for equality, or None."""
    if not isinstance(term, Call) or term.displayName != "EQUAL":
        return None
    a, b = term.arguments
    used = free_variables(a), free_variables(b)
    if used[0] and used[1] and used[0] <= sides[0] and used[1] <= sides[1]:
        return a, b
    if used[0] and used[1] and used[0] <= sides[1] and used[1] <= sides[0]:
        return b, a
    return None
