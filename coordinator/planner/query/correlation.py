"""Takes what a subquery says of outer columns out of its plan, as Presto's PlanNodeDecorrelator does.

``pull`` gives a plan without outer columns and the conditions that must hold between an outer row and its rows. An
aggregation or a limit above such a condition is exact where the condition fixes the inner columns that it reads
(``inner = outer``): they become grouping or partition keys. Everything else raises ``NotDecorrelatedError``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace as changed

from coordinator.expressions.builders import conjunction, conjuncts, constant
from coordinator.expressions.types import BOOLEAN
from coordinator.planner.query.builder import Ids, free_variables, replace
from coordinator.planner.query.joins import extend, join, project
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, Variable, type_of
from shared.plan.nodes import (
    AggregationNode,
    EnforceSingleRowNode,
    FilterNode,
    JoinNode,
    LimitNode,
    Node,
    PlanNode,
    ProjectNode,
    RowNumberNode,
    SemiJoinNode,
    SortNode,
    TableScanNode,
    TopNNode,
    TopNRowNumberNode,
    UnnestNode,
    ValuesNode,
    WindowSpecification,
)
from shared.plan.traversal import output_variables, sources, variable_of_key

Outer = set[Variable]


class NotDecorrelatedError(Exception):
    """The plan cannot be written without its outer columns."""


@dataclass(slots=True)
class Pulled:
    """A plan without outer columns; ``deferred`` are columns to compute once the outer row is there.

    ``single``: at most one row belongs to an outer row.
    """

    node: PlanNode
    conditions: list[RowExpression] = field(default_factory=list)
    deferred: dict[RowExpression, RowExpression] = field(default_factory=dict)
    single: bool = False

    def needed(self, outer: Outer) -> list[Variable]:
        """The plan's own columns that conditions and deferred columns read."""
        read = [*self.conditions, *self.deferred.values()]
        return sorted({v for e in read for v in free_variables(e)} - outer, key=lambda v: v.name)


def correlated(plan: PlanNode, outer: Outer) -> bool:
    """Whether the plan reads any of the ``outer`` columns."""
    return bool((reads(plan) - produced(plan)) & outer)


def reads(plan: PlanNode) -> Outer:
    """Every variable that stands anywhere in a plan's nodes."""
    found: Outer = set()
    stack: list[PlanNode] = [plan]
    while stack:
        node = stack.pop()
        if isinstance(node, TableScanNode):  # its handles hold no variables
            found.update(node.outputVariables)
            continue
        below = sources(node)
        if isinstance(node, UnnestNode):
            found |= {variable_of_key(k) for k in node.unnestVariables}
        for name in node.__struct_fields__:
            value = getattr(node, name)
            if name not in ("source", "sources", "left", "right", "filteringSource"):
                _collect(value, found)
        stack.extend(below)
    return found


def _collect(value: object, found: Outer) -> None:
    match value:
        case Variable() | Constant() | Call() | SpecialForm() | Lambda():
            found |= free_variables(value)
        case tuple():
            for item in value:
                _collect(item, found)
        case dict():
            for item in value.values():
                _collect(item, found)
        case msgspec.Struct() if not isinstance(value, Node):
            for name in value.__struct_fields__:
                _collect(getattr(value, name), found)
        case _:
            pass


def produced(plan: PlanNode) -> Outer:
    """Every variable that a plan's nodes put out."""
    found: Outer = set()
    stack: list[PlanNode] = [plan]
    while stack:
        node = stack.pop()
        found |= set(output_variables(node))
        stack.extend(sources(node))
    return found


def pull(ids: Ids, node: PlanNode, outer: Outer) -> Pulled:
    """The decorrelated form of a subquery's plan; raises NotDecorrelatedError."""
    if not correlated(node, outer):
        return Pulled(node, single=_at_most_one(node))
    match node:
        case FilterNode():
            return _filter(node, pull(ids, node.source, outer), outer)
        case ProjectNode():
            return _project(ids, node, pull(ids, node.source, outer), outer)
        case SortNode():
            return pull(ids, node.source, outer)
        case JoinNode():
            return _join(ids, node, outer)
        case SemiJoinNode():
            return _semi_join(node, pull(ids, node.source, outer), outer)
        case AggregationNode():
            return _aggregation(ids, node, pull(ids, node.source, outer), outer)
        case LimitNode() | TopNNode():
            return _limit(ids, node, pull(ids, node.source, outer), outer)
        case EnforceSingleRowNode():
            below = pull(ids, node.source, outer)
            if below.single:
                return below
    raise NotDecorrelatedError(type(node).__name__)


def _at_most_one(node: PlanNode) -> bool:
    match node:
        case FilterNode() | ProjectNode() | SortNode():
            return _at_most_one(node.source)
        case ValuesNode():
            return len(node.rows) <= 1
        case AggregationNode():
            sets = node.groupingSets
            return not sets.groupingKeys and sets.groupingSetCount == 1
        case LimitNode() | TopNNode():
            return node.count <= 1 or _at_most_one(node.source)
        case EnforceSingleRowNode():
            return True
        case _:
            return False


def _parted(terms: Iterable[RowExpression], outer: Outer) -> tuple[list[RowExpression], list[RowExpression]]:
    kept: list[RowExpression] = []
    pulled: list[RowExpression] = []
    for term in terms:
        (pulled if free_variables(term) & outer else kept).append(term)
    return kept, pulled


def _filter(node: FilterNode, below: Pulled, outer: Outer) -> Pulled:
    kept, pulled = _parted((replace(t, below.deferred) for t in conjuncts(node.predicate)), outer)
    source = FilterNode(id=node.id, source=below.node, predicate=conjunction(kept)) if kept else below.node
    return Pulled(source, below.conditions + pulled, below.deferred, below.single)


def _project(ids: Ids, node: ProjectNode, below: Pulled, outer: Outer) -> Pulled:
    assigned: dict[str, RowExpression] = {}
    deferred: dict[RowExpression, RowExpression] = {}
    for key, expression in node.assignments.assignments.items():
        value = replace(expression, below.deferred)
        if free_variables(value) & outer:
            deferred[variable_of_key(key)] = value
        else:
            assigned[key] = value
    result = Pulled(below.node, below.conditions, deferred, below.single)
    for variable in result.needed(outer):
        # A column renamed here and wanted by its old name above stays below its own name.
        assigned.setdefault(variable.key, variable)
    result.node = project(ids, below.node, assigned)
    return result


def _join(ids: Ids, node: JoinNode, outer: Outer) -> Pulled:
    keys = {v for c in node.criteria for v in (c.left, c.right)}
    if keys & outer or node.type not in ("INNER", "LEFT"):
        raise NotDecorrelatedError(node.type)
    left, right = pull(ids, node.left, outer), pull(ids, node.right, outer)
    terms = conjuncts(node.filter) if node.filter is not None else []
    kept, pulled = _parted((replace(t, left.deferred | right.deferred) for t in terms), outer)
    if node.type == "LEFT" and (pulled or right.conditions or right.deferred):
        raise NotDecorrelatedError("LEFT")
    if keys & set(left.deferred | right.deferred):
        raise NotDecorrelatedError("a key of a join that needs the outer row")
    joined = join(ids, node.type, left.node, right.node, node.criteria, conjunction(kept) if kept else None)
    conditions = left.conditions + right.conditions + pulled
    return Pulled(joined, conditions, left.deferred | right.deferred, left.single and right.single)


def _semi_join(node: SemiJoinNode, below: Pulled, outer: Outer) -> Pulled:
    if correlated(node.filteringSource, outer) or node.sourceJoinVariable in below.deferred:
        raise NotDecorrelatedError("SemiJoinNode")
    return Pulled(changed(node, source=below.node), below.conditions, below.deferred, below.single)


def _constants(ids: Ids, below: Pulled, outer: Outer) -> list[Variable]:
    """The columns that the conditions read, when each is fixed by an equality with the outer row."""
    if below.deferred:
        raise NotDecorrelatedError("a column that needs the outer row")
    conditions: list[RowExpression] = []
    fixed: dict[Variable, None] = {}
    computed: dict[Variable, RowExpression] = {}
    for condition in below.conditions:
        pair = equal_sides(condition, outer)
        if pair is None:
            conditions.append(condition)
            continue
        inner = pair[0]
        if isinstance(inner, Variable):
            variable = inner
        else:
            variable = ids.variable("expr", type_of(inner))
            computed[variable] = inner
        fixed[variable] = None
        conditions.append(replace(condition, {inner: variable}))
    below.node, below.conditions = extend(ids, below.node, computed), conditions
    if not set(below.needed(outer)) <= set(fixed):
        raise NotDecorrelatedError("a condition that fixes no column")
    return list(fixed)


def equal_sides(condition: RowExpression, outer: Outer) -> tuple[RowExpression, RowExpression] | None:
    """``(inner, outer)`` of an equality between the two, or None."""
    if not isinstance(condition, Call) or condition.displayName != "EQUAL":
        return None
    a, b = condition.arguments
    used = free_variables(a), free_variables(b)
    if used[0] and used[1] and used[0] <= outer and not used[1] & outer:
        return b, a
    if used[0] and used[1] and used[1] <= outer and not used[0] & outer:
        return a, b
    return None


def _aggregation(ids: Ids, node: AggregationNode, below: Pulled, outer: Outer) -> Pulled:
    sets = node.groupingSets
    reads_outer: Outer = set()
    _collect((node.aggregations, sets), reads_outer)
    if sets.globalGroupingSets or sets.groupingSetCount != 1 or reads_outer & outer:
        raise NotDecorrelatedError("AggregationNode")
    # What is computed of the outer row alone is the same in all rows of it: it groups nothing.
    same = {v: e for v, e in below.deferred.items() if free_variables(e) <= outer}
    aggregated: Outer = set()
    _collect(node.aggregations, aggregated)
    if aggregated & same.keys():
        raise NotDecorrelatedError("an aggregate of the outer row")
    below.deferred = {v: e for v, e in below.deferred.items() if v not in same}
    fixed = _constants(ids, below, outer)
    own = [v for v in sets.groupingKeys if v not in same]
    keys = (*own, *(v for v in fixed if v not in own))
    if not keys:
        keys = (ids.variable("all", "boolean"),)
        below.node = extend(ids, below.node, {keys[0]: constant(True, BOOLEAN)})
    grouped = changed(node, source=below.node, groupingSets=changed(sets, groupingKeys=keys))
    given: dict[RowExpression, RowExpression] = {v: e for v, e in same.items() if v in sets.groupingKeys}
    return Pulled(grouped, below.conditions, given, set(own) <= set(fixed))


def _limit(ids: Ids, node: LimitNode | TopNNode, below: Pulled, outer: Outer) -> Pulled:
    if below.single and node.count:
        return below
    keys = tuple(_constants(ids, below, outer))
    if isinstance(node, TopNNode) and {o.variable for o in node.orderingScheme.orderBy} & outer:
        raise NotDecorrelatedError("an order by an outer column")
    number = ids.variable("row_number", "bigint")
    limited: PlanNode
    if not keys:
        limited = changed(node, source=below.node)
    elif isinstance(node, TopNNode):
        limited = TopNRowNumberNode(
            id=ids.node(),
            source=below.node,
            specification=WindowSpecification(partitionBy=keys, orderingScheme=node.orderingScheme),
            rowNumberVariable=number,
            maxRowCountPerPartition=node.count,
            partial=False,
        )
    else:
        limited = RowNumberNode(
            id=ids.node(),
            source=below.node,
            partitionBy=keys,
            rowNumberVariable=number,
            maxRowCountPerPartition=node.count,
            partial=False,
        )
    return Pulled(limited, below.conditions, {}, node.count == 1)
