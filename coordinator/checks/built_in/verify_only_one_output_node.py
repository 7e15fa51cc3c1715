"""VerifyOnlyOneOutputNode: a statement has one result."""

from __future__ import annotations

from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.nodes import OutputNode, PlanNode
from shared.plan.traversal import walk


def check(plan: PlanNode) -> None:
    """Raises INVALID_PLAN_ERROR unless the plan holds exactly one OutputNode."""
    if sum(isinstance(node, OutputNode) for node in walk(plan)) != 1:
        raise invalid_plan("Expected plan to have single instance of OutputNode", plan.sourceLocation)
