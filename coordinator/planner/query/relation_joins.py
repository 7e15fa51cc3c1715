"""Joins of FROM, also with UNNEST and LATERAL, which may read what stands before them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from coordinator.analyzer import expressions
from coordinator.analyzer.context import Context
from coordinator.analyzer.determinism import deterministic
from coordinator.analyzer.operators import comparison
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.expressions.builders import coerce, conjunction, conjuncts, special, typed, value_of
from coordinator.expressions.types import common_super_type
from coordinator.planner.query import joins
from coordinator.planner.query.aliases import aliased
from coordinator.planner.query.builder import Builder, RelationPlan, free_variables, with_own_variables
from coordinator.planner.query.collector import Collector, Subquery
from coordinator.planner.query.correlation import NotDecorrelatedError, correlated
from coordinator.planner.query.lateral import lateral_join
from coordinator.planner.query.marked_rows import TRUE
from coordinator.planner.query.no_aggregates import NoAggregates
from coordinator.planner.query.planning import Planning
from coordinator.planner.query.pushdown import push_filter
from coordinator.planner.query.subqueries import apply_subqueries
from coordinator.planner.query.unnest import plan_unnest
from coordinator.sql.tree.expressions import Expression, Identifier
from coordinator.sql.tree.queries import (
    AliasedRelation,
    Join,
    JoinOn,
    JoinUsing,
    Lateral,
    NaturalJoin,
    Relation,
    Unnest,
)
from shared.errors import ErrorCode
from shared.plan.expressions import Constant, RowExpression, SourceLocation
from shared.plan.nodes import EquiJoinClause, JoinNode
from shared.plan.traversal import output_variables


def plan_joins(planner: Planning, node: Join, context: Context) -> RelationPlan:
    """Chains of joins are walked, not recursed."""
    spine: list[Join] = []
    first: Relation = node
    while isinstance(first, Join):
        # Presto looks at the kind of a join before it looks at what is joined.
        if isinstance(first.criteria, NaturalJoin):
            raise context.error(first, "Natural join not supported")
        spine.append(first)
        first = first.left
    plan = planner.plan_relation(first, context)
    for join in reversed(spine):
        plan = _join(planner, plan, join, context)
    return plan


def _join(planner: Planning, left: RelationPlan, join: Join, context: Context) -> RelationPlan:
    crossed = join.kind in ("IMPLICIT", "CROSS")
    relation = join.right
    while isinstance(relation, AliasedRelation):
        relation = relation.relation
    if isinstance(relation, Unnest | Lateral) and not crossed:
        what = "UNNEST" if isinstance(relation, Unnest) else "LATERAL"
        raise context.error(relation, f"{what} on other than the right side of CROSS JOIN is not supported")
    if isinstance(relation, Unnest):
        plan = plan_unnest(planner, relation, left, context)
        named = aliased(planner.ids, plan, join.right, context) if isinstance(join.right, AliasedRelation) else plan
        return RelationPlan(named.node, (*left.fields, *named.fields))
    if isinstance(relation, Lateral):
        return _lateral(planner, join.right, relation, left, context)
    right = planner.plan_relation(join.right, context)
    match join.criteria:
        case JoinOn():
            return _on(planner, join, left, right, join.criteria.expression, context)
        case JoinUsing():
            return _using(planner, join, left, right, join.criteria.columns, context)
        case _:
            return _joined(planner, "INNER", left, right, (), None, context.place(join))


def _lateral(planner: Planning, node: Relation, lateral: Lateral, left: RelationPlan, context: Context) -> RelationPlan:
    """LATERAL (query), which is ``node`` where it has an alias, beside ``left``, whose columns it may read."""
    scope = Scope(left.fields, context.scope.parent)
    plan = planner.plan_subquery(lateral.query, replace(context, scope=scope))
    plan = with_own_variables(planner.ids, plan)
    if isinstance(node, AliasedRelation):
        plan = aliased(planner.ids, plan, node, context)
    try:
        joined = lateral_join(planner.ids, left.node, plan.node, set(output_variables(left.node)))
    except NotDecorrelatedError as error:
        message = "Given correlated subquery is not supported"
        raise context.planning_error(lateral.query, message, ErrorCode.UNSUPPORTED_SUBQUERY) from error
    return RelationPlan(joined, (*left.fields, *plan.visible))


def _joined(
    planner: Planning,
    kind: str,
    left: RelationPlan,
    right: RelationPlan,
    criteria: tuple[EquiJoinClause, ...],
    condition: RowExpression | None,
    place: SourceLocation | None = None,
) -> RelationPlan:
    node = JoinNode(
        sourceLocation=place or left.node.sourceLocation or right.node.sourceLocation,
        id=planner.ids.node(),
        type=kind,  # type: ignore[arg-type]
        left=left.node,
        right=right.node,
        criteria=criteria,
        outputVariables=(*output_variables(left.node), *output_variables(right.node)),
        filter=condition,
        dynamicFilters={},
    )
    return RelationPlan(node, (*left.fields, *right.fields))


def _on(
    planner: Planning, join: Join, left: RelationPlan, right: RelationPlan, tree: Expression, context: Context
) -> RelationPlan:
    collector = Collector(planner.ids, planner)
    scope = Scope((*left.fields, *right.fields), context.scope.parent)
    refusing = NoAggregates(collector, "JOIN clause", tree)
    inner = replace(context, scope=scope, collector=refusing, clause="JOIN clause")
    condition = expressions.analyze_condition(tree, inner, "JOIN ON clause")
    place = context.place(join)
    if collector.subqueries and join.kind != "INNER":
        left, right = _with_subqueries(planner, left, right, collector.subqueries)
    elif collector.subqueries:
        joined = _joined(planner, join.kind, left, right, (), None, place)
        builder = Builder(planner.ids, joined.node)
        apply_subqueries(builder, collector.subqueries, {})
        builder.filter(condition)
        return RelationPlan(builder.node, joined.fields)
    return _join_on(planner, join.kind, left, right, condition, place)


def _with_subqueries(
    planner: Planning, left: RelationPlan, right: RelationPlan, subqueries: list[Subquery]
) -> tuple[RelationPlan, RelationPlan]:
    """The sides of an outer join with the values of the subqueries of its condition: the right where that is read."""
    of_left, of_right = set(output_variables(left.node)), set(output_variables(right.node))
    by_side: tuple[list[Subquery], list[Subquery]] = ([], [])
    for subquery in subqueries:
        if subquery.kind == "in":
            raise subquery.context.unsupported(subquery.node, "IN with subquery predicate in join condition")
        value = set() if subquery.value is None else free_variables(subquery.value)
        of_one = [correlated(subquery.plan.node, side) or bool(value & side) for side in (of_left, of_right)]
        if all(of_one):
            message = "Given correlated subquery is not supported"
            raise subquery.context.planning_error(subquery.node, message, ErrorCode.UNSUPPORTED_SUBQUERY)
        by_side[of_one[1]].append(subquery)
    return _applied(planner, left, by_side[0]), _applied(planner, right, by_side[1])


def _applied(planner: Planning, plan: RelationPlan, subqueries: list[Subquery]) -> RelationPlan:
    if not subqueries:
        return plan
    builder = Builder(planner.ids, plan.node)
    apply_subqueries(builder, subqueries, {})
    return RelationPlan(builder.node, plan.fields)


def _join_on(
    planner: Planning,
    kind: str,
    left: RelationPlan,
    right: RelationPlan,
    condition: RowExpression,
    place: SourceLocation | None,
) -> RelationPlan:
    """A join whose equalities between the sides are its criteria and whose other terms its filter.

    Terms about a side that keeps no row of its own filter that side, before anything is computed of it.
    """
    nodes, rest = [left.node, right.node], [t for t in conjuncts(condition) if not _is_true(t)]
    for side, kinds in ((0, ("INNER", "RIGHT")), (1, ("INNER", "LEFT"))):
        known = set(output_variables(nodes[side]))
        own = [t for t in rest if kind in kinds and (read := free_variables(t)) and read <= known and deterministic(t)]
        if own:
            nodes[side] = push_filter(nodes[side], conjunction(own), planner.ids)
            rest = [t for t in rest if t not in own]
    if rest or kind != "INNER":
        node = joins.join_on(planner.ids, kind, nodes[0], nodes[1], conjunction(rest) if rest else TRUE, place)
    else:
        node = joins.join(planner.ids, kind, nodes[0], nodes[1], place=place)
    return RelationPlan(node, (*left.fields, *right.fields))


def _is_true(term: RowExpression) -> bool:
    return isinstance(term, Constant) and value_of(term) is True


def _using(
    planner: Planning,
    join: Join,
    left: RelationPlan,
    right: RelationPlan,
    names: Sequence[Identifier],
    context: Context,
) -> RelationPlan:
    terms, shared_fields, used = [], [], set()
    for identifier in names:
        name = identifier.value.lower()
        found = [[f for f in p.visible if f.matches(name, ())] for p in (left, right)]
        for side, matches in zip(("left", "right"), found, strict=True):
            if not matches:
                raise context.error(identifier, f"Column '{name}' is missing from {side} side of join")
            if len(matches) > 1:
                raise context.error(identifier, f"Column '{name}' is ambiguous")
        a, b = found[0][0].variable, found[1][0].variable
        context.references.update((a.name, b.name))
        terms.append(comparison(identifier, "=", a, b, context))
        common = common_super_type(typed(a), typed(b))
        assert common is not None
        shared_fields.append((identifier.value, a, b, common))
        used |= {a, b}
    joined = _join_on(planner, join.kind, left, right, conjunction(terms), context.place(join))
    builder = Builder(planner.ids, joined.node)
    values: list[tuple[RowExpression, str]] = []
    for name, a, b, common in shared_fields:
        first, second = (coerce(v, common) for v in (a, b))
        merged = {"FULL": special("COALESCE", common, first, second), "RIGHT": second}.get(join.kind, first)
        values.append((merged, name))
    merged_variables = builder.add(values)
    fields = [ScopeField(n, v) for (_, n), v in zip(values, merged_variables, strict=True)]
    others = [f for f in joined.fields if f.variable not in used]
    return RelationPlan(builder.node, (*fields, *others))
