"""``relation AS alias (columns)``."""

from __future__ import annotations

from coordinator.analyzer.context import Context
from coordinator.analyzer.scope import ScopeField
from coordinator.planner.query.builder import Ids, RelationPlan, with_own_variables
from coordinator.sql.tree.queries import AliasedRelation


def aliased(ids: Ids, plan: RelationPlan, node: AliasedRelation, context: Context) -> RelationPlan:
    """A relation under another name."""
    plan = with_own_variables(ids, plan)
    name = node.alias.value.lower()
    visible = plan.visible
    if node.columns is not None and len(node.columns) != len(visible):
        count = len(node.columns)
        message = f"Column alias list has {count} entries but '{name}' has {len(visible)} columns available"
        raise context.error(node, message)
    names = [f.name for f in visible] if node.columns is None else [c.value for c in node.columns]
    shown = (ScopeField(n, f.variable, (name,)) for n, f in zip(names, visible, strict=True))
    hidden = (ScopeField(f.name, f.variable, (name,), True) for f in plan.fields if f.hidden)
    return RelationPlan(plan.node, (*shown, *hidden))
