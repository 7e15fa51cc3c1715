"""Puts the terms of a WHERE where they filter first, so that comma joins become joins with criteria.

Exact for inner joins, the preserved side of outer joins, semi joins, filters, projections that pass columns through,
keys of groups and of partitions, unions, and columns beside an unnested array: so a view's conditions reach its tables.
A term that may give another value each time it is computed stays where it is.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, assert_never

from msgspec.structs import replace

from coordinator.analyzer.determinism import deterministic
from coordinator.expressions.builders import conjunction, conjuncts, disjunction
from coordinator.expressions.failing import may_fail
from coordinator.planner.query.builder import free_variables
from coordinator.planner.query.builder import replace as in_terms_of
from shared.plan.expressions import Call, RowExpression, SpecialForm, Variable
from shared.plan.nodes import (
    AggregationNode,
    AssignUniqueId,
    EquiJoinClause,
    ExchangeNode,
    FilterNode,
    JoinNode,
    PlanNode,
    ProjectNode,
    SemiJoinNode,
    UnnestNode,
    WindowNode,
)
from shared.plan.traversal import expressions, output_variables, rewrite_bottom_up, variable_of_key, walk


class NodeIds(Protocol):
    """Gives out ids of plan nodes; knows the projections above row filters."""

    @property
    def guards(self) -> Collection[str]:
        """Their ids."""

    def node(self) -> str: ...


def push_filter(node: PlanNode, predicate: RowExpression, ids: NodeIds) -> PlanNode:
    """``node`` filtered by ``predicate``."""
    terms = [part for term in conjuncts(predicate) for part in factored(term)]
    fixed = [t for t in terms if not deterministic(t)]
    node = _push(node, [t for t in terms if deterministic(t)], ids)
    return FilterNode(id=ids.node(), source=node, predicate=conjunction(fixed)) if fixed else node


def factored(term: RowExpression) -> list[RowExpression]:
    """``(a AND x) OR (a AND y)`` as ``a`` and ``x OR y``: what all have in common may be a join's criterion.

    Presto's ExtractCommonPredicatesExpressionRewriter; of terms that have one value only.
    """
    if not isinstance(term, SpecialForm) or term.form != "OR" or not deterministic(term):
        return [term]
    branches = [conjuncts(branch) for branch in _disjuncts(term)]
    common = [part for part in branches[0] if all(part in branch for branch in branches[1:])]
    if not common:
        return [term]
    rests = [[part for part in branch if part not in common] for branch in branches]
    if not all(rests):
        return common  # one branch is no more than what all have
    return [*common, disjunction([conjunction(rest) for rest in rests])]


def _disjuncts(term: RowExpression) -> list[RowExpression]:
    if isinstance(term, SpecialForm) and term.form == "OR":
        return [branch for argument in term.arguments for branch in _disjuncts(argument)]
    return [term]


def _push(node: PlanNode, terms: list[RowExpression], ids: NodeIds) -> PlanNode:
    if not terms:
        return node
    match node:
        case JoinNode() if node.type == "INNER":
            return _inner(node, terms, ids)
        case JoinNode() if node.type == "LEFT":
            below, rest = _covered(terms, set(output_variables(node.left)))
            return _filtered(replace(node, left=_push(node.left, below, ids)), rest, ids)
        case JoinNode() if node.type == "RIGHT":
            below, rest = _covered(terms, set(output_variables(node.right)))
            return _filtered(replace(node, right=_push(node.right, below, ids)), rest, ids)
        case ProjectNode() if node.id in ids.guards:
            return _through_guard(node, terms, ids)
        case SemiJoinNode() | ProjectNode() | AggregationNode() | WindowNode() | UnnestNode() | AssignUniqueId():
            below, rest = _covered(terms, _passed(node))
            return _filtered(replace(node, source=_push(node.source, below, ids)), rest, ids)
        case ExchangeNode():
            return _union(node, terms, ids)
        case FilterNode() if deterministic(node.predicate):
            return _push(node.source, [*conjuncts(node.predicate), *terms], ids)
        case FilterNode():
            return replace(node, source=_push(node.source, terms, ids))
        case _:
            return _filtered(node, terms, ids)


def _through_guard(node: ProjectNode, terms: list[RowExpression], ids: NodeIds) -> PlanNode:
    """Only what has a value for every row goes beside the row filter: an error would tell of a row that it hides."""
    columns: dict[RowExpression, RowExpression] = {
        variable_of_key(key): guarded.arguments[1]
        for key, guarded in node.assignments.assignments.items()
        if isinstance(guarded, SpecialForm) and isinstance(guarded.arguments[1], Variable)
    }
    below, rest = _covered(terms, {v for v in columns if isinstance(v, Variable)})
    rest += [term for term in below if may_fail(term)]
    below = [in_terms_of(term, columns) for term in below if not may_fail(term)]
    return _filtered(replace(node, source=_push(node.source, below, ids)), rest, ids)


def unguarded(root: PlanNode, guards: Collection[str]) -> PlanNode:
    """The plan, without guards where it has nothing that may fail for a row that a filter hides."""
    if not guards or any(may_fail(e) for node in walk(root) if node.id not in guards for e in expressions(node)):
        return root

    def plain(node: PlanNode) -> PlanNode:
        if not isinstance(node, ProjectNode) or node.id not in guards:
            return node
        columns = {
            key: guarded.arguments[1] if isinstance(guarded, SpecialForm) else guarded
            for key, guarded in node.assignments.assignments.items()
        }
        return replace(node, assignments=replace(node.assignments, assignments=columns))

    return rewrite_bottom_up(root, plain)


def _passed(
    node: SemiJoinNode | ProjectNode | AggregationNode | WindowNode | UnnestNode | AssignUniqueId,
) -> set[Variable]:
    """The outputs that are columns of the source, and decide alone whether all rows of their value are there."""
    match node:
        case SemiJoinNode() | AssignUniqueId():
            return set(output_variables(node.source))
        case ProjectNode():
            assigned = node.assignments.assignments
            return {e for k, e in assigned.items() if isinstance(e, Variable) and e.key == k}
        case AggregationNode():
            # Without rows the empty grouping set still has one.
            sets = node.groupingSets
            return set() if sets.groupingSetCount != 1 or sets.globalGroupingSets else set(sets.groupingKeys)
        case WindowNode():
            return set(node.specification.partitionBy)
        case UnnestNode():
            return set(node.replicateVariables)
        case _:
            assert_never(node)


def _union(node: ExchangeNode, terms: list[RowExpression], ids: NodeIds) -> PlanNode:
    """The union of the filtered branches."""
    layout = node.partitioningScheme.outputLayout
    below, rest = _covered(terms, set(layout))
    branches = []
    for source, inputs in zip(node.sources, node.inputs, strict=True):
        own: dict[RowExpression, RowExpression] = dict(zip(layout, inputs, strict=True))
        branches.append(_push(source, [in_terms_of(term, own) for term in below], ids))
    return _filtered(replace(node, sources=tuple(branches)), rest, ids)


def _inner(node: JoinNode, terms: list[RowExpression], ids: NodeIds) -> PlanNode:
    if node.filter is not None:
        terms = [*(part for term in conjuncts(node.filter) for part in factored(term)), *terms]
    left, right = set(output_variables(node.left)), set(output_variables(node.right))
    to_left, rest = _covered(terms, left)
    to_right, rest = _covered(rest, right)
    criteria = list(node.criteria)
    kept = []
    for term in rest:
        pair = _pair(term, left, right)
        if pair is None:
            kept.append(term)
        elif pair not in criteria:
            criteria.append(pair)
    joined = replace(
        node,
        left=_push(node.left, to_left, ids),
        right=_push(node.right, to_right, ids),
        criteria=tuple(criteria),
        filter=None,
    )
    # Presto keeps what is no equality in a filter above an inner join.
    return _filtered(joined, kept, ids)


def _pair(term: RowExpression, left: set[Variable], right: set[Variable]) -> EquiJoinClause | None:
    if not isinstance(term, Call) or term.displayName != "EQUAL":
        return None
    a, b = term.arguments
    if not isinstance(a, Variable) or not isinstance(b, Variable):
        return None
    if a in left and b in right:
        return EquiJoinClause(left=a, right=b)
    return EquiJoinClause(left=b, right=a) if b in left and a in right else None


def _covered(terms: list[RowExpression], variables: set[Variable]) -> tuple[list[RowExpression], list[RowExpression]]:
    """The terms that read nothing but ``variables``, and the rest."""
    inside: list[RowExpression] = []
    outside: list[RowExpression] = []
    for term in terms:
        used = free_variables(term)
        (inside if used and used <= variables else outside).append(term)
    return inside, outside


def _filtered(node: PlanNode, terms: list[RowExpression], ids: NodeIds) -> PlanNode:
    return FilterNode(id=ids.node(), source=node, predicate=conjunction(terms)) if terms else node
