"""What a plan's projections say of a window frame's bounds."""

from __future__ import annotations

from shared.plan.expressions import Call, Constant, RowExpression, Variable
from shared.plan.nodes import FilterNode, PlanNode, ProjectNode, WindowFrame, WindowNode


def definitions(node: PlanNode) -> dict[str, RowExpression]:
    """The variables of a plan's top projections and what they stand for, the uppermost first."""
    found: dict[str, RowExpression] = {}
    while isinstance(node, ProjectNode | WindowNode | FilterNode):
        if isinstance(node, ProjectNode):
            for key, assigned in node.assignments.assignments.items():
                if not isinstance(assigned, Variable):
                    found.setdefault(key.partition("<")[0], assigned)
        node = node.source
    return found


def constant_offset(frame: WindowFrame, bound: Variable, known: dict[str, RowExpression]) -> Constant | None:
    """A bound's offset when it is constant: for RANGE, what the plan adds to the sort key or takes from it."""
    defined = known.get(bound.name)
    if frame.type == "RANGE" and isinstance(defined, Call) and len(defined.arguments) == 2:
        defined = defined.arguments[1]
        if isinstance(defined, Variable):
            defined = known.get(defined.name)
    return defined if isinstance(defined, Constant) else None
