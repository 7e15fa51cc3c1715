"""Window frame offsets that a plan holds as constants."""

from __future__ import annotations

from coordinator.analyzer.builders import value_of
from shared.plan.expressions import Constant
from shared.plan.nodes import (
    FilterNode,
    PlanNode,
    ProjectNode,
    WindowNode,
)


def constant_offsets(node: PlanNode) -> dict[str, int]:
    """The variables of a plan's top projections that hold an integer constant."""
    found: dict[str, int] = {}
    while isinstance(node, ProjectNode | WindowNode | FilterNode):
        if isinstance(node, ProjectNode):
            for key, assigned in node.assignments.assignments.items():
                value = value_of(assigned) if isinstance(assigned, Constant) else None
                if isinstance(value, int):
                    found.setdefault(key.partition("<")[0], value)
        node = node.source
    return found
