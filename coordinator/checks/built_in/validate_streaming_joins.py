"""ValidateStreamingJoins: where a fragment splits work between threads, the build side of a join is split with it.

A fragment without any LOCAL exchange leaves threads to the engine, and there is nothing to check.
"""

from __future__ import annotations

from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.nodes import ExchangeNode, JoinNode, PlanNode, RemoteSourceNode, TableScanNode
from shared.plan.traversal import sources, walk


def check(plan: PlanNode) -> None:
    """Raises INVALID_PLAN_ERROR for a build side that is read from a scan or another stage without LOCAL exchange."""
    nodes = list(walk(plan))
    if not any(isinstance(node, ExchangeNode) and node.scope == "LOCAL" for node in nodes):
        return
    for node in nodes:
        if isinstance(node, JoinNode) and _spread_over_threads(node.right):
            message = f"Build side needs an additional local exchange for join: {node.id}"
            raise invalid_plan(message, node.sourceLocation)


def _spread_over_threads(node: PlanNode) -> bool:
    match node:
        case ExchangeNode() | JoinNode():
            return False  # a join's output is as split as its own probe side; Presto 0.296 accepts it
        case TableScanNode() | RemoteSourceNode():
            return True
        case _:
            below = sources(node)
            return bool(below) and _spread_over_threads(below[0])
