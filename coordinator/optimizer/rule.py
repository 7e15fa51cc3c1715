"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from coordinator.vocabulary.identifiers import PlanNodeIds
from coordinator.vocabulary.session_properties import SessionProperty
from shared.plan.nodes import PlanNode, TableScanNode
from shared.plan.traversal import rewrite_bottom_up, rewrite_kinds
from shared.spi.pushdown import PushdownOf
from shared.spi.row_position import RowPositionDescriptor
from shared.spi.session import Session
from shared.spi.table_statistics import ValueRange

RowPositionOf = Callable[[TableScanNode], RowPositionDescriptor | str | None]
"""How a connector finds the rows of a scan again, or why it cannot; None for one that never can."""


ColumnBoundsOf = Callable[[TableScanNode], Mapping[str, Sequence[ValueRange]]]
"""Where the values of a scan's columns lie, by their handles' names, of those for which it is known."""


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What a rule may use besides the plan.

    ``table_rows`` are row counts by the id of a scan, estimated where a table has deletes, ``distinct_values`` those of
    columns by the names of their variables; ``notes`` are for EXPLAIN: why something was not done.
    """

    session: Session
    ids: PlanNodeIds
    pushdown_of: PushdownOf = lambda _catalog: None
    table_rows: Mapping[str, int] = field(default_factory=dict)
    row_position: RowPositionOf | None = None
    column_bounds: ColumnBoundsOf = lambda _scan: {}
    notes: list[str] = field(default_factory=list)
    distinct_values: Mapping[str, float] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Tell EXPLAIN, once."""
        if text not in self.notes:
            self.notes.append(text)


Rewrite = Callable[[PlanNode, RuleContext], PlanNode]


@dataclass(frozen=True, slots=True)
class Rule:
    """``apply`` maps a whole plan to one with the same output, the same object when nothing was to do."""

    name: str
    apply: Rewrite
    kinds: frozenset[type] | None = None
    """The nodes that it may change; a plan without any of them needs no look. None: any."""
    description: str = ""
    switch: SessionProperty = field(init=False)
    """The session property that turns it off."""

    def __post_init__(self) -> None:
        about = f"Optimizer rule: {self.description}"
        switch = SessionProperty(f"optimizer_rule_{self.name}", "boolean", "true", about)
        object.__setattr__(self, "switch", switch)


def node_rule(name: str, rewrite: Rewrite, *kinds: type, description: str = "") -> Rule:
    """A rule that looks at each node of the given ``kinds`` (of any, for none given) by itself, sources first."""
    wanted = frozenset(kinds) or None

    def apply(plan: PlanNode, context: RuleContext) -> PlanNode:
        if wanted is None:
            return rewrite_bottom_up(plan, lambda node: rewrite(node, context))
        return rewrite_kinds(plan, wanted, lambda node: rewrite(node, context))

    return Rule(name, apply, wanted, description)
