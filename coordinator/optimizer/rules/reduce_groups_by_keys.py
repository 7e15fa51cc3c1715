"""Groups that a join with few keys will drop are not computed: a semi join leaves their rows out before.

``part JOIN (SELECT l_partkey, avg(l_quantity) FROM lineitem GROUP BY l_partkey)`` over a few parts needs the line items
of these parts alone, and a correlated aggregate is planned as such a join. Where the keys come from a filtered scan,
that scan is read once more as the filtering side. (Semi-join reduction: Bernstein and Chiu, 1981; engines with dynamic
filters do it while they run.) Only for tables whose rows are known, which have a snapshot: two reads of a database may
see different keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from coordinator.analyzer.determinism import deterministic
from coordinator.optimizer.cardinality import cardinality
from coordinator.optimizer.rule import RuleContext
from coordinator.planner.query.builder import replace as in_terms_of
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import (
    AggregationNode,
    AssignUniqueId,
    EquiJoinClause,
    FilterNode,
    JoinNode,
    LimitNode,
    PlanNode,
    ProjectNode,
    SemiJoinNode,
    SortNode,
    TableScanNode,
    TopNNode,
)
from shared.plan.traversal import free_variables, output_variables, rewrite_bottom_up, walk

_LEAST_ROWS = 50_000
"""Of the largest table in what is grouped: less is grouped in no time."""
_FEW = 0.25
"""The share of its rows that a filter may leave at most: that of LIKE, which nobody can estimate better."""


def apply(plan: PlanNode, context: RuleContext) -> PlanNode:
    """The plan with its groups reduced. One that is computed twice stays as it is: engines do that once."""
    repeated = Counter(_tables(node) for node in walk(plan) if isinstance(node, AggregationNode))

    def reduced(node: PlanNode) -> PlanNode:
        if not isinstance(node, JoinNode):
            return node
        if node.type in ("INNER", "LEFT"):
            node = replace(node, right=_reduced_side(node.right, node.left, _pairs(node, right=True)))
        if node.type in ("INNER", "RIGHT"):
            node = replace(node, left=_reduced_side(node.left, node.right, _pairs(node, right=False)))
        return node

    def _reduced_side(side: PlanNode, other: PlanNode, pairs: list[tuple[Variable, Variable]]) -> PlanNode:
        for key, joined in pairs:
            found = _groups(side, key)
            if found is None or repeated[_tables(found)] > 1:
                continue
            most = max((context.table_rows.get(s.id, 0) for s in _scans(found)), default=0)
            keys = _few_keys(other, joined, most, context) if most >= _LEAST_ROWS else None
            if keys is not None:
                return _with_reduced_groups(side, key, keys, context)
        return side

    return rewrite_bottom_up(plan, reduced)


def _pairs(node: JoinNode, *, right: bool) -> list[tuple[Variable, Variable]]:
    """Each key of one side, and of the other side."""
    return [(c.right, c.left) if right else (c.left, c.right) for c in node.criteria if c.left.type == c.right.type]


def _tables(node: PlanNode) -> tuple[str, ...]:
    return tuple(sorted(str(scan.table.connectorHandle) for scan in _scans(node)))


def _scans(node: PlanNode) -> list[TableScanNode]:
    return [scan for scan in walk(node) if isinstance(scan, TableScanNode)]


def _groups(node: PlanNode, key: Variable) -> AggregationNode | None:
    """What computes the groups that ``key`` is a key of."""
    match node:
        case ProjectNode():
            below = node.assignments.assignments.get(key.key)
            return _groups(node.source, below) if isinstance(below, Variable) else None
        case FilterNode():
            return _groups(node.source, key)
        case AggregationNode(groupingSets=sets) if sets.groupingSetCount == 1 and not sets.globalGroupingSets:
            return node if key in sets.groupingKeys else None
        case _:
            return None


def _few_keys(node: PlanNode, key: Variable, most: float, context: RuleContext) -> tuple[FilterNode, Variable] | None:
    """The filtered scan with the fewest rows that has every value of ``key`` in ``node``, and its column."""
    best: tuple[float, FilterNode, Variable] | None = None
    for leaf, column in _origins(node, key):
        rows = cardinality(leaf, context.table_rows, context.distinct_values)
        if rows is None or rows.base > most or rows.rows > _FEW * rows.base or not deterministic(leaf.predicate):
            continue
        if best is None or rows.rows < best[0]:
            best = (rows.rows, leaf, column)
    return None if best is None else best[1:]


def _origins(node: PlanNode, key: Variable) -> Iterator[tuple[FilterNode, Variable]]:
    """Filtered scans whose column has each value that ``key`` has in ``node``, but NULL."""
    match node:
        case FilterNode(source=TableScanNode()):
            yield node, key
        case FilterNode(source=SemiJoinNode(sourceJoinVariable=source) as semi, predicate=kept):
            yield from _origins(semi.source, key)
            if source == key and kept == semi.semiJoinOutput:
                yield from _origins(semi.filteringSource, semi.filteringSourceJoinVariable)
        case FilterNode() | SemiJoinNode() | SortNode() | LimitNode() | TopNNode() | AssignUniqueId():
            yield from _origins(node.source, key)
        case AggregationNode() if key in node.groupingSets.groupingKeys:
            yield from _origins(node.source, key)
        case ProjectNode():
            below = node.assignments.assignments.get(key.key)
            if isinstance(below, Variable):
                yield from _origins(node.source, below)
        case JoinNode():
            yield from _joined_origins(node, key)
        case _:
            return


def _joined_origins(node: JoinNode, key: Variable) -> Iterator[tuple[FilterNode, Variable]]:
    left, right = (key in output_variables(side) for side in (node.left, node.right))
    if node.type == "FULL" or (node.type == "LEFT" and right) or (node.type == "RIGHT" and left):
        return
    yield from _origins(node.left if left else node.right, key)
    for clause in node.criteria if node.type == "INNER" else ():
        other, side = _partner(clause, key, node)
        if other is not None and other.type == key.type:
            yield from _origins(side, other)


def _partner(clause: EquiJoinClause, key: Variable, node: JoinNode) -> tuple[Variable | None, PlanNode]:
    """What equals the key on the other side."""
    if clause.left == key:
        return clause.right, node.right
    return (clause.left, node.left) if clause.right == key else (None, node)


def _with_reduced_groups(
    node: PlanNode, key: Variable, keys: tuple[FilterNode, Variable], context: RuleContext
) -> PlanNode:
    match node:
        case ProjectNode():
            below = node.assignments.assignments[key.key]
            assert isinstance(below, Variable)
            return replace(node, source=_with_reduced_groups(node.source, below, keys, context))
        case FilterNode():
            return replace(node, source=_with_reduced_groups(node.source, key, keys, context))
        case _:
            assert isinstance(node, AggregationNode)
            return replace(node, source=_semi_joined(node.source, key, keys, context))


def _semi_joined(node: PlanNode, key: Variable, keys: tuple[FilterNode, Variable], context: RuleContext) -> PlanNode:
    """``node`` without rows of other keys, which leave as low as they can."""
    match node:
        case ProjectNode() if isinstance(below := node.assignments.assignments.get(key.key), Variable):
            return replace(node, source=_semi_joined(node.source, below, keys, context))
        case FilterNode(source=JoinNode() | ProjectNode() | SemiJoinNode()) | SemiJoinNode():
            return replace(node, source=_semi_joined(node.source, key, keys, context))
        case JoinNode(type="INNER" | "LEFT") if key in output_variables(node.left):
            return replace(node, left=_semi_joined(node.left, key, keys, context))
        case JoinNode(type="INNER" | "RIGHT") if key in output_variables(node.right):
            return replace(node, right=_semi_joined(node.right, key, keys, context))
        case _:
            ids = context.ids
            filtering, column = _copied(*keys, context)
            kept = Variable(name=f"kept_{ids.next()}", type="boolean")
            semi = SemiJoinNode(
                id=ids.next(),
                source=node,
                filteringSource=filtering,
                sourceJoinVariable=key,
                filteringSourceJoinVariable=column,
                semiJoinOutput=kept,
                dynamicFilters={},
            )
            return FilterNode(id=ids.next(), source=semi, predicate=kept)


def _copied(leaf: FilterNode, key: Variable, context: RuleContext) -> tuple[FilterNode, Variable]:
    """The filtered scan once more, with variables of its own and without columns that nobody needs here."""
    scan, number = leaf.source, context.ids.next()
    assert isinstance(scan, TableScanNode)
    wanted = {v.name for v in (key, *free_variables(leaf.predicate))}
    mine: dict[RowExpression, RowExpression] = {}
    columns = {}
    for variable in scan.outputVariables:
        if variable.name in wanted:
            copy = Variable(name=f"{variable.name}_{number}", type=variable.type)
            mine[variable], columns[copy.key] = copy, scan.assignments[variable.key]
    outputs = tuple(copy for copy in mine.values() if isinstance(copy, Variable))
    copied = replace(scan, id=context.ids.next(), outputVariables=outputs, assignments=columns)
    column = mine[key]
    assert isinstance(column, Variable)
    return FilterNode(id=context.ids.next(), source=copied, predicate=in_terms_of(leaf.predicate, mine)), column
