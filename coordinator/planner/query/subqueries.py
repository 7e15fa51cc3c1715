"""Subqueries of expressions as joins: scalar, EXISTS and IN, correlated ones decorrelated where that is exact.

A correlated scalar aggregate becomes a left join to the aggregate grouped by the correlated columns, its projection
above the join, COUNTs of no rows made 0. A correlated EXISTS with equalities alone becomes a left join to the distinct
keys; with other conditions, a left join under a count by a unique id of the outer row. What is not exact is refused
with Presto's ``Given correlated subquery is not supported``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator.analyzer.builders import (
    cast,
    conjunction,
    conjuncts,
    constant,
    function_call,
    operator,
    special,
    typed,
)
from coordinator.analyzer.types import BIGINT, BOOLEAN
from coordinator.planner.query.builder import Builder, free_variables, replace
from coordinator.planner.query.collector import Subquery
from coordinator.planner.query.outputs import output_variables
from shared.errors import ErrorCode
from shared.plan.expressions import Call, RowExpression, Variable
from shared.plan.nodes import (
    Aggregation,
    AggregationNode,
    Assignments,
    AssignUniqueId,
    EnforceSingleRowNode,
    EquiJoinClause,
    FilterNode,
    GroupingSets,
    JoinNode,
    LimitNode,
    PlanNode,
    ProjectNode,
    SemiJoinNode,
    SortNode,
)


def apply_subqueries(builder: Builder, subqueries: list[Subquery], mapping: dict[RowExpression, RowExpression]) -> None:
    """Joins every subquery to the builder's plan; ``mapping`` is what became of outer expressions by grouping."""
    for subquery in subqueries:
        outer = set(output_variables(builder.node))
        known = referenced(subquery.plan.node)
        correlated = (known - _produced(subquery.plan.node)) & outer
        value = None if subquery.value is None else replace(subquery.value, mapping)
        if subquery.kind == "in":
            if correlated:
                raise _refused(subquery)
            assert value is not None
            _in(builder, subquery, value)
        elif not correlated:
            _uncorrelated(builder, subquery)
        elif subquery.kind == "exists":
            _correlated_exists(builder, subquery, outer)
        else:
            _correlated_scalar(builder, subquery, outer)


def _refused(subquery: Subquery) -> Exception:
    message = "Given correlated subquery is not supported"
    return subquery.context.error(subquery.node, message, ErrorCode.NOT_SUPPORTED)


def _uncorrelated(builder: Builder, subquery: Subquery) -> None:
    ids, inner = builder.ids, subquery.plan.node
    if subquery.kind == "exists":
        limited = LimitNode(id=ids.node(), source=inner, count=1, step="FINAL")
        count = ids.variable("count", "bigint")
        counted = _aggregate(
            builder, limited, (), {count.key: Aggregation(call=_count(), distinct=False, arguments=())}
        )
        test = operator(">", (count, constant(0, BIGINT)), BOOLEAN)
        right: PlanNode = _project(builder, counted, {subquery.variable.key: test})
    else:
        single = EnforceSingleRowNode(id=ids.node(), source=inner)
        right = _project(builder, single, {subquery.variable.key: subquery.plan.visible[0].variable})
    builder.node = _join(builder, "INNER", builder.node, right, (), None)


def _in(builder: Builder, subquery: Subquery, value: RowExpression) -> None:
    (source,) = builder.add([(value, "in")])
    inner = Builder(builder.ids, subquery.plan.node)
    column = subquery.plan.visible[0].variable
    (filtering,) = inner.add([(cast(column, typed(source)), column.name)])
    builder.node = SemiJoinNode(
        id=builder.ids.node(),
        source=builder.node,
        filteringSource=inner.node,
        sourceJoinVariable=source,
        filteringSourceJoinVariable=filtering,
        semiJoinOutput=subquery.variable,
        dynamicFilters={},
    )


@dataclass(slots=True)
class _Pulled:
    """A subquery's plan without its correlated conditions, and those."""

    node: PlanNode
    conditions: list[RowExpression] = field(default_factory=list)


def _pull(builder: Builder, node: PlanNode, outer: set[Variable], subquery: Subquery) -> _Pulled:
    """Takes the conditions on outer variables out of the filters at the top of a plan."""
    match node:
        case FilterNode():
            below = _pull(builder, node.source, outer, subquery)
            kept: list[RowExpression] = []
            pulled: list[RowExpression] = []
            for term in conjuncts(node.predicate):
                (pulled if free_variables(term) & outer else kept).append(term)
            source = below.node
            if kept:
                source = FilterNode(id=node.id, source=source, predicate=conjunction(kept))
            return _Pulled(source, below.conditions + pulled)
        case ProjectNode():
            below = _pull(builder, node.source, outer, subquery)
            if any(free_variables(e) & outer for e in node.assignments.assignments.values()):
                raise _refused(subquery)
            needed = {v for c in below.conditions for v in free_variables(c)} - outer
            assignments = dict(node.assignments.assignments)
            assignments |= {v.key: v for v in sorted(needed, key=lambda v: v.name) if v.key not in assignments}
            return _Pulled(_project(builder, below.node, assignments), below.conditions)
        case SortNode():
            return _pull(builder, node.source, outer, subquery)
        case JoinNode() if node.type == "INNER":
            left, right = (_pull(builder, s, outer, subquery) for s in (node.left, node.right))
            kept, pulled = [], []
            for term in conjuncts(node.filter) if node.filter is not None else []:
                (pulled if free_variables(term) & outer else kept).append(term)
            condition = conjunction(kept) if kept else None
            joined = _join(builder, "INNER", left.node, right.node, node.criteria, condition)
            return _Pulled(joined, left.conditions + right.conditions + pulled)
        case _:
            if (referenced(node) - _produced(node)) & outer:
                raise _refused(subquery)
            return _Pulled(node)


def _split(
    conditions: list[RowExpression], outer: set[Variable]
) -> tuple[list[tuple[RowExpression, RowExpression]], list[RowExpression]]:
    """Equalities between an outer and an inner expression, and the rest."""
    equal, rest = [], []
    for condition in conditions:
        if isinstance(condition, Call) and condition.displayName == "EQUAL":
            a, b = condition.arguments
            sides = [free_variables(a), free_variables(b)]
            if sides[0] and sides[0] <= outer and sides[1] and not sides[1] & outer:
                equal.append((a, b))
                continue
            if sides[1] and sides[1] <= outer and sides[0] and not sides[0] & outer:
                equal.append((b, a))
                continue
        rest.append(condition)
    return equal, rest


def _correlated_exists(builder: Builder, subquery: Subquery, outer: set[Variable]) -> None:
    pulled = _pull(builder, subquery.plan.node, outer, subquery)
    equal, rest = _split(pulled.conditions, outer)
    if equal and not rest:
        _exists_by_keys(builder, subquery, pulled.node, equal)
        return
    ids = builder.ids
    unique = ids.variable("unique", "bigint")
    left = AssignUniqueId(id=ids.node(), source=builder.node, idVariable=unique)
    mark = ids.variable("non_null", "boolean")
    needed = {v for c in pulled.conditions for v in free_variables(c)} - outer
    marked: dict[str, RowExpression] = {v.key: v for v in sorted(needed, key=lambda v: v.name)}
    inner = _project(builder, pulled.node, marked | {mark.key: constant(True, BOOLEAN)})
    joined = _join(builder, "LEFT", left, inner, (), conjunction(pulled.conditions))
    count = ids.variable("count", "bigint")
    keys = output_variables(left)
    call = function_call("count", (mark,), BIGINT, kind="AGGREGATE")
    grouped = _aggregate(
        builder, joined, keys, {count.key: Aggregation(call=call, distinct=False, arguments=call.arguments)}
    )
    test = operator(">", (count, constant(0, BIGINT)), BOOLEAN)
    kept: dict[str, RowExpression] = {v.key: v for v in keys if v != unique}
    builder.node = _project(builder, grouped, kept | {subquery.variable.key: test})


def _exists_by_keys(
    builder: Builder, subquery: Subquery, inner: PlanNode, equal: list[tuple[RowExpression, RowExpression]]
) -> None:
    left_keys = builder.add((o, "expr") for o, _ in equal)
    right = Builder(builder.ids, inner)
    right_keys = right.add((i, "expr") for _, i in equal)
    right.node = _aggregate(builder, right.node, tuple(dict.fromkeys(right_keys)), {})
    mark = builder.ids.variable("subquerytrue", "boolean")
    keys: dict[str, RowExpression] = {v.key: v for v in right_keys}
    right.project(keys | {mark.key: constant(True, BOOLEAN)})
    criteria = tuple(EquiJoinClause(left=a, right=b) for a, b in zip(left_keys, right_keys, strict=True))
    kept = output_variables(builder.node)
    builder.node = _join(builder, "LEFT", builder.node, right.node, criteria, None)
    found = special("COALESCE", BOOLEAN, mark, constant(False, BOOLEAN))
    builder.project({v.key: v for v in kept} | {subquery.variable.key: found})


def _correlated_scalar(builder: Builder, subquery: Subquery, outer: set[Variable]) -> None:
    column = subquery.plan.visible[0].variable
    projections: list[ProjectNode] = []
    node = subquery.plan.node
    while isinstance(node, ProjectNode):
        projections.append(node)
        node = node.source
    if not isinstance(node, AggregationNode) or node.groupingSets.groupingKeys:
        raise _refused(subquery)
    pulled = _pull(builder, node.source, outer, subquery)
    equal, rest = _split(pulled.conditions, outer)
    if rest or not equal:
        raise _refused(subquery)
    left_keys = builder.add((o, "expr") for o, _ in equal)
    right = Builder(builder.ids, pulled.node)
    right_keys = right.add((i, "expr") for _, i in equal)
    grouped = _aggregate(builder, right.node, tuple(dict.fromkeys(right_keys)), node.aggregations)
    kept = output_variables(builder.node)
    criteria = tuple(EquiJoinClause(left=a, right=b) for a, b in zip(left_keys, right_keys, strict=True))
    builder.node = _join(builder, "LEFT", builder.node, grouped, criteria, None)
    expression: RowExpression = column
    for projection in projections:
        assigned = projection.assignments.assignments
        expression = replace(expression, {_variable(k): e for k, e in assigned.items()})
    expression = replace(expression, _zero_counts(node))
    builder.project({v.key: v for v in kept} | {subquery.variable.key: expression})


def _zero_counts(node: AggregationNode) -> dict[RowExpression, RowExpression]:
    """COUNTs that found no row are 0, not NULL."""
    counts = {"count", "count_if", "approx_distinct"}
    return {
        _variable(key): special("COALESCE", BIGINT, _variable(key), constant(0, BIGINT))
        for key, aggregation in node.aggregations.items()
        if aggregation.call.displayName in counts
    }


def _variable(key: str) -> Variable:
    name, _, rest = key.partition("<")
    return Variable(name=name, type=rest[:-1])


def _project(builder: Builder, source: PlanNode, assignments: dict[str, RowExpression]) -> ProjectNode:
    return ProjectNode(
        id=builder.ids.node(), source=source, assignments=Assignments(assignments=assignments), locality="LOCAL"
    )


def _count() -> Call:
    return function_call("count", (), BIGINT, kind="AGGREGATE")


def _aggregate(
    builder: Builder, source: PlanNode, keys: tuple[Variable, ...], aggregations: dict[str, Aggregation]
) -> AggregationNode:
    sets = GroupingSets(groupingKeys=keys, groupingSetCount=1, globalGroupingSets=() if keys else (0,))
    return AggregationNode(
        id=builder.ids.node(),
        source=source,
        aggregations=aggregations,
        groupingSets=sets,
        preGroupedVariables=(),
        step="SINGLE",
    )


def _join(
    builder: Builder,
    kind: str,
    left: PlanNode,
    right: PlanNode,
    criteria: tuple[EquiJoinClause, ...],
    condition: RowExpression | None,
) -> JoinNode:
    return JoinNode(
        id=builder.ids.node(),
        type=kind,  # type: ignore[arg-type]
        left=left,
        right=right,
        criteria=criteria,
        outputVariables=(*output_variables(left), *output_variables(right)),
        filter=condition,
        dynamicFilters={},
    )


def _expressions(node: PlanNode) -> list[RowExpression]:
    match node:
        case FilterNode():
            return [node.predicate]
        case ProjectNode():
            return list(node.assignments.assignments.values())
        case JoinNode():
            return [node.filter] if node.filter is not None else []
        case AggregationNode():
            return [*(a.call for a in node.aggregations.values()), *node.groupingSets.groupingKeys]
        case SemiJoinNode():
            return [node.sourceJoinVariable]
        case _:
            found = [e for row in getattr(node, "rows", ()) for e in row]
            unnest = getattr(node, "unnestVariables", {})
            return found + [_variable(k) for k in unnest] + list(getattr(node, "replicateVariables", ()))


def children(node: PlanNode) -> list[PlanNode]:
    """The sources of a node."""
    names = ("source", "left", "right", "filteringSource")
    single = [getattr(node, n) for n in names if getattr(node, n, None) is not None]
    return single + list(getattr(node, "sources", ()))


def referenced(node: PlanNode) -> set[Variable]:
    """The variables that the expressions of a plan read."""
    found: set[Variable] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        for expression in _expressions(current):
            found |= free_variables(expression)
        stack.extend(children(current))
    return found


def _produced(node: PlanNode) -> set[Variable]:
    found: set[Variable] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        found |= set(output_variables(current))
        stack.extend(children(current))
    return found
