"""NoDuplicatePlanNodeIdsChecker: ids identify nodes in EXPLAIN, progress and errors, so each may stand once."""

from __future__ import annotations

from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.nodes import PlanNode
from shared.plan.traversal import node_name, walk


def check(plan: PlanNode) -> None:
    """Raises INVALID_PLAN_ERROR at the second node with an id."""
    seen: dict[str, PlanNode] = {}
    for node in walk(plan):
        first = seen.setdefault(node.id, node)
        if first is not node:
            raise invalid_plan(
                f"Generated plan contains nodes with duplicated id {node.id}: {node_name(first)} and {node_name(node)}",
                node.sourceLocation,
            )
