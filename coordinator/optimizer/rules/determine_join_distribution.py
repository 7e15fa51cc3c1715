"""Chooses between copying the build side of a join to all tasks and spreading both sides by key.

Presto's DetermineJoinDistributionType: a build side is copied when it is known to be small and smaller than the other.
"""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.optimizer.cardinality import cardinality, size
from coordinator.optimizer.rule import RuleContext
from coordinator.vocabulary.session_properties import session_value
from shared.plan.nodes import JoinNode, PlanNode
from shared.units import parse_data_size


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """The join with its distribution type; without statistics it is left to the fragmenter."""
    if not isinstance(node, JoinNode) or node.type not in ("INNER", "LEFT") or node.distributionType is not None:
        return node
    if session_value(context.session, "join_distribution_type").upper() != "AUTOMATIC" or not node.criteria:
        return node
    rows, distinct = context.table_rows, context.distinct_values
    left, right = cardinality(node.left, rows, distinct), cardinality(node.right, rows, distinct)
    if left is None or right is None:
        return node
    limit = parse_data_size(session_value(context.session, "join_max_broadcast_table_size"))
    build, probe = size(node.right, right.rows), size(node.left, left.rows)
    small = build <= limit and build <= probe
    return replace(node, distributionType="REPLICATED" if small else "PARTITIONED")
