"""Walking and rebuilding plan trees: the sources of a node, its output, and the same node over other sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from shared.plan import nodes
from shared.plan.expressions import Variable, type_of
from shared.plan.nodes import PlanNode

_SOURCE_FIELDS = ("source", "left", "right", "filteringSource", "probeSource", "indexSource")


def sources(node: PlanNode) -> tuple[PlanNode, ...]:
    """The nodes that ``node`` reads, in the order of its fields."""
    if isinstance(node, nodes.ExchangeNode):
        return node.sources
    return tuple(getattr(node, field) for field in _SOURCE_FIELDS if hasattr(node, field))


def with_sources(node: PlanNode, replacements: Sequence[PlanNode]) -> PlanNode:
    """``node`` reading ``replacements``; the same object when nothing changes."""
    old = sources(node)
    if len(old) == len(replacements) and all(a is b for a, b in zip(old, replacements, strict=True)):
        return node
    if isinstance(node, nodes.ExchangeNode):
        return msgspec.structs.replace(node, sources=tuple(replacements))
    fields = [field for field in _SOURCE_FIELDS if hasattr(node, field)]
    return msgspec.structs.replace(node, **dict(zip(fields, replacements, strict=True)))


def walk(node: PlanNode) -> Iterator[PlanNode]:
    """``node`` and everything below it, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(sources(current)))


def transform(node: PlanNode, rule: Callable[[PlanNode], PlanNode]) -> PlanNode:
    """The tree with ``rule`` applied to every node, sources first."""
    rebuilt = with_sources(node, [transform(source, rule) for source in sources(node)])
    return rule(rebuilt)


def output_variables(node: PlanNode) -> tuple[Variable, ...]:
    """The variables that ``node`` gives to its parent, in order, as Presto's getOutputVariables."""
    match node:
        case nodes.ProjectNode():
            return tuple(_typed(key, type_of(value)) for key, value in node.assignments.assignments.items())
        case nodes.AggregationNode():
            return (*node.groupingSets.groupingKeys, *_keyed(node.aggregations))
        case nodes.SemiJoinNode():
            return (*output_variables(node.source), node.semiJoinOutput)
        case nodes.WindowNode():
            return (*output_variables(node.source), *_keyed(node.windowFunctions))
        case nodes.UnnestNode():
            unnested = tuple(v for group in node.unnestVariables.values() for v in group)
            ordinality = () if node.ordinalityVariable is None else (node.ordinalityVariable,)
            return (*node.replicateVariables, *unnested, *ordinality)
        case nodes.MarkDistinctNode():
            return (*output_variables(node.source), node.markerVariable)
        case nodes.DistinctLimitNode():
            return node.distinctVariables
        case nodes.ExchangeNode():
            return node.partitioningScheme.outputLayout
        case nodes.GroupIdNode():
            grouping = tuple(_named(key) for key in node.groupingColumns)
            return (*grouping, *node.aggregationArguments, node.groupIdVariable)
        case nodes.RowNumberNode() | nodes.TopNRowNumberNode() | nodes.SpiTopNRowNumberNode():
            partial_only = getattr(node, "partial", False) and not isinstance(node, nodes.RowNumberNode)
            own = () if partial_only else (node.rowNumberVariable,)
            return (*output_variables(node.source), *own)
        case nodes.AssignUniqueId():
            return (*output_variables(node.source), node.idVariable)
        case _:
            return _plain_output(node)


def _plain_output(node: PlanNode) -> tuple[Variable, ...]:
    match node:
        case nodes.CallDistributedProcedureNode() | nodes.TableWriterNode() | nodes.TableWriterMergeNode():
            return (node.rowCountVariable, node.fragmentVariable, node.tableCommitContextVariable)
        case nodes.TableFinishNode() | nodes.StatisticsWriterNode():
            return (node.rowCountVariable,)
        case nodes.MetadataDeleteNode():
            return (node.output,)
        case nodes.IndexJoinNode():
            return (*output_variables(node.probeSource), *output_variables(node.indexSource))
        case _:
            own: tuple[Variable, ...] | None = getattr(node, "outputVariables", None)
            return output_variables(sources(node)[0]) if own is None else own


def _keyed(entries: dict[str, object]) -> tuple[Variable, ...]:
    return tuple(_named(key) for key in entries)


def _named(key: str) -> Variable:
    name, _, rest = key.rpartition("<")
    return Variable(name=name, type=rest[:-1])


def _typed(key: str, type_text: str) -> Variable:
    return Variable(name=key.removesuffix(f"<{type_text}>"), type=type_text)
