"""VerifyNoFilteredAggregations: ``FILTER (WHERE …)`` must have become a mask before the plan is fragmented."""

from __future__ import annotations

from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.nodes import AggregationNode, PlanNode
from shared.plan.traversal import walk


def check(plan: PlanNode) -> None:
    """Raises INVALID_PLAN_ERROR for an aggregation that still carries a filter."""
    for node in walk(plan):
        if isinstance(node, AggregationNode) and any(a.filter is not None for a in node.aggregations.values()):
            raise invalid_plan("Generated plan contains unimplemented filtered aggregations", node.sourceLocation)
