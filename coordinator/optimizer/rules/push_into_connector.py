"""Hands operators that stand directly over scans of one catalog to its connector, sources first.

Inner joins are looked at as whole trees (``group_inner_joins_by_connector``); every other operator by itself.
Each kind has its session property, so that a wrong or slow pushdown can be switched off alone.
"""

from __future__ import annotations

from coordinator.optimizer.join_tree import is_tree
from coordinator.optimizer.rule import RuleContext
from coordinator.optimizer.rules import group_inner_joins_by_connector as grouping
from coordinator.optimizer.rules import push_with_its_join as with_its_join
from coordinator.vocabulary.session_properties import session_flag
from shared.plan.nodes import (
    AggregationNode,
    FilterNode,
    JoinNode,
    LimitNode,
    PlanNode,
    ProjectNode,
    SemiJoinNode,
    TableScanNode,
    TopNNode,
)
from shared.plan.traversal import sources, with_sources

_SWITCHES: tuple[tuple[type, str], ...] = (
    (FilterNode, "filter_pushdown_enabled"),
    (ProjectNode, "projection_pushdown_enabled"),
    (AggregationNode, "aggregation_pushdown_enabled"),
    (TopNNode, "topn_pushdown_enabled"),
    (LimitNode, "limit_pushdown_enabled"),
    (SemiJoinNode, "semi_join_pushdown_enabled"),
    (JoinNode, "outer_join_pushdown_enabled"),
)


def apply(plan: PlanNode, context: RuleContext) -> PlanNode:
    """The plan with all that connectors took over."""
    if isinstance(plan, JoinNode) and is_tree(plan):
        return grouping.group(plan, context, lambda leaf: apply(leaf, context))
    below = [apply(source, context) for source in sources(plan)]
    whole = with_its_join.push(plan, below, context, apply, _pushed)
    if whole is not None:
        return whole
    if any(new is not old for new, old in zip(below, sources(plan), strict=True)):
        plan = with_sources(plan, below)
    return _pushed(plan, context)


def _pushed(node: PlanNode, context: RuleContext) -> PlanNode:
    switch = next((name for kind, name in _SWITCHES if isinstance(node, kind)), None)
    if switch is None or not session_flag(context.session, switch):
        return node
    below = sources(node)
    scans = [source for source in below if isinstance(source, TableScanNode)]
    if len(scans) != len(below) or len({scan.table.connectorId for scan in scans}) != 1:
        return node
    connector = context.pushdown_of(scans[0].table.connectorId)
    pushed = None if connector is None else connector.push(node, context.session)
    return node if pushed is None else pushed
