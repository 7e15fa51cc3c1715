"""Pushes a join that alone would grow together with the aggregation, TopN or LIMIT over it, whose result is small.

A join is refused when the database expects more of it than of its tables. What stands above it may leave a few rows:
then both go to the connector as one query, if it expects that query to pay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from coordinator.optimizer.rule import RuleContext
from coordinator.vocabulary.session_properties import session_value
from shared.plan.nodes import (
    AggregationNode,
    FilterNode,
    JoinNode,
    LimitNode,
    PlanNode,
    ProjectNode,
    TableScanNode,
    TopNNode,
)
from shared.plan.traversal import sources, with_sources

STRATEGY = "join_pushdown_strategy"


def push(
    node: PlanNode,
    below: Sequence[PlanNode],
    context: RuleContext,
    apply: Callable[[PlanNode, RuleContext], PlanNode],
    push_node: Callable[[PlanNode, RuleContext], PlanNode],
) -> PlanNode | None:
    """``node`` with its join in one scan; None where that cannot be or does not pay. ``below`` is what was pushed."""
    if not isinstance(node, AggregationNode | TopNNode | LimitNode) or not _stays_for_its_size(below[0], context):
        return None
    parts = _scans(below[0])
    if len({scan.table.connectorId for scan in parts}) != 1:
        return None
    connector = context.pushdown_of(parts[0].table.connectorId)
    if connector is None:
        return None
    eager = replace(
        context, session=replace(context.session, properties={**context.session.properties, STRATEGY: "EAGER"})
    )
    joined = apply(sources(node)[0], eager)
    if not isinstance(joined, TableScanNode):
        return None
    pushed = push_node(with_sources(node, [joined]), eager)
    scan = _one_scan(pushed)
    if scan is None or connector.pays(scan, parts, context.session) is not None:
        return None
    return pushed


def _stays_for_its_size(source: PlanNode, context: RuleContext) -> bool:
    while isinstance(source, ProjectNode | FilterNode):
        source = source.source
    return isinstance(source, JoinNode) and session_value(context.session, STRATEGY).upper() == "AUTOMATIC"


def _scans(node: PlanNode) -> list[TableScanNode]:
    if isinstance(node, TableScanNode):
        return [node]
    return [scan for source in sources(node) for scan in _scans(source)]


def _one_scan(node: PlanNode) -> TableScanNode | None:
    """The scan of a pushed node; engines read in any order, so TopN and LIMIT stay above it."""
    if isinstance(node, TopNNode | LimitNode):
        node = node.source
    return node if isinstance(node, TableScanNode) else None
