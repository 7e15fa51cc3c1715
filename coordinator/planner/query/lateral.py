"""CROSS JOIN LATERAL: each row of the left side with the rows that the query has for it."""

from __future__ import annotations

from coordinator.planner.query.builder import Builder, Ids
from coordinator.planner.query.correlated import lateral_aggregate
from coordinator.planner.query.correlation import Outer, correlated
from coordinator.planner.query.joins import extend, join
from coordinator.planner.query.marked_rows import inner_rows
from coordinator.planner.query.row_of_outer import row_of_outer
from shared.plan.nodes import PlanNode


def lateral_join(ids: Ids, left: PlanNode, inner: PlanNode, outer: Outer) -> PlanNode:
    """The joined plan; raises NotDecorrelatedError."""
    if not correlated(inner, outer):
        return join(ids, "INNER", left, inner)
    builder = Builder(ids, left)
    row = row_of_outer(inner)
    if row is not None:
        if row.condition is not None:
            builder.filter(row.condition)
        return extend(ids, builder.node, row.columns)
    if lateral_aggregate(builder, inner, outer):
        return builder.node
    return inner_rows(ids, left, inner, outer)
