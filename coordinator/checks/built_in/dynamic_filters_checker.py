"""DynamicFiltersChecker: what a join promises to tell its probe side, a filter on that side must be waiting for."""

from __future__ import annotations

import msgspec

from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.blocks import decode_constant
from shared.plan.expressions import Call, Constant, RowExpression, StaticFunctionHandle
from shared.plan.nodes import FilterNode, JoinNode, OutputNode, PlanNode, SemiJoinNode
from shared.plan.traversal import sources, walk_expression

_PLACEHOLDER = "dynamic_filter_function"


def check(plan: PlanNode) -> None:
    """Raises INVALID_PLAN_ERROR. ``plan`` is a whole one: fragments part a join from its probe side's filters."""
    _consumed(plan)


def _consumed(node: PlanNode) -> frozenset[str]:
    """Ids of the dynamic filters that are waited for in ``node`` and below, and that no join there serves."""
    match node:
        case JoinNode():
            if node.filter is not None and _placeholders(node.filter):
                raise invalid_plan("Dynamic filters present in join's filter predicate were not pushed down")
            return _of_join(node, node.left, node.right)
        case SemiJoinNode():
            return _of_join(node, node.source, node.filteringSource)
        case FilterNode():
            return _placeholders(node.predicate) | _consumed(node.source)
        case OutputNode():
            unmatched = _consumed(node.source)
            if unmatched:
                raise invalid_plan("All consumed dynamic filters could not be matched with a join.")
            return unmatched
        case _:
            return frozenset().union(*map(_consumed, sources(node)))


def _of_join(node: JoinNode | SemiJoinNode, probe: PlanNode, build: PlanNode) -> frozenset[str]:
    promised = frozenset(() if node.dynamicFilters is msgspec.UNSET else node.dynamicFilters)
    by_probe, by_build = _consumed(probe), _consumed(build)
    if missing := promised - by_probe:
        message = f"Dynamic filters {sorted(missing)} present in join were not fully consumed by its probe side"
        raise invalid_plan(message, node.sourceLocation)
    if wrong := promised & by_build:
        message = f"Dynamic filters {sorted(wrong)} present in join were consumed by its build side"
        raise invalid_plan(message, node.sourceLocation)
    return (by_probe | by_build) - promised


def _placeholders(expression: RowExpression) -> frozenset[str]:
    """Ids in the calls of the internal function that stands for a dynamic filter: its last argument."""
    found = set()
    for inner in walk_expression(expression):
        if isinstance(inner, Call) and isinstance(inner.functionHandle, StaticFunctionHandle):
            last = inner.arguments[-1] if inner.arguments else None
            if inner.functionHandle.signature.name.endswith(_PLACEHOLDER) and isinstance(last, Constant):
                found.add(str(decode_constant(last.valueBlock, last.type)))
    return frozenset(found)
