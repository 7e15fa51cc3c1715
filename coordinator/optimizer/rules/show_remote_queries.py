"""Writes the remote query of a connector's scan into its layout, for EXPLAIN and the query page."""

from __future__ import annotations

from coordinator.optimizer.rule import RuleContext
from shared.plan.nodes import PlanNode, TableScanNode


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """The scan with its final query; scans of connectors without pushdown are left as they are."""
    if not isinstance(node, TableScanNode):
        return node
    connector = context.pushdown_of(node.table.connectorId)
    return node if connector is None else connector.finished(node)
