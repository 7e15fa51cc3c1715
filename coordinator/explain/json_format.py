"""FORMAT JSON, laid out as Jackson's pretty printer does: ``"key" : value``, ``[ ]``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from coordinator.explain.describe import Description, describe
from shared.plan.fragment import SubPlan
from shared.plan.nodes import PlanNode

Stats = Callable[[PlanNode, Description], Mapping[str, object] | None]


def logical_json(plan: PlanNode) -> str:
    """The tree of ``{id, name, identifier, details, children, remoteSources, estimates}``."""
    return pretty(logical_tree(plan))


def logical_tree(plan: PlanNode) -> dict[str, object]:
    """The same as an object."""
    return _node(plan, distributed=False)


def distributed_json(subplan: SubPlan) -> str:
    """``{"0": {"plan": …}, …}`` by fragment number."""
    return pretty(distributed_trees(subplan))


def distributed_trees(subplan: SubPlan, stats: Stats | None = None) -> dict[str, dict[str, object]]:
    """The same as objects; nodes of which ``stats`` knows something have it."""
    fragments = sorted(subplan.fragments(), key=lambda fragment: int(fragment.id))
    return {fragment.id: {"plan": _node(fragment.root, distributed=True, stats=stats)} for fragment in fragments}


def _node(node: PlanNode, *, distributed: bool, stats: Stats | None = None) -> dict[str, object]:
    described = describe(node, distributed=distributed)
    seen = None if stats is None else stats(node, described)
    return {
        "id": described.ids[-1],
        "name": described.name,
        "identifier": described.identifier,
        "details": "".join(f"{detail}\n" for detail in described.details),
        "children": [_node(source, distributed=distributed, stats=stats) for source in described.sources],
        "remoteSources": list(described.remote_sources),
        "estimates": [],
        **({} if seen is None else {"stats": seen}),
    }


def pretty(value: object, level: int = 0) -> str:
    """JSON text in Jackson's layout."""
    match value:
        case Mapping():
            if not value:
                return "{ }"
            inner = "  " * (level + 1)
            entries = (f"{inner}{json.dumps(k)} : {pretty(v, level + 1)}" for k, v in value.items())
            return "{\n" + ",\n".join(entries) + "\n" + "  " * level + "}"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Sequence():
            return f"[ {', '.join(pretty(v, level) for v in value)} ]" if value else "[ ]"
        case _:
            return json.dumps(value)
