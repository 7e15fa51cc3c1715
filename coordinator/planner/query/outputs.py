"""What variables a plan node puts out, and what nodes read, for the nodes that planning makes."""

from __future__ import annotations

from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import (
    AggregationNode,
    AssignUniqueId,
    DistinctLimitNode,
    EnforceSingleRowNode,
    ExchangeNode,
    FilterNode,
    GroupIdNode,
    JoinNode,
    LimitNode,
    MarkDistinctNode,
    OffsetNode,
    OutputNode,
    PlanNode,
    ProjectNode,
    RowNumberNode,
    SampleNode,
    SemiJoinNode,
    SortNode,
    TableScanNode,
    TopNNode,
    TopNRowNumberNode,
    UnnestNode,
    ValuesNode,
    WindowNode,
)


def output_variables(node: PlanNode) -> tuple[Variable, ...]:  # noqa: C901 - one case a node
    """The variables of a node's output rows, in order; raises TypeError for a node that planning never makes."""
    match node:
        case TableScanNode() | ValuesNode() | JoinNode() | OutputNode():
            return node.outputVariables
        case ProjectNode():
            return tuple(_variable(key, value) for key, value in node.assignments.assignments.items())
        case (
            FilterNode() | SortNode() | LimitNode() | TopNNode() | EnforceSingleRowNode() | OffsetNode() | SampleNode()
        ):
            return output_variables(node.source)
        case DistinctLimitNode():
            return node.distinctVariables
        case AggregationNode():
            return (
                *node.groupingSets.groupingKeys,
                *(_variable(key, value.call) for key, value in node.aggregations.items()),
            )
        case SemiJoinNode():
            return (*output_variables(node.source), node.semiJoinOutput)
        case WindowNode():
            made = (_variable(key, value.functionCall) for key, value in node.windowFunctions.items())
            return (*output_variables(node.source), *made)
        case RowNumberNode() | TopNRowNumberNode():
            return (*output_variables(node.source), node.rowNumberVariable)
        case MarkDistinctNode():
            return (*output_variables(node.source), node.markerVariable)
        case AssignUniqueId():
            return (*output_variables(node.source), node.idVariable)
        case UnnestNode():
            unnested = tuple(v for group in node.unnestVariables.values() for v in group)
            ordinality = (node.ordinalityVariable,) if node.ordinalityVariable is not None else ()
            return (*node.replicateVariables, *unnested, *ordinality)
        case GroupIdNode():
            return (
                *(_variable(k, v) for k, v in node.groupingColumns.items()),
                *node.aggregationArguments,
                node.groupIdVariable,
            )
        case ExchangeNode():
            return node.partitioningScheme.outputLayout
        case _:
            raise TypeError(f"no outputs are known of {type(node).__name__}")


def _variable(key: str, value: RowExpression) -> Variable:
    name, _, rest = key.partition("<")
    return Variable(sourceLocation=value.sourceLocation, name=name, type=rest[:-1])
