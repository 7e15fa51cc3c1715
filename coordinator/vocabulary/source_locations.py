"""Gives nodes the place of what they read where they have none of their own, as Presto's planner and rules do."""

from __future__ import annotations

from msgspec.structs import replace

from shared.plan.expressions import SourceLocation
from shared.plan.nodes import PlanNode
from shared.plan.traversal import rewrite_bottom_up, sources


def inherit_locations(plan: PlanNode) -> PlanNode:
    """The plan in which every node has the place of its first located input, unless it has one of its own."""
    return rewrite_bottom_up(plan, _inherited)


def located_at(plan: PlanNode, place: SourceLocation | None) -> PlanNode:
    """The plan in which every node without a place has this one."""
    if place is None:
        return plan
    return rewrite_bottom_up(plan, lambda n: n if n.sourceLocation is not None else replace(n, sourceLocation=place))


def _inherited(node: PlanNode) -> PlanNode:
    if node.sourceLocation is not None:
        return node
    place = next((source.sourceLocation for source in sources(node) if source.sourceLocation is not None), None)
    return node if place is None else replace(node, sourceLocation=place)
