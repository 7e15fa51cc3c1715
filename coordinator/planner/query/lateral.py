"""CROSS JOIN LATERAL: each row of the left side with the rows that the query has for it."""

from __future__ import annotations

from coordinator.planner.query.builder import Builder, Ids
from coordinator.planner.query.correlated import lateral_aggregate
from coordinator.planner.query.correlation import Outer, correlated
from coordinator.planner.query.joins import join
from coordinator.planner.query.marked_rows import inner_rows
from shared.plan.nodes import PlanNode


def lateral_join(ids: Ids, left: PlanNode, inner: PlanNode, outer: Outer) -> PlanNode:
    """The joined plan; raises NotDecorrelatedError."""
    if not correlated(inner, outer):
        return join(ids, "INNER", left, inner)
    builder = Builder(ids, left)
    if lateral_aggregate(builder, inner, outer):
        return builder.node
    return inner_rows(ids, left, inner, outer)
