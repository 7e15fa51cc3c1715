"""Generic walks over plans and expressions, so that a step says only what it does with the nodes that it knows.

Plans are trees of frozen Structs; every function here is pure and keeps identity where nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import attrgetter, is_
from typing import Any, assert_never, cast, get_args

from msgspec.structs import replace

from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, Variable
from shared.plan.nodes import (
    AggregationNode,
    AssignUniqueId,
    CallDistributedProcedureNode,
    DeleteNode,
    DistinctLimitNode,
    DistributedMaintenanceNode,
    EnforceSingleRowNode,
    ExchangeNode,
    FetchNode,
    FilterNode,
    GroupIdNode,
    IndexJoinNode,
    IndexSourceNode,
    JoinNode,
    LimitNode,
    LookUpNode,
    MarkDistinctNode,
    MergeJoinNode,
    MergeProcessorNode,
    MergeWriterNode,
    MetadataDeleteNode,
    OffsetNode,
    OutputNode,
    PlanNode,
    ProcedureFinishNode,
    ProjectNode,
    RemoteSourceNode,
    RowNumberNode,
    SampleNode,
    SemiJoinNode,
    SortNode,
    SpatialJoinNode,
    SpiTopNRowNumberNode,
    StatisticsWriterNode,
    TableFinishNode,
    TableScanNode,
    TableWriterMergeNode,
    TableWriterNode,
    TopNNode,
    TopNRowNumberNode,
    UnnestNode,
    UpdateNode,
    ValuesNode,
    WindowNode,
)

_CHILD_NAMES = ("source", "left", "right", "filteringSource", "probeSource", "indexSource", "sources", "lookUps")
_CHILD_FIELDS: Mapping[type, tuple[str, ...]] = {
    node: tuple(name for name in node.__struct_fields__ if name in _CHILD_NAMES) for node in get_args(PlanNode)
}


def _reader_of_sources(node: type) -> Callable[[Any], tuple[PlanNode, ...]]:
    if node is ExchangeNode:
        return lambda exchange: exchange.sources
    if node is FetchNode:
        return lambda fetch: (fetch.source, *fetch.lookUps)
    match _CHILD_FIELDS[node]:
        case ():
            return lambda _: ()
        case ("source",):
            return lambda parent: (parent.source,)
        case (only,):
            read = attrgetter(only)
            return lambda parent: (read(parent),)
        case several:
            return attrgetter(*several)


# A statement asks for sources some hundred times, so what a kind of node has is looked up, not asked of it.
_SOURCES = {node: _reader_of_sources(node) for node in get_args(PlanNode)}


def sources(node: PlanNode) -> tuple[PlanNode, ...]:
    """The inputs of ``node`` in Presto's order: left before right, source before filteringSource."""
    return _SOURCES[type(node)](node)


def with_sources(node: PlanNode, new: Sequence[PlanNode]) -> PlanNode:
    """``node`` over other inputs, the same object when they are its own; raises ValueError for a wrong count."""
    old = sources(node)
    if len(old) != len(new):
        raise ValueError(f"{node_name(node)} has {len(old)} sources, not {len(new)}")
    if all(map(is_, old, new)):
        return node
    if _CHILD_FIELDS[type(node)] == ("source",):
        return replace(cast(FilterNode, node), source=new[0])
    if isinstance(node, ExchangeNode):
        return replace(node, sources=tuple(new))
    if isinstance(node, FetchNode):
        return replace(node, source=new[0], lookUps=tuple(new[1:]))
    return replace(node, **dict(zip(_CHILD_FIELDS[type(node)], new, strict=True)))


def walk(node: PlanNode) -> Iterator[PlanNode]:
    """``node`` and all nodes below it, parents first, left to right."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        below = _SOURCES[type(current)](current)
        if len(below) == 1:  # as most have
            stack.append(below[0])
        elif below:
            stack.extend(below[::-1])


def rewrite_bottom_up(node: PlanNode, function: Callable[[PlanNode], PlanNode]) -> PlanNode:
    """The plan with ``function`` applied to every node after its inputs; unchanged subtrees stay the same objects."""
    waiting: list[tuple[PlanNode, tuple[PlanNode, ...]]] = [(node, ())]
    made: list[PlanNode] = []
    while waiting:
        current, old = waiting.pop()
        if old:  # they are the last that were made
            new = made[-len(old) :]
            del made[-len(old) :]
            made.append(function(current if all(map(is_, old, new)) else with_sources(current, new)))
        elif below := _SOURCES[type(current)](current):
            waiting.append((current, below))
            waiting.extend((source, ()) for source in reversed(below))
        else:
            made.append(function(current))
    return made[0]


def node_name(node: PlanNode) -> str:
    """The short name of a node's class in Presto's spelling, as in ``FilterNode``."""
    return str(node.__struct_config__.tag).rpartition(".")[2]


def variable_of_key(key: str) -> Variable:
    """Inverse of ``Variable.key``: ``name<type>`` to a variable; raises ValueError."""
    name, bracket, rest = key.partition("<")
    if not bracket or not rest.endswith(">"):
        raise ValueError(f"Not a variable: {key}")
    return Variable(name=name, type=rest[:-1])


def output_variables(node: PlanNode) -> tuple[Variable, ...]:  # noqa: C901  (one case a kind of node)
    """What ``node`` produces, in order, as Presto's ``PlanNode.getOutputVariables``."""
    # By far the most are of these kinds, and a statement asks some hundred times.
    while type(node) in _PASSING:
        node = cast(FilterNode, node).source
    if type(node) in _LISTING:
        return cast(JoinNode, node).outputVariables
    match node:
        case (
            TableScanNode()
            | IndexSourceNode()
            | ValuesNode()
            | OutputNode()
            | RemoteSourceNode()
            | JoinNode()
            | MergeJoinNode()
            | SpatialJoinNode()
            | DeleteNode()
            | UpdateNode()
            | DistributedMaintenanceNode()
            | ProcedureFinishNode()
            | FetchNode()
            | LookUpNode()
        ):
            return node.outputVariables
        case (
            FilterNode() | TopNNode() | SortNode() | LimitNode() | EnforceSingleRowNode() | SampleNode() | OffsetNode()
        ):
            return output_variables(node.source)
        case ProjectNode():
            return tuple(_placed(key, value) for key, value in node.assignments.assignments.items())
        case AggregationNode():
            keys = node.groupingSets.groupingKeys + _optional(node.hashVariable)
            return keys + tuple(_placed(key, value.call) for key, value in node.aggregations.items())
        case DistinctLimitNode():
            return node.distinctVariables + _optional(node.hashVariable)
        case SemiJoinNode():
            return (*output_variables(node.source), node.semiJoinOutput)
        case IndexJoinNode():
            return output_variables(node.probeSource) + output_variables(node.indexSource)
        case WindowNode():
            made = tuple(_placed(key, value.functionCall) for key, value in node.windowFunctions.items())
            return output_variables(node.source) + made
        case RowNumberNode() | TopNRowNumberNode() | SpiTopNRowNumberNode():
            below = output_variables(node.source)
            return below if node.partial else (*below, node.rowNumberVariable)
        case UnnestNode():
            unnested = tuple(v for group in node.unnestVariables.values() for v in group)
            return node.replicateVariables + unnested + _optional(node.ordinalityVariable)
        case MarkDistinctNode():
            return (*output_variables(node.source), node.markerVariable)
        case AssignUniqueId():
            return (*output_variables(node.source), node.idVariable)
        case GroupIdNode():
            columns = dict.fromkeys(v for grouping in node.groupingSets for v in grouping)
            return (*columns, *node.aggregationArguments, node.groupIdVariable)
        case ExchangeNode():
            return node.partitioningScheme.outputLayout
        case TableWriterNode() | TableWriterMergeNode():
            written = (node.rowCountVariable, node.fragmentVariable, node.tableCommitContextVariable)
            return written + _statistics_outputs(node.statisticsAggregation)
        case CallDistributedProcedureNode():
            return (node.rowCountVariable, node.fragmentVariable, node.tableCommitContextVariable)
        case TableFinishNode() | StatisticsWriterNode():
            return (node.rowCountVariable,)
        case MetadataDeleteNode():
            return (node.output,)
        case MergeProcessorNode() | MergeWriterNode():
            return node.outputs
        case _:
            assert_never(node)


_PASSING = frozenset({FilterNode, TopNNode, SortNode, LimitNode, EnforceSingleRowNode})
_LISTING = frozenset({TableScanNode, ValuesNode, OutputNode, RemoteSourceNode, JoinNode})


def output_keys(node: PlanNode) -> Collection[str]:
    """The keys of ``output_variables(node)``, which a projection has at hand."""
    while type(node) in _PASSING:
        node = cast(FilterNode, node).source
    if isinstance(node, ProjectNode):
        return node.assignments.assignments.keys()
    return {variable.key for variable in output_variables(node)}


def expressions(node: PlanNode) -> tuple[RowExpression, ...]:
    """The expressions that ``node`` itself evaluates, those of exchanges' partitioning included."""
    match node:
        case FilterNode():
            return (node.predicate,)
        case ProjectNode():
            return tuple(node.assignments.assignments.values())
        case AggregationNode():
            calls: list[RowExpression] = []
            for aggregation in node.aggregations.values():
                calls.append(aggregation.call)
                if aggregation.filter is not None:
                    calls.append(aggregation.filter)
            return tuple(calls)
        case JoinNode() | MergeJoinNode() | IndexJoinNode():
            return () if node.filter is None else (node.filter,)
        case SpatialJoinNode():
            return (node.filter,)
        case ValuesNode():
            return tuple(cell for row in node.rows for cell in row)
        case WindowNode():
            return tuple(function.functionCall for function in node.windowFunctions.values())
        case ExchangeNode():
            return node.partitioningScheme.partitioning.arguments
        case _:
            return ()


def walk_expression(expression: RowExpression) -> Iterator[RowExpression]:
    """``expression`` and all expressions inside it, parents first."""
    stack: list[RowExpression] = [expression]
    while stack:
        current = stack.pop()
        yield current
        match current:
            case Call() | SpecialForm():
                stack.extend(reversed(current.arguments))
            case Lambda():
                stack.append(current.body)
            case Variable() | Constant():
                pass
            case _:
                assert_never(current)


def free_variables(expression: RowExpression) -> tuple[Variable, ...]:
    """The variables that ``expression`` reads from its input, each once; arguments of lambdas are not among them."""
    found: dict[str, Variable] = {}
    _collect_free(expression, frozenset(), found)
    return tuple(found.values())


def _collect_free(expression: RowExpression, bound: frozenset[str], found: dict[str, Variable]) -> None:
    match expression:
        case Variable():
            if expression.name not in bound:
                found.setdefault(expression.key, expression)
        case Call() | SpecialForm():
            for argument in expression.arguments:
                _collect_free(argument, bound, found)
        case Lambda():
            _collect_free(expression.body, bound | frozenset(expression.arguments), found)
        case Constant():
            pass
        case _:
            assert_never(expression)


def _keys(by_variable: Mapping[str, Any]) -> tuple[Variable, ...]:
    return tuple(variable_of_key(key) for key in by_variable)


def _placed(key: str, value: RowExpression) -> Variable:
    """The variable of a key, at the place of what is assigned to it."""
    name, _, rest = key.partition("<")
    return Variable(sourceLocation=value.sourceLocation, name=name, type=rest[:-1])


def _optional(variable: Variable | None) -> tuple[Variable, ...]:
    return () if variable is None else (variable,)


def _statistics_outputs(aggregation: Any) -> tuple[Variable, ...]:
    # Presto's StatisticAggregations, kept as JSON: {"aggregations": {"name<type>": …}, "groupingVariables": […]}
    if not isinstance(aggregation, Mapping):
        return ()
    grouping = tuple(Variable(name=v["name"], type=v["type"]) for v in aggregation.get("groupingVariables", ()))
    return grouping + _keys(aggregation.get("aggregations", {}))
