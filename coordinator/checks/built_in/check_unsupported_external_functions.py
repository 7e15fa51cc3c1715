"""CheckUnsupportedExternalFunctions: remote functions are called by projections of their own and nowhere else."""

from __future__ import annotations

from coordinator.checks.built_in.external_functions import calls_external_function
from coordinator.checks.built_in.failure import invalid_plan, located
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import AggregationNode, FilterNode, JoinNode, PlanNode
from shared.plan.traversal import walk


def check(plan: PlanNode) -> None:
    """Raises NOT_SUPPORTED for one in a join's filter, INVALID_PLAN_ERROR for one in a filter or an aggregation."""
    for node in walk(plan):
        match node:
            case FilterNode() if calls_external_function(node.predicate):
                message = "Expect FilterNode predicate with external functions be converted to project"
                raise invalid_plan(message, node.predicate.sourceLocation)
            case AggregationNode() if any(calls_external_function(a.call) for a in node.aggregations.values()):
                raise invalid_plan("Expect aggregation to be local", node.sourceLocation)
            case JoinNode(filter=condition) if condition is not None and calls_external_function(condition):
                message = "External function in join filter is not supported"
                at = located(condition.sourceLocation or node.sourceLocation)
                raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=at)
