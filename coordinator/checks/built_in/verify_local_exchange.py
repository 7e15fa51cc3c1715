"""VerifyLocalExchange: a LOCAL exchange that merges sorted streams must pass them through unmixed."""

from __future__ import annotations

from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.nodes import ExchangeNode, PlanNode
from shared.plan.traversal import walk

_PASSTHROUGH = ("FIXED", "UNKNOWN")
"""Presto's FIXED_PASSTHROUGH_DISTRIBUTION, as it is on the wire."""


def check(plan: PlanNode) -> None:
    """Raises INVALID_PLAN_ERROR."""
    for node in walk(plan):
        if not isinstance(node, ExchangeNode) or node.scope != "LOCAL" or node.orderingScheme is None:
            continue
        handle = node.partitioningScheme.partitioning.handle.connectorHandle
        if (handle.get("partitioning"), handle.get("function")) != _PASSTHROUGH:
            raise invalid_plan("local merging exchange requires passthrough distribution", node.sourceLocation)
