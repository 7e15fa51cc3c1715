"""ValidateAggregationsWithDefaultValues: an empty grouping set beside others gives its default row exactly once.

``GROUP BY GROUPING SETS ((), (a))`` over no rows must give one row. Partial aggregations make it in every task, so the
final one must gather them: between the two stands a remote exchange, and within a fragment a local one.
"""

from __future__ import annotations

from collections.abc import Mapping

from coordinator.checks.built_in.failure import invalid_plan
from shared.plan.fragment import SimplePlanFragment, SubPlan
from shared.plan.nodes import AggregationNode, ExchangeNode, PlanNode, RemoteSourceNode
from shared.plan.traversal import sources, walk


def check(subplan: SubPlan) -> None:
    """Raises INVALID_PLAN_ERROR for a final aggregation with default values that is not separated from its partials."""
    fragments = {fragment.id: fragment for fragment in subplan.fragments()}
    for fragment in fragments.values():
        for node in walk(fragment.root):
            if isinstance(node, AggregationNode) and _has_default_output(node) and node.step == "FINAL":
                remote, local = _exchanges_to_partial(node.source, fragments)
                if not remote and not _single_node(fragment):
                    raise invalid_plan(_message("remote"), node.sourceLocation)
                if not remote and not local:
                    raise invalid_plan(_message("local"), node.sourceLocation)


def _message(scope: str) -> str:
    return f"Final aggregation with default value not separated from partial aggregation by {scope} hash exchange"


def _has_default_output(node: AggregationNode) -> bool:
    sets = node.groupingSets
    return bool(sets.globalGroupingSets) and sets.groupingSetCount > len(sets.globalGroupingSets)


def _single_node(fragment: SimplePlanFragment) -> bool:
    return fragment.partitioning.connectorHandle.get("partitioning") in ("SINGLE", "COORDINATOR_ONLY")


def _exchanges_to_partial(node: PlanNode, fragments: Mapping[str, SimplePlanFragment]) -> tuple[bool, bool]:
    """Whether every way down to a partial aggregation passes a remote exchange, and whether a local one."""
    match node:
        case AggregationNode(step="PARTIAL"):
            return False, False
        case RemoteSourceNode():
            return True, True
        case ExchangeNode():
            below = [_exchanges_to_partial(source, fragments) for source in node.sources]
            remote = node.scope != "LOCAL" or all(r for r, _ in below)
            return remote, True
        case _:
            below = [_exchanges_to_partial(source, fragments) for source in sources(node)]
            return all(r for r, _ in below), all(found for _, found in below)
