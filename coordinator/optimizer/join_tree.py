"""Trees of inner joins taken apart and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from coordinator.analyzer.determinism import deterministic
from coordinator.expressions.builders import conjunction, conjuncts, operator
from coordinator.expressions.types import BOOLEAN
from coordinator.vocabulary.identifiers import PlanNodeIds
from shared.plan.expressions import Call, RowExpression, Variable, type_of
from shared.plan.nodes import Assignments, EquiJoinClause, FilterNode, JoinNode, PlanNode, ProjectNode
from shared.plan.traversal import free_variables, output_variables, sources, with_sources


class JoinTree(Struct):
    """What is joined, left to right, and under which conditions; all of them must hold."""

    leaves: list[PlanNode] = field(default_factory=list)
    terms: list[RowExpression] = field(default_factory=list)


def flatten(node: PlanNode, leaf: Callable[[PlanNode], PlanNode]) -> JoinTree:
    """The inner joins at ``node`` and right below; ``leaf`` rewrites what they join, each once."""
    tree = JoinTree()
    _collect(node, tree, leaf)
    return tree


def is_tree(node: PlanNode) -> bool:
    """Whether ``flatten`` takes ``node`` apart: a condition that is another each time stays where it is."""
    match node:
        case JoinNode(type="INNER"):
            return node.filter is None or deterministic(node.filter)
        case FilterNode(source=JoinNode() as join):
            return is_tree(join) and deterministic(node.predicate)
        case _:
            return False


def _collect(node: PlanNode, tree: JoinTree, leaf: Callable[[PlanNode], PlanNode]) -> None:
    match node:
        case JoinNode() if is_tree(node):
            _collect(node.left, tree, leaf)
            _collect(node.right, tree, leaf)
            tree.terms += [equality(clause.left, clause.right) for clause in node.criteria]
            tree.terms += [] if node.filter is None else conjuncts(node.filter)
        case FilterNode() if is_tree(node):
            _collect(node.source, tree, leaf)
            tree.terms += conjuncts(node.predicate)
        case _:
            tree.leaves.append(leaf(node))


def with_leaves(node: PlanNode, leaves: Sequence[PlanNode]) -> PlanNode:
    """The same joins over other leaves, as ``flatten`` found them."""
    return _replaced(node, iter(leaves))


def _replaced(node: PlanNode, leaves: Iterator[PlanNode]) -> PlanNode:
    if not is_tree(node):
        return next(leaves)
    old = sources(node)
    new = [_replaced(source, leaves) for source in old]
    return node if all(a is b for a, b in zip(new, old, strict=True)) else with_sources(node, new)


def with_bare_equalities(tree: JoinTree, ids: PlanNodeIds) -> JoinTree:
    """``tree`` whose equalities of expressions, one leaf a side, are equalities of columns that the leaves compute."""
    leaves, terms = list(tree.leaves), []
    computed: dict[tuple[int, RowExpression], Variable] = {}
    for term in tree.terms:
        sides = _sides(term, leaves)
        if sides is None or equal_variables(term) is not None:
            terms.append(term)
            continue
        names = []
        for place, side in sides:
            if isinstance(side, Variable):
                names.append(side)
                continue
            if (place, side) not in computed:
                computed[place, side] = Variable(name=f"expr_{ids.next()}", type=type_of(side))
            names.append(computed[place, side])
        terms.append(equality(*names))
    for place, leaf in enumerate(leaves):
        made = {variable.key: side for (at, side), variable in computed.items() if at == place}
        if made:
            kept: dict[str, RowExpression] = {variable.key: variable for variable in output_variables(leaf)}
            columns = Assignments(assignments=kept | made)
            leaves[place] = ProjectNode(id=ids.next(), source=leaf, assignments=columns, locality="LOCAL")
    return JoinTree(leaves, terms) if computed else tree


def equates(term: RowExpression, leaves: Sequence[PlanNode]) -> bool:
    """Whether a term is an equality of something of one leaf with something of another."""
    return _sides(term, leaves) is not None


def _sides(term: RowExpression, leaves: Sequence[PlanNode]) -> list[tuple[int, RowExpression]] | None:
    """The two sides of an equality, each with the number of the one leaf that it reads."""
    if not isinstance(term, Call) or term.displayName != "EQUAL" or not deterministic(term):
        return None
    owner = {v.name: i for i, leaf in enumerate(leaves) for v in output_variables(leaf)}
    found = []
    for side in term.arguments:
        places = {owner.get(v.name) for v in free_variables(side)}
        place = places.pop() if len(places) == 1 else None
        if place is None:
            return None
        found.append((place, side))
    return found if found[0][0] != found[1][0] else None


def rebuild(tree: JoinTree, outputs: Sequence[Variable], ids: PlanNodeIds) -> PlanNode:
    """A left-deep tree that joins what an equality connects first, each condition as low as it can be."""
    terms = list(tree.terms)
    leaves = [_filtered(leaf, _take(terms, output_variables(leaf)), ids) for leaf in tree.leaves]
    joined, waiting = leaves[0], leaves[1:]
    while waiting:
        following = next((leaf for leaf in waiting if _clauses(terms, joined, leaf)), waiting[0])
        waiting.remove(following)
        clauses = _clauses(terms, joined, following)
        for term in clauses:
            terms.remove(term)
        both = (*output_variables(joined), *output_variables(following))
        covered = _take(terms, both)
        read = {v.name for term in (*terms, *covered) for v in free_variables(term)} | {v.name for v in outputs}
        joined = JoinNode(
            id=ids.next(),
            type="INNER",
            left=joined,
            right=following,
            criteria=tuple(clause for clause in clauses.values()),
            outputVariables=tuple(v for v in both if v.name in read),
        )
        joined = _filtered(joined, covered, ids)
    return _filtered(joined, terms, ids)


def equality(left: Variable, right: Variable) -> RowExpression:
    """``left = right``."""
    return operator("=", (left, right), BOOLEAN)


def equal_variables(term: RowExpression) -> tuple[Variable, Variable] | None:
    """The two sides of an equality of bare columns."""
    if not isinstance(term, Call) or term.displayName != "EQUAL":
        return None
    left, right = term.arguments
    return (left, right) if isinstance(left, Variable) and isinstance(right, Variable) else None


def _clauses(terms: Sequence[RowExpression], left: PlanNode, right: PlanNode) -> dict[RowExpression, EquiJoinClause]:
    """The equalities between two sides, by their terms."""
    on_left = {v.name for v in output_variables(left)}
    on_right = {v.name for v in output_variables(right)}
    found: dict[RowExpression, EquiJoinClause] = {}
    for term in terms:
        pair = equal_variables(term)
        if pair is None or pair[0].type != pair[1].type:
            continue
        a, b = pair
        if a.name in on_left and b.name in on_right:
            found[term] = EquiJoinClause(left=a, right=b)
        elif b.name in on_left and a.name in on_right:
            found[term] = EquiJoinClause(left=b, right=a)
    return found


def _take(terms: list[RowExpression], available: Sequence[Variable]) -> list[RowExpression]:
    """The terms that read nothing else, taken out of ``terms``."""
    names = {v.name for v in available}
    covered = [t for t in terms if (used := free_variables(t)) and {v.name for v in used} <= names]
    for term in covered:
        terms.remove(term)
    return covered


def _filtered(node: PlanNode, terms: Sequence[RowExpression], ids: PlanNodeIds) -> PlanNode:
    if not terms:
        return node
    if isinstance(node, FilterNode):
        return replace(node, predicate=conjunction([*conjuncts(node.predicate), *terms]))
    return FilterNode(id=ids.next(), source=node, predicate=conjunction(list(terms)))
