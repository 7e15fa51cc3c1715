"""Groups the tables of one catalog in a tree of inner joins into one scan each (Presto RFC-0009).

Presto's rule of the same name: flatten the joins, pull filters up, group sources by connector even where they are not
adjacent, keep what the connector can compute, rebuild a left-deep tree with the rest above it. Unlike Presto's, the
connector may refuse a group that does not pay, and the scan then carries the reason for EXPLAIN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import cast

from coordinator.analyzer.determinism import deterministic
from coordinator.expressions.builders import conjunction, conjuncts
from coordinator.optimizer.join_tree import JoinTree, equal_variables, equality, equates, flatten, rebuild, with_leaves
from coordinator.optimizer.rule import RuleContext
from coordinator.vocabulary.session_properties import session_flag
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import FilterNode, JoinNode, PlanNode, TableScanNode
from shared.plan.traversal import free_variables, output_variables
from shared.spi.pushdown import Pushdown

DISABLED = "optimizer_inner_join_pushdown_enabled is false"
NOT_CONNECTED = "no condition that the database computes connects it with another table of the catalog"


def group(root: JoinNode, context: RuleContext, leaf: Callable[[PlanNode], PlanNode]) -> PlanNode:
    """The joins of ``root`` with every group that a connector took over; ``leaf`` rewrites what is joined."""
    whole = flatten(root, lambda node: node)
    own = _own_conditions(whole, context)
    leaves = [leaf(_under(own.get(place, []), node, context)) for place, node in enumerate(whole.leaves)]
    # From here on they are applied by the connector, or in a filter right above its scan.
    applied = [term for terms in own.values() for term in terms]
    tree = JoinTree(leaves, [term for term in whole.terms if term not in applied])
    taken = False
    for catalog, count in _catalogs(tree.leaves).items():
        connector = context.pushdown_of(catalog)
        if connector is not None and count > 1:
            tree, grouped = _group_catalog(tree, catalog, connector, context)
            taken = taken or grouped
    if taken or applied:
        return rebuild(tree, root.outputVariables, context.ids)
    return with_leaves(root, tree.leaves)


def _own_conditions(tree: JoinTree, context: RuleContext) -> dict[int, list[RowExpression]]:
    """Conditions of one table of a connector alone, by its place: the connector filters before it joins."""
    found: dict[int, list[RowExpression]] = {}
    columns = [{v.name for v in output_variables(node)} for node in tree.leaves]
    for term in tree.terms:
        used = {v.name for v in free_variables(term)}
        place = next((place for place, names in enumerate(columns) if used and used <= names), None)
        scan = None if place is None else _scan(tree.leaves[place])
        if scan is not None and deterministic(term) and context.pushdown_of(scan.table.connectorId) is not None:
            found.setdefault(cast(int, place), []).append(term)
    return found


def _under(terms: Sequence[RowExpression], node: PlanNode, context: RuleContext) -> PlanNode:
    return FilterNode(id=context.ids.next(), source=node, predicate=conjunction(list(terms))) if terms else node


def _catalogs(leaves: Sequence[PlanNode]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for leaf in leaves:
        scan = _scan(leaf)
        if scan is not None:
            counts[scan.table.connectorId] = counts.get(scan.table.connectorId, 0) + 1
    return counts


def _scan(leaf: PlanNode) -> TableScanNode | None:
    """The scan of a leaf; filters above it can be pulled up."""
    while isinstance(leaf, FilterNode) and deterministic(leaf.predicate):
        leaf = leaf.source
    return leaf if isinstance(leaf, TableScanNode) else None


def _group_catalog(tree: JoinTree, catalog: str, connector: Pushdown, context: RuleContext) -> tuple[JoinTree, bool]:
    """The tree with the groups of one catalog joined, and whether there was any."""
    members = [(leaf, scan) for leaf in tree.leaves if (scan := _scan(leaf)) and scan.table.connectorId == catalog]
    scans = [scan for _, scan in members]
    if not session_flag(context.session, "optimizer_inner_join_pushdown_enabled"):
        return _explained(tree, scans, connector, DISABLED), False
    terms = _with_implied(tree.terms, scans)
    usable = [
        term for term in terms if _joins(term, scans, context) and connector.pushable(term, scans, context.session)
    ]
    grouped = False
    for component in _components(scans, usable):
        if len(component) == 1:
            tree = _explained(tree, component, connector, NOT_CONNECTED)
            continue
        names = {v.name for scan in component for v in scan.outputVariables}
        inside = [term for term in usable if {v.name for v in free_variables(term)} <= names]
        joined = connector.join(component, inside, context.session)
        if isinstance(joined, str):
            tree = _explained(tree, component, connector, joined)
            continue
        tree = _replaced(tree, component, joined.scan, inside, joined.remaining)
        grouped = True
    return tree, grouped


def _replaced(
    tree: JoinTree,
    component: Sequence[TableScanNode],
    scan: TableScanNode,
    inside: Sequence[RowExpression],
    remaining: Sequence[RowExpression],
) -> JoinTree:
    """The joined scan where the first of its tables stood; filters above its tables become terms of the tree."""
    leaves: list[PlanNode] = []
    terms = [term for term in tree.terms if term not in inside]
    placed = False
    for leaf in tree.leaves:
        if _scan(leaf) not in component:
            leaves.append(leaf)
            continue
        terms += _filters(leaf)
        if not placed:
            leaves.append(scan)
            placed = True
    return JoinTree(leaves, [*terms, *remaining])


def _filters(leaf: PlanNode) -> list[RowExpression]:
    found: list[RowExpression] = []
    while isinstance(leaf, FilterNode):
        found += conjuncts(leaf.predicate)
        leaf = leaf.source
    return found


def _explained(tree: JoinTree, scans: Sequence[TableScanNode], connector: Pushdown, reason: str) -> JoinTree:
    def annotated(leaf: PlanNode) -> PlanNode:
        scan = _scan(leaf)
        if scan is None or scan not in scans:
            return leaf
        return _over(leaf, connector.explained(scan, reason))

    return JoinTree([annotated(leaf) for leaf in tree.leaves], tree.terms)


def _over(leaf: PlanNode, scan: TableScanNode) -> PlanNode:
    if isinstance(leaf, FilterNode):
        source = _over(leaf.source, scan)
        return FilterNode(id=leaf.id, source=source, predicate=leaf.predicate, sourceLocation=leaf.sourceLocation)
    return scan


def _joins(term: RowExpression, scans: Sequence[TableScanNode], context: RuleContext) -> bool:
    """Whether a condition connects tables of the group: an equality of columns, or any by its own flag."""
    if not deterministic(term):
        return False
    used = {v.name for v in free_variables(term)}
    touched = [scan for scan in scans if used & {v.name for v in scan.outputVariables}]
    inside = used <= {v.name for scan in touched for v in scan.outputVariables}
    if len(touched) < 2 or not inside:
        return False
    return equates(term, scans) or session_flag(context.session, "optimizer_inequality_join_pushdown_enabled")


def _components(scans: Sequence[TableScanNode], terms: Sequence[RowExpression]) -> list[list[TableScanNode]]:
    """Scans that conditions connect, directly or through others; in the order of the query."""
    component = list(range(len(scans)))
    for term in terms:
        used = {v.name for v in free_variables(term)}
        touched = [i for i, scan in enumerate(scans) if used & {v.name for v in scan.outputVariables}]
        merged = {component[i] for i in touched}
        component = [min(merged) if c in merged else c for c in component]
    return [[s for s, c in zip(scans, component, strict=True) if c == number] for number in sorted(set(component))]


def _with_implied(terms: Sequence[RowExpression], scans: Sequence[TableScanNode]) -> list[RowExpression]:
    """The terms, and equalities within the group that follow from those with columns of other catalogs."""
    inside = {v.name for scan in scans for v in output_variables(scan)}
    classes: list[dict[str, Variable]] = []
    for term in terms:
        pair = equal_variables(term)
        if pair is None or pair[0].type != pair[1].type:
            continue
        names = {v.name for v in pair}
        touching = [c for c in classes if names & c.keys()]
        merged = {name: v for c in touching for name, v in c.items()} | {v.name: v for v in pair}
        classes = [c for c in classes if c not in touching] + [merged]
    found = list(terms)
    for members in classes:
        own = [v for name, v in members.items() if name in inside]
        found += [new for a, b in pairwise(own) if (new := equality(a, b)) not in found]
    return found
