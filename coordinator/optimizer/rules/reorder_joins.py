"""Orders inner joins by row counts and distinct values: the largest is streamed, what thins it most is joined first.

Presto's ReorderJoins and EliminateCrossJoins (``join_reordering_strategy``). A greedy left-deep order: for the shapes
of star and snowflake schemas it finds what an exhaustive search finds, in time that does not grow with the factorial.
Another of the largest comes first where that saves most of the rows: when the largest multiplies rows, what thins the
others should come before it. Distinct values that nobody counted are bounded by the range of a column's numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from coordinator.optimizer.cardinality import Cardinality, Distinct, cardinality, key_values
from coordinator.optimizer.join_tree import (
    JoinTree,
    equal_variables,
    flatten,
    is_tree,
    rebuild,
    with_bare_equalities,
    with_leaves,
)
from coordinator.optimizer.rule import RuleContext
from coordinator.optimizer.rules.late_materialization.intervals import intervals
from coordinator.vocabulary.session_properties import session_value
from shared.plan.expressions import Variable
from shared.plan.nodes import PlanNode
from shared.plan.traversal import output_variables, sources, with_sources

_LEAST_LEAVES = 3
"""Of two there is one order."""
_STARTS = 4
_WORTH = 0.5
"""Another start must cost less than this share: estimates are coarse, and the largest is streamed for good reasons."""


def apply(plan: PlanNode, context: RuleContext) -> PlanNode:
    """The plan with every tree of inner joins in its best order, by ``join_reordering_strategy``."""
    strategy = session_value(context.session, "join_reordering_strategy").upper()
    return plan if strategy == "NONE" else _apply(plan, context, automatic=strategy == "AUTOMATIC")


def _apply(plan: PlanNode, context: RuleContext, *, automatic: bool) -> PlanNode:
    if is_tree(plan):
        written = flatten(plan, lambda leaf: _apply(leaf, context, automatic=automatic))
        tree = with_bare_equalities(written, context.ids)
        ordered = _ordered(tree, context, automatic=automatic)
        if tree is written and (ordered is None or ordered == tree.leaves):
            return with_leaves(plan, tree.leaves)
        return rebuild(JoinTree(ordered or tree.leaves, tree.terms), output_variables(plan), context.ids)
    below = [_apply(source, context, automatic=automatic) for source in sources(plan)]
    changed = any(new is not old for new, old in zip(below, sources(plan), strict=True))
    return with_sources(plan, below) if changed else plan


def _ordered(tree: JoinTree, context: RuleContext, *, automatic: bool) -> list[PlanNode] | None:
    """The leaves in the order in which to join them, None to leave them as they are."""
    links = _links(tree)
    counts = [cardinality(leaf, context.table_rows, context.distinct_values) for leaf in tree.leaves]
    known = [count for count in counts if count is not None]
    if automatic and len(known) == len(counts):
        distinct = {**_bounded(tree.leaves, known, links, context), **context.distinct_values}
        return [tree.leaves[i] for i in _best(known, links, distinct)]
    return _without_cross_joins(tree.leaves, links)


Links = dict[tuple[int, int], list[tuple[Variable, Variable]]]
"""The columns by which two leaves are equated, both ways round."""


def _links(tree: JoinTree) -> Links:
    owner = {v.name: i for i, leaf in enumerate(tree.leaves) for v in output_variables(leaf)}
    found: Links = {}
    for term in tree.terms:
        pair = equal_variables(term)
        if pair is None or pair[0].name not in owner or pair[1].name not in owner:
            continue
        a, b = owner[pair[0].name], owner[pair[1].name]
        if a != b:
            found.setdefault((a, b), []).append(pair)
            found.setdefault((b, a), []).append(pair)
    return found


def _bounded(leaves: Sequence[PlanNode], counts: Sequence[Cardinality], links: Links, context: RuleContext) -> Distinct:
    """The most distinct values that columns can have by which three or more leaves are joined, where bounds tell it.

    Texts without a count are taken for what many rows share: a key that is none costs more than one that is not seen.
    """
    if len(leaves) < _LEAST_LEAVES:
        return {}
    joined = {v for pairs in links.values() for pair in pairs for v in pair}
    found: dict[str, float] = {}
    for number, leaf in enumerate(leaves):
        own = [v for v in output_variables(leaf) if v in joined and v.name not in context.distinct_values]
        known = intervals(leaf, context.column_bounds) if any(not _is_text(v) for v in own) else {}
        for variable in own:
            if _is_text(variable):
                found[variable.name] = math.sqrt(counts[number].base)
            elif variable.name in known and known[variable.name].whole:
                found[variable.name] = min(counts[number].base, known[variable.name].values)
    return found


def _is_text(variable: Variable) -> bool:
    return variable.type.startswith(("varchar", "char"))


def _best(counts: Sequence[Cardinality], links: Links, distinct: Distinct) -> list[int]:
    """The largest first, unless another start among the largest saves most of the rows."""
    largest = sorted(range(len(counts)), key=lambda i: (-counts[i].rows, i))[:_STARTS]
    order, cost = _greedy(largest[0], counts, links, distinct)
    for first in largest[1:]:
        other, less = _greedy(first, counts, links, distinct)
        if less < _WORTH * cost:
            order, cost = other, less
    return order


def _greedy(first: int, counts: Sequence[Cardinality], links: Links, distinct: Distinct) -> tuple[list[int], float]:
    """An order that begins with ``first``, and the rows that its joins give and hold."""
    order, waiting = [first], [i for i in range(len(counts)) if i != first]
    rows, cost = counts[first].rows, 0.0
    neighbours = _neighbours(links)
    beside = set(neighbours.get(first, ()))
    while waiting:
        connected = [i for i in waiting if i in beside] or waiting
        placed = {leaf: place for place, leaf in enumerate(order)}
        grown = {}
        for i in connected:
            partners = sorted(neighbours.get(i, set()) & placed.keys(), key=placed.__getitem__)
            grown[i] = _grown(rows, i, partners, counts, links, distinct)
        best = min(connected, key=lambda i: (grown[i], counts[i].rows, i))
        rows = grown[best]
        cost += rows + counts[best].rows
        order.append(best)
        beside |= neighbours.get(best, set())
        waiting.remove(best)
    return order, cost


def _neighbours(links: Links) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for one, other in links:
        found.setdefault(one, set()).add(other)
    return found


def _grown(
    rows: float,
    leaf: int,
    partners: Sequence[int],
    counts: Sequence[Cardinality],
    links: Links,
    distinct: Distinct,
) -> float:
    """Rows after joining ``leaf`` to those before it that it is equated with."""
    if not partners:
        return rows * counts[leaf].rows
    pairs = [pair for j in partners for pair in links[leaf, j]]
    smaller = min(counts[leaf].base, *(counts[j].base for j in partners))
    return rows * counts[leaf].rows / key_values(pairs, smaller, distinct)


def _without_cross_joins(leaves: Sequence[PlanNode], links: Links) -> list[PlanNode]:
    """The order of the query, but what is connected with what came before goes first."""
    order, waiting = [0], list(range(1, len(leaves)))
    neighbours = _neighbours(links)
    beside = set(neighbours.get(0, ()))
    while waiting:
        following = next((i for i in waiting if i in beside), waiting[0])
        order.append(following)
        beside |= neighbours.get(following, set())
        waiting.remove(following)
    return [leaves[i] for i in order]
