"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from coordinator.planner.identifiers import PlanNodeIds
from shared.plan.nodes import PlanNode
from shared.plan.traversal import rewrite_bottom_up
from shared.spi.pushdown import PushdownOf
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What a rule may use besides the plan. ``table_rows`` are exact row counts by the id of a scan."""

    session: Session
    ids: PlanNodeIds
    pushdown_of: PushdownOf = lambda _catalog: None
    table_rows: Mapping[str, int] = field(default_factory=dict)


Rewrite = Callable[[PlanNode, RuleContext], PlanNode]


@dataclass(frozen=True, slots=True)
class Rule:
    """``apply`` maps a whole plan to one with the same output, the same object when nothing was to do.

    ``name`` is also its switch: session property ``optimizer_rule_<name>``.
    """

    name: str
    apply: Rewrite


def node_rule(name: str, rewrite: Rewrite) -> Rule:
    """A rule that looks at each node by itself, sources first."""

    def apply(plan: PlanNode, context: RuleContext) -> PlanNode:
        return rewrite_bottom_up(plan, lambda node: rewrite(node, context))

    return Rule(name, apply)
