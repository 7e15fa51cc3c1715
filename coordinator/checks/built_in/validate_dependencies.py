"""ValidateDependenciesChecker: a node reads only what its sources produce."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import (
    AggregationNode,
    AssignUniqueId,
    DeleteNode,
    DistinctLimitNode,
    ExchangeNode,
    GroupIdNode,
    IndexJoinNode,
    JoinNode,
    LimitNode,
    MarkDistinctNode,
    MergeJoinNode,
    MergeProcessorNode,
    MergeWriterNode,
    OrderingScheme,
    OutputNode,
    PlanNode,
    ProjectNode,
    RemoteSourceNode,
    RowNumberNode,
    SemiJoinNode,
    SortNode,
    SpatialJoinNode,
    SpiTopNRowNumberNode,
    TableScanNode,
    TableWriterNode,
    TopNNode,
    TopNRowNumberNode,
    UnnestNode,
    UpdateNode,
    WindowNode,
)
from shared.plan.nodes import CallDistributedProcedureNode as CallNode
from shared.plan.traversal import (
    expressions,
    free_variables,
    output_keys,
    output_variables,
    sources,
    variable_of_key,
    walk,
)


def check(plan: PlanNode) -> None:
    """Raises INVALID_PLAN_ERROR naming the missing variables and what the source offers."""
    for node in walk(plan):
        if type(node) in _READ_NOTHING:
            continue
        match node:
            case ExchangeNode():
                _check_exchange(node)
            case JoinNode() | MergeJoinNode():
                _check_join(node)
            case SemiJoinNode():
                _check_semi_join(node)
            case IndexJoinNode():
                _check_sides(node, node.probeSource, node.indexSource)
            case _:
                _check_single(node)


_READ_NOTHING = frozenset({TableScanNode, RemoteSourceNode, LimitNode})


def _check_single(node: PlanNode) -> None:
    over = sources(node)
    offered = output_keys(over[0]) if len(over) == 1 else {key for source in over for key in output_keys(source)}
    for what, wanted in _wanted(node):
        missing = [v for v in wanted if v.key not in offered]
        if missing:
            below = [variable for source in over for variable in output_variables(source)]
            raise invalid_plan(
                f"Invalid node. {what} ({_names(missing)}) not in source plan output ({_names(below)})",
                missing[0].sourceLocation or node.sourceLocation,
            )


def _wanted(node: PlanNode) -> Iterator[tuple[str, Iterable[Variable]]]:  # noqa: C901  (one case a kind of node)
    """What a node with at most one source reads, under the words of the error message."""
    match node:
        case AggregationNode():
            yield "Grouping key variables", node.groupingSets.groupingKeys
            yield "Aggregation dependencies", _read(expressions(node))
            for aggregation in node.aggregations.values():
                yield "Aggregation dependencies", _present(aggregation.mask) + _order(aggregation.orderBy)
        case WindowNode():
            yield "Partition by variables", node.specification.partitionBy
            yield "Order by variables", _order(node.specification.orderingScheme)
            yield "Window function dependencies", _read(expressions(node))
            for function in node.windowFunctions.values():
                yield "Frame bounds", _present(function.frame.startValue) + _present(function.frame.endValue)
        case TopNRowNumberNode() | SpiTopNRowNumberNode():
            yield "Partition by variables", node.specification.partitionBy
            yield "Order by variables", _order(node.specification.orderingScheme)
        case RowNumberNode():
            yield "Partition by variables", node.partitionBy
        case TopNNode() | SortNode():
            yield "Order by dependencies", _order(node.orderingScheme)
        case OutputNode():
            yield "Output column dependencies", node.outputVariables
        case MarkDistinctNode():
            yield "Mark distinct variables", node.distinctVariables
        case DistinctLimitNode():
            yield "Distinct variables", node.distinctVariables
        case UnnestNode():
            yield "Dependencies", node.replicateVariables
            yield "Dependencies", [variable_of_key(key) for key in node.unnestVariables]
        case GroupIdNode():
            yield "Grouping set variables", node.groupingColumns.values()
            yield "Grouping set variables", node.aggregationArguments
        case TableWriterNode() | CallNode():
            yield "Column dependencies", node.columns
        case DeleteNode() | UpdateNode():
            yield "Row id", _present(node.rowId)
        case MergeProcessorNode():
            yield "Merge row dependencies", (node.rowIdSymbol, node.mergeRowSymbol)
        case MergeWriterNode():
            yield "Merge writer dependencies", node.projectedSymbols
        case ProjectNode():
            yield "Expression dependencies", _read(expressions(node))
        case AssignUniqueId():
            return
        case SpatialJoinNode():
            yield "Filter dependencies", _read(expressions(node))
            yield "Output variables", node.outputVariables
        case _:
            yield "Predicate dependencies", _read(expressions(node))


def _check_exchange(node: ExchangeNode) -> None:
    layout = {v.key for v in node.partitioningScheme.outputLayout}
    for source, variables in zip(node.sources, node.inputs, strict=True):
        offered = output_keys(source)
        for variable in variables:
            if variable.key not in offered:
                raise _missing("EXCHANGE symbol ({}) not in source ({})", variable, source)
    for variable in _read(node.partitioningScheme.partitioning.arguments):
        if variable.key not in layout:
            layout_names = _names(node.partitioningScheme.outputLayout)
            message = f"Partitioning column ({variable.name}) not in output layout ({layout_names})"
            raise invalid_plan(message, variable.sourceLocation)


def _check_join(node: JoinNode | MergeJoinNode) -> None:
    left, right = _check_sides(node, node.left, node.right)
    for variable in node.outputVariables:
        key = variable.key
        if key not in left and key not in right:
            raise _missing("Output symbol ({}) not in sources ({})", variable, node.left, node.right)


def _check_sides(
    node: JoinNode | MergeJoinNode | IndexJoinNode, left: PlanNode, right: PlanNode
) -> tuple[Collection[str], Collection[str]]:
    """The keys that either side offers."""
    on_left, on_right = output_keys(left), output_keys(right)
    for clause in node.criteria:
        if clause.left.key not in on_left:
            raise _missing("Symbol from join clause ({}) not in left source ({})", clause.left, left)
        if clause.right.key not in on_right:
            raise _missing("Symbol from join clause ({}) not in right source ({})", clause.right, right)
    for variable in _read(expressions(node)):
        key = variable.key
        if key not in on_left and key not in on_right:
            raise _missing("Symbol from filter ({}) not in sources ({})", variable, left, right)
    return on_left, on_right


def _check_semi_join(node: SemiJoinNode) -> None:
    if node.sourceJoinVariable.key not in output_keys(node.source):
        message = "Symbol from semi join clause ({}) not in source ({})"
        raise _missing(message, node.sourceJoinVariable, node.source)
    if node.filteringSourceJoinVariable.key not in output_keys(node.filteringSource):
        message = "Symbol from semi join clause ({}) not in filtering source ({})"
        raise _missing(message, node.filteringSourceJoinVariable, node.filteringSource)


def _missing(template: str, variable: Variable, *below: PlanNode) -> Exception:
    offered = _names(v for source in below for v in output_variables(source))
    return invalid_plan(template.format(variable.name, offered), variable.sourceLocation)


def _names(variables: Iterable[Variable]) -> str:
    return ", ".join(v.name for v in variables)


def _read(found: Iterable[RowExpression]) -> tuple[Variable, ...]:
    return tuple(variable for expression in found for variable in free_variables(expression))


def _present(variable: Variable | None) -> tuple[Variable, ...]:
    return () if variable is None else (variable,)


def _order(scheme: OrderingScheme | None) -> tuple[Variable, ...]:
    return () if scheme is None else tuple(order.variable for order in scheme.orderBy)
