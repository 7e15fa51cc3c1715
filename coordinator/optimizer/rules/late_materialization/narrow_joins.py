"""Joins of a first pass whose build side has become small enough to be copied to all tasks.

Without the columns that are fetched later a build side of a million rows is some thirty megabytes: copying it spares
spreading the other side's rows by key. The engine estimates from the files' sizes and would not see that.
"""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.optimizer.cardinality import cardinality, size
from coordinator.optimizer.rule import RuleContext
from coordinator.vocabulary.session_properties import session_value
from shared.plan.nodes import JoinNode, PlanNode
from shared.plan.traversal import rewrite_bottom_up
from shared.units import parse_data_size

MOST_BYTES = 64 << 20
"""Of a build side, as its columns are wide: in memory it takes two to three times as much, in the driver as well."""


def with_copied_sides(plan: PlanNode, context: RuleContext) -> PlanNode:
    """``plan``, below a Fetch, with the joins of small build sides marked REPLICATED."""
    if session_value(context.session, "join_distribution_type").upper() != "AUTOMATIC":
        return plan
    limit = min(MOST_BYTES, parse_data_size(session_value(context.session, "join_max_broadcast_table_size")))
    return rewrite_bottom_up(plan, lambda node: _marked(node, limit, context))


def _marked(node: PlanNode, limit: float, context: RuleContext) -> PlanNode:
    if not isinstance(node, JoinNode) or node.type not in ("INNER", "LEFT") or not node.criteria:
        return node
    rows, distinct = context.table_rows, context.distinct_values
    left, right = cardinality(node.left, rows, distinct), cardinality(node.right, rows, distinct)
    if left is None or right is None:
        return node
    build = size(node.right, right.base)
    small = build <= limit and build <= size(node.left, left.rows)
    return replace(node, distributionType="REPLICATED" if small else "PARTITIONED")
