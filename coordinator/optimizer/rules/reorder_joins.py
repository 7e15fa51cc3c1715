"""Orders inner joins by the row counts of their tables: the largest is streamed, what thins it most is joined first.

Presto's ReorderJoins and EliminateCrossJoins (``join_reordering_strategy``). A greedy left-deep order: for the shapes
of star and snowflake schemas it finds what an exhaustive search finds, in time that does not grow with the factorial.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.optimizer.cardinality import Cardinality, cardinality
from coordinator.optimizer.join_tree import (
    JoinTree,
    equal_variables,
    flatten,
    rebuild,
    with_bare_equalities,
    with_leaves,
)
from coordinator.optimizer.rule import RuleContext
from coordinator.planner.session_properties import session_value
from shared.plan.expressions import RowExpression
from shared.plan.nodes import JoinNode, PlanNode
from shared.plan.traversal import output_variables, sources, with_sources


def apply(plan: PlanNode, context: RuleContext) -> PlanNode:
    """The plan with every tree of inner joins in its best order, by ``join_reordering_strategy``."""
    strategy = session_value(context.session, "join_reordering_strategy").upper()
    return plan if strategy == "NONE" else _apply(plan, context, automatic=strategy == "AUTOMATIC")


def _apply(plan: PlanNode, context: RuleContext, *, automatic: bool) -> PlanNode:
    if isinstance(plan, JoinNode) and plan.type == "INNER":
        written = flatten(plan, lambda leaf: _apply(leaf, context, automatic=automatic))
        tree = with_bare_equalities(written, context.ids)
        ordered = _ordered(tree, context, automatic=automatic)
        if tree is written and (ordered is None or ordered == tree.leaves):
            return with_leaves(plan, tree.leaves)
        return rebuild(JoinTree(ordered or tree.leaves, tree.terms), plan.outputVariables, context.ids)
    below = [_apply(source, context, automatic=automatic) for source in sources(plan)]
    changed = any(new is not old for new, old in zip(below, sources(plan), strict=True))
    return with_sources(plan, below) if changed else plan


def _ordered(tree: JoinTree, context: RuleContext, *, automatic: bool) -> list[PlanNode] | None:
    """The leaves in the order in which to join them, None to leave them as they are."""
    links = _links(tree)
    counts = [cardinality(leaf, context.table_rows) for leaf in tree.leaves]
    known = [count for count in counts if count is not None]
    if automatic and len(known) == len(counts):
        return [tree.leaves[i] for i in _greedy(known, links)]
    return _without_cross_joins(tree.leaves, links)


def _links(tree: JoinTree) -> set[tuple[int, int]]:
    """Pairs of leaves that an equality connects, both ways round."""
    owner = {v.name: i for i, leaf in enumerate(tree.leaves) for v in output_variables(leaf)}
    found: set[tuple[int, int]] = set()
    for term in tree.terms:
        for a, b in _connected(term, owner):
            found |= {(a, b), (b, a)}
    return found


def _connected(term: RowExpression, owner: dict[str, int]) -> list[tuple[int, int]]:
    pair = equal_variables(term)
    if pair is None or pair[0].name not in owner or pair[1].name not in owner:
        return []
    a, b = owner[pair[0].name], owner[pair[1].name]
    return [] if a == b else [(a, b)]


def _greedy(counts: Sequence[Cardinality], links: set[tuple[int, int]]) -> list[int]:
    first = max(range(len(counts)), key=lambda i: counts[i].rows)
    order, waiting = [first], [i for i in range(len(counts)) if i != first]
    rows = counts[first].rows
    while waiting:
        connected = [i for i in waiting if any((i, j) in links for j in order)] or waiting
        grown = {i: _grown(rows, i, order, counts, links) for i in connected}
        best = min(connected, key=lambda i: (grown[i], counts[i].rows, i))
        rows = grown[best]
        order.append(best)
        waiting.remove(best)
    return order


def _grown(
    rows: float, leaf: int, order: Sequence[int], counts: Sequence[Cardinality], links: set[tuple[int, int]]
) -> float:
    """Rows after joining ``leaf``: the smaller side of a connection holds the key."""
    partners = [counts[j].base for j in order if (leaf, j) in links]
    result = rows * counts[leaf].rows
    return result / max(1.0, min(counts[leaf].base, *partners)) if partners else result


def _without_cross_joins(leaves: Sequence[PlanNode], links: set[tuple[int, int]]) -> list[PlanNode]:
    """The order of the query, but what is connected with what came before goes first."""
    order, waiting = [0], list(range(1, len(leaves)))
    while waiting:
        following = next((i for i in waiting if any((i, j) in links for j in order)), waiting[0])
        order.append(following)
        waiting.remove(following)
    return [leaves[i] for i in order]
