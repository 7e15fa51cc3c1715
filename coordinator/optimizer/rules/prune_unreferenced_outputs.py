"""Takes out columns that nothing above needs, down to the scans (Presto's PruneUnreferencedOutputs)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from coordinator.optimizer.rule import RuleContext
from shared.plan import nodes
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import OrderingScheme, PlanNode
from shared.plan.traversal import free_variables, output_variables, sources, walk, with_sources

Names = frozenset[str]


def apply(plan: PlanNode, _context: RuleContext) -> PlanNode:
    """The plan with the same output and no column that is not read."""
    return _prune(plan, _names(output_variables(plan)))


def pruned(query: nodes.OutputNode) -> nodes.OutputNode:
    """The same of a query that is made of another statement's plan."""
    return replace(query, source=_prune(query.source, _names(query.outputVariables)))


def _prune(node: PlanNode, needed: Names) -> PlanNode:  # noqa: C901  (one case a kind of node)
    """``node`` with at least the ``needed`` of its outputs."""
    match node:
        case nodes.TableScanNode():
            kept = _kept(node.outputVariables, needed)
            assignments = {v.key: node.assignments[v.key] for v in kept}
            return (
                node if kept == node.outputVariables else replace(node, outputVariables=kept, assignments=assignments)
            )
        case nodes.ValuesNode():
            return _prune_values(node, needed)
        case nodes.FilterNode():
            return _over(node, needed | _read([node.predicate]))
        case nodes.ProjectNode():
            assigned = node.assignments.assignments
            wanted = {key: e for key, e in assigned.items() if _name(key) in needed}
            below = _prune(node.source, _read(wanted.values()))
            if len(wanted) == len(assigned):
                return with_sources(node, [below])
            return replace(node, source=below, assignments=nodes.Assignments(assignments=wanted))
        case nodes.AggregationNode():
            return _prune_aggregation(node, needed)
        case nodes.JoinNode():
            return _prune_join(node, needed)
        case nodes.SemiJoinNode():
            read = (node.sourceJoinVariable, node.filteringSourceJoinVariable)
            source = _prune(node.source, needed - {node.semiJoinOutput.name} | {read[0].name})
            return with_sources(node, [source, _prune(node.filteringSource, frozenset({read[1].name}))])
        case nodes.WindowNode():
            return _prune_window(node, needed)
        case nodes.RowNumberNode() | nodes.TopNRowNumberNode():
            return _prune_row_number(node, needed)
        case nodes.TopNNode() | nodes.SortNode():
            return _over(node, needed | _ordered(node.orderingScheme))
        case nodes.LimitNode() | nodes.OffsetNode() | nodes.EnforceSingleRowNode() | nodes.SampleNode():
            return _over(node, needed)
        case nodes.AssignUniqueId():
            return _over(node, needed - {node.idVariable.name})
        case nodes.MarkDistinctNode():
            compared = _names(node.distinctVariables) | _optional(node.hashVariable)
            return _over(node, needed - {node.markerVariable.name} | compared)
        case nodes.UnnestNode():
            return _prune_unnest(node, needed)
        case nodes.OutputNode():
            return _over(node, _names(node.outputVariables))
        case nodes.ExchangeNode():
            return _prune_union(node, needed)
        case _:
            # Every output of what is below may be read: procedures, writers, and nodes that name columns twice.
            return with_sources(node, [_prune(s, _names(output_variables(s))) for s in sources(node)])


def _over(node: PlanNode, needed: Names) -> PlanNode:
    return with_sources(node, [_prune(sources(node)[0], needed)])


def _prune_values(node: nodes.ValuesNode, needed: Names) -> PlanNode:
    # One column at least: an engine's VALUES has no form for rows without any.
    kept = [i for i, variable in enumerate(node.outputVariables) if variable.name in needed] or [0]
    if len(kept) >= len(node.outputVariables):
        return node
    rows = tuple(tuple(row[i] for i in kept) for row in node.rows)
    return replace(node, outputVariables=tuple(node.outputVariables[i] for i in kept), rows=rows)


def _prune_aggregation(node: nodes.AggregationNode, needed: Names) -> PlanNode:
    kept = {key: a for key, a in node.aggregations.items() if _name(key) in needed}
    keys = _deciding(node, needed)
    read = set(_names(keys) | _read(a.call for a in kept.values()))
    for aggregation in kept.values():
        read |= _read([] if aggregation.filter is None else [aggregation.filter])
        read |= _ordered(aggregation.orderBy)
        read |= _optional(aggregation.mask)
    read |= _optional(node.groupIdVariable) | _optional(node.hashVariable)
    below = _prune(node.source, frozenset(read))
    if len(kept) == len(node.aggregations) and keys == node.groupingSets.groupingKeys:
        return with_sources(node, [below])
    return replace(node, source=below, aggregations=kept, groupingSets=replace(node.groupingSets, groupingKeys=keys))


def _deciding(node: nodes.AggregationNode, needed: Names) -> tuple[Variable, ...]:
    """The keys of an aggregation. Of those beside the number of a row that decides them, only the needed ones."""
    keys = node.groupingSets.groupingKeys
    if node.groupingSets.groupingSetCount != 1:
        return keys
    for below in walk(node.source):
        if isinstance(below, nodes.AssignUniqueId) and below.idVariable.name in _names(keys):
            decided = _names(output_variables(below.source)) - needed
            return tuple(key for key in keys if key.name not in decided)
    return keys


def _prune_unnest(node: nodes.UnnestNode, needed: Names) -> PlanNode:
    kept = _kept(node.replicateVariables, needed)
    unnested = frozenset(_name(key) for key in node.unnestVariables)
    pruned = node if kept == node.replicateVariables else replace(node, replicateVariables=kept)
    return _over(pruned, _names(kept) | unnested)


def _prune_join(node: nodes.JoinNode, needed: Names) -> PlanNode:
    read = set(needed) | _read([] if node.filter is None else [node.filter])
    for clause in node.criteria:
        read |= {clause.left.name, clause.right.name}
    below = [_prune(source, frozenset(read)) for source in (node.left, node.right)]
    kept = _kept(node.outputVariables, needed)
    joined = node if kept == node.outputVariables else replace(node, outputVariables=kept)
    return with_sources(joined, below)


def _prune_window(node: nodes.WindowNode, needed: Names) -> PlanNode:
    kept = {key: f for key, f in node.windowFunctions.items() if _name(key) in needed}
    own = {_name(key) for key in node.windowFunctions}
    if not kept:
        return _prune(node.source, needed - own)
    read = set(needed - own) | _names(node.specification.partitionBy) | _ordered(node.specification.orderingScheme)
    for function in kept.values():
        frame = function.frame
        read |= _read([function.functionCall])
        read |= _optional(frame.startValue) | _optional(frame.endValue)
        read |= _optional(frame.sortKeyCoercedForFrameStartComparison)
        read |= _optional(frame.sortKeyCoercedForFrameEndComparison)
    below = _prune(node.source, frozenset(read) | _optional(node.hashVariable))
    if len(kept) == len(node.windowFunctions):
        return with_sources(node, [below])
    return replace(node, source=below, windowFunctions=kept)


def _prune_row_number(node: nodes.RowNumberNode | nodes.TopNRowNumberNode, needed: Names) -> PlanNode:
    number = node.rowNumberVariable.name
    if number not in needed and node.maxRowCountPerPartition is None:
        return _prune(node.source, needed)
    if isinstance(node, nodes.RowNumberNode):
        read = _names(node.partitionBy)
    else:
        read = _names(node.specification.partitionBy) | _ordered(node.specification.orderingScheme)
    return _over(node, needed - {number} | read | _optional(node.hashVariable))


@dataclass(frozen=True, slots=True)
class _Columns:
    """Positions that stay of a union's columns."""

    positions: tuple[int, ...]

    def of(self, variables: tuple[Variable, ...]) -> tuple[Variable, ...]:
        return tuple(variables[i] for i in self.positions)


def _prune_union(node: nodes.ExchangeNode, needed: Names) -> PlanNode:
    layout = node.partitioningScheme.outputLayout
    columns = _Columns(tuple(i for i, variable in enumerate(layout) if variable.name in needed))
    inputs = tuple(columns.of(variables) for variables in node.inputs)
    below = [_prune(s, _names(i)) for s, i in zip(node.sources, inputs, strict=True)]
    if len(columns.positions) == len(layout):
        return with_sources(node, below)
    scheme = replace(node.partitioningScheme, outputLayout=columns.of(layout))
    return replace(node, sources=tuple(below), inputs=inputs, partitioningScheme=scheme)


def _kept(variables: tuple[Variable, ...], needed: Names) -> tuple[Variable, ...]:
    return tuple(variable for variable in variables if variable.name in needed)


def _names(variables: Iterable[Variable]) -> Names:
    return frozenset(variable.name for variable in variables)


def _name(key: str) -> str:
    """Of the variable of a key, without making it."""
    return key.partition("<")[0]


def _read(expressions: Iterable[RowExpression]) -> Names:
    return frozenset(v.name for expression in expressions for v in free_variables(expression))


def _ordered(scheme: OrderingScheme | None) -> Names:
    return frozenset() if scheme is None else _names(order.variable for order in scheme.orderBy)


def _optional(variable: Variable | None) -> Names:
    return frozenset() if variable is None else frozenset({variable.name})
