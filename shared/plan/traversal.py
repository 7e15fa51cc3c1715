"""Generic walks over plans and expressions, so that a step says only what it does with the nodes that it knows.

Plans are trees of frozen Structs; every function here is pure and keeps identity where nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import attrgetter, is_
from typing import Any, cast, get_args

from msgspec.structs import replace

from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, Variable
from shared.plan.nodes import (
    AggregationNode,
    AssignUniqueId,
    CallDistributedProcedureNode,
    DistinctLimitNode,
    EnforceSingleRowNode,
    ExchangeNode,
    FetchNode,
    FilterNode,
    GroupIdNode,
    IndexJoinNode,
    JoinNode,
    LimitNode,
    MarkDistinctNode,
    MergeJoinNode,
    MergeProcessorNode,
    MergeWriterNode,
    MetadataDeleteNode,
    OffsetNode,
    PlanNode,
    ProjectNode,
    RowNumberNode,
    SampleNode,
    SemiJoinNode,
    SortNode,
    SpatialJoinNode,
    SpiTopNRowNumberNode,
    StatisticsWriterNode,
    TableFinishNode,
    TableWriterMergeNode,
    TableWriterNode,
    TopNNode,
    TopNRowNumberNode,
    UnnestNode,
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


def walk(node: PlanNode) -> list[PlanNode]:
    """``node`` and all nodes below it, parents first, left to right."""
    # A list, which costs half of what a generator does: a statement's plans are walked a hundred times.
    found: list[PlanNode] = []
    stack = [node]
    while stack:
        current = stack.pop()
        found.append(current)
        below = _SOURCES[type(current)](current)
        while len(below) == 1:  # as most have
            current = below[0]
            found.append(current)
            below = _SOURCES[type(current)](current)
        stack.extend(below[::-1])
    return found


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


def rewrite_kinds(plan: PlanNode, kinds: Collection[type], function: Callable[[PlanNode], PlanNode]) -> PlanNode:
    """As ``rewrite_bottom_up`` with a function that only changes nodes of some kinds, which it mostly does not."""
    alike: set[int] = set()
    for node in _sources_first(plan):
        if type(node) in kinds:
            made = function(node)
            if made is not node:
                break
            alike.add(id(node))
    else:
        return plan
    first = {id(node): made}  # both were asked of nodes with all of their sources unchanged

    def rest(current: PlanNode) -> PlanNode:
        if type(current) not in kinds or id(current) in alike:
            return current
        known = first.pop(id(current), None)
        return function(current) if known is None else known

    return rewrite_bottom_up(plan, rest)


def _sources_first(plan: PlanNode) -> Iterator[PlanNode]:
    """In the order in which ``rewrite_bottom_up`` comes to them."""
    found: list[PlanNode] = []
    stack = [plan]
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(_SOURCES[type(current)](current))
    return reversed(found)


def node_name(node: PlanNode) -> str:
    """The short name of a node's class in Presto's spelling, as in ``FilterNode``."""
    return str(node.__struct_config__.tag).rpartition(".")[2]


def variable_of_key(key: str) -> Variable:
    """Inverse of ``Variable.key``: ``name<type>`` to a variable; raises ValueError."""
    name, bracket, rest = key.partition("<")
    if not bracket or not rest.endswith(">"):
        raise ValueError(f"Not a variable: {key}")
    return Variable(name=name, type=rest[:-1])


def output_variables(node: PlanNode) -> tuple[Variable, ...]:
    """What ``node`` produces, in order, as Presto's ``PlanNode.getOutputVariables``."""
    # By far the most are of these kinds, and a statement asks some hundred times.
    while type(node) in _PASSING:
        node = _SOURCE(node)
    if type(node) in _LISTING:
        listed: tuple[Variable, ...] = _COLUMNS(node)
        return listed
    return _OUTPUTS[type(node)](node)


_PASSING = frozenset({FilterNode, TopNNode, SortNode, LimitNode, EnforceSingleRowNode, SampleNode, OffsetNode})
"""Nodes with the columns of their source."""
_LISTING = frozenset(node for node in get_args(PlanNode) if "outputVariables" in node.__struct_fields__)
"""Nodes that list their columns."""
_SOURCE, _COLUMNS = attrgetter("source"), attrgetter("outputVariables")


def _of_aggregation(node: AggregationNode) -> tuple[Variable, ...]:
    keys = node.groupingSets.groupingKeys + _optional(node.hashVariable)
    return keys + tuple(_placed(key, value.call) for key, value in node.aggregations.items())


def _of_window(node: WindowNode) -> tuple[Variable, ...]:
    made = tuple(_placed(key, value.functionCall) for key, value in node.windowFunctions.items())
    return output_variables(node.source) + made


def _of_row_numbers(node: RowNumberNode | TopNRowNumberNode | SpiTopNRowNumberNode) -> tuple[Variable, ...]:
    below = output_variables(node.source)
    return below if node.partial else (*below, node.rowNumberVariable)


def _of_unnest(node: UnnestNode) -> tuple[Variable, ...]:
    unnested = tuple(v for group in node.unnestVariables.values() for v in group)
    return node.replicateVariables + unnested + _optional(node.ordinalityVariable)


def _of_group_id(node: GroupIdNode) -> tuple[Variable, ...]:
    columns = dict.fromkeys(v for grouping in node.groupingSets for v in grouping)
    return (*columns, *node.aggregationArguments, node.groupIdVariable)


def _of_writer(node: TableWriterNode | TableWriterMergeNode) -> tuple[Variable, ...]:
    written = (node.rowCountVariable, node.fragmentVariable, node.tableCommitContextVariable)
    return written + _statistics_outputs(node.statisticsAggregation)


_OUTPUTS: Mapping[type, Callable[[Any], tuple[Variable, ...]]] = {
    ProjectNode: lambda n: tuple(_placed(key, value) for key, value in n.assignments.assignments.items()),
    AggregationNode: _of_aggregation,
    DistinctLimitNode: lambda n: n.distinctVariables + _optional(n.hashVariable),
    SemiJoinNode: lambda n: (*output_variables(n.source), n.semiJoinOutput),
    IndexJoinNode: lambda n: output_variables(n.probeSource) + output_variables(n.indexSource),
    WindowNode: _of_window,
    RowNumberNode: _of_row_numbers,
    TopNRowNumberNode: _of_row_numbers,
    SpiTopNRowNumberNode: _of_row_numbers,
    UnnestNode: _of_unnest,
    MarkDistinctNode: lambda n: (*output_variables(n.source), n.markerVariable),
    AssignUniqueId: lambda n: (*output_variables(n.source), n.idVariable),
    GroupIdNode: _of_group_id,
    ExchangeNode: lambda n: n.partitioningScheme.outputLayout,
    TableWriterNode: _of_writer,
    TableWriterMergeNode: _of_writer,
    CallDistributedProcedureNode: lambda n: (n.rowCountVariable, n.fragmentVariable, n.tableCommitContextVariable),
    TableFinishNode: lambda n: (n.rowCountVariable,),
    StatisticsWriterNode: lambda n: (n.rowCountVariable,),
    MetadataDeleteNode: lambda n: (n.output,),
    MergeProcessorNode: lambda n: n.outputs,
    MergeWriterNode: lambda n: n.outputs,
}
"""What the others produce: a table, since to ask a node for its kind one after the other took longer."""


def output_keys(node: PlanNode) -> Collection[str]:
    """The keys of ``output_variables(node)``, which a projection has at hand."""
    while type(node) in _PASSING:
        node = _SOURCE(node)
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
    if isinstance(expression, Variable | Constant):  # as most of a projection's are
        return iter((expression,))
    found: list[RowExpression] = []
    stack: list[RowExpression] = [expression]
    while stack:
        current = stack.pop()
        found.append(current)
        if isinstance(current, Call | SpecialForm):
            stack.extend(current.arguments[::-1])
        elif isinstance(current, Lambda):
            stack.append(current.body)
    return iter(found)


def free_variables(expression: RowExpression) -> tuple[Variable, ...]:
    """The variables that ``expression`` reads from its input, each once; arguments of lambdas are not among them."""
    if isinstance(expression, Variable):  # as most of a projection's are
        return (expression,)
    if isinstance(expression, Constant):
        return ()
    found: dict[tuple[str, str], Variable] = {}
    _collect_free(expression, frozenset(), found)
    return tuple(found.values())


def _collect_free(expression: RowExpression, bound: frozenset[str], found: dict[tuple[str, str], Variable]) -> None:
    if isinstance(expression, Variable):
        if expression.name not in bound:
            found.setdefault((expression.name, expression.type), expression)
    elif isinstance(expression, Call | SpecialForm):
        for argument in expression.arguments:
            if not isinstance(argument, Constant):
                _collect_free(argument, bound, found)
    elif isinstance(expression, Lambda):
        _collect_free(expression.body, bound | frozenset(expression.arguments), found)


def _keys(by_variable: Mapping[str, object]) -> tuple[Variable, ...]:
    return tuple(variable_of_key(key) for key in by_variable)


def _placed(key: str, value: RowExpression) -> Variable:
    """The variable of a key, at the place of what is assigned to it."""
    name, _, rest = key.partition("<")
    return Variable(sourceLocation=value.sourceLocation, name=name, type=rest[:-1])


def _optional(variable: Variable | None) -> tuple[Variable, ...]:
    return () if variable is None else (variable,)


def _statistics_outputs(aggregation: object) -> tuple[Variable, ...]:
    # Presto's StatisticAggregations, kept as JSON: {"aggregations": {"name<type>": …}, "groupingVariables": […]}
    if not isinstance(aggregation, Mapping):
        return ()
    grouping = tuple(Variable(name=v["name"], type=v["type"]) for v in aggregation.get("groupingVariables", ()))
    return grouping + _keys(aggregation.get("aggregations", {}))
