"""Plans as trees of nodes with places: leaves side by side, a parent above the middle of its children."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

WIDTH, HEIGHT, GAP, LEVEL, MARGIN = 216, 62, 16, 92, 12
_LABEL = 32
_MOST_NODES = 2000
_PUSHED = re.compile(r"fileSelection = |:: \[\[|constraint|LAYOUT: |pushed|limit = |filterPredicate = ", re.IGNORECASE)
_LATE = re.compile(r"look-?up|late", re.IGNORECASE)


@dataclass(slots=True)
class Node:
    """One box. ``kind`` is a class of the drawing: scan, late, exchange, write, other."""

    name: str
    detail: str
    lines: tuple[str, ...]
    kind: str
    fragment: str | None = None
    verdict: str | None = None
    reason: str = ""
    pushed: bool = False
    children: list[Node] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    @property
    def label(self) -> str:
        return shortened(self.detail)

    @property
    def title(self) -> str:
        """All that is known of it."""
        parts = [f"{self.name} {self.detail}".strip(), *self.lines]
        if self.fragment is not None:
            verdict = "" if self.verdict is None else f", native: {self.verdict} {self.reason}".rstrip()
            parts.append(f"Fragment {self.fragment}{verdict}")
        return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes, and lines from parents to children as ``x1, y1, x2, y2``."""

    width: float
    height: float
    nodes: Sequence[Node]
    edges: Sequence[tuple[float, float, float, float]]


Hide = Callable[[str], str]


def logical_drawing(plan: Mapping[str, Any], hide: Hide) -> Drawing:
    """Of EXPLAIN (FORMAT JSON)."""
    return _laid_out(_node(plan, hide, None, {}, {}))


def distributed_drawing(fragments: Mapping[str, Any], verdicts: Mapping[str, tuple[str, str]], hide: Hide) -> Drawing:
    """Of EXPLAIN (TYPE DISTRIBUTED, FORMAT JSON): fragments hang below the exchanges that read them."""
    roots = {name: fragment["plan"] for name, fragment in fragments.items()}
    first = min(roots, key=int)
    return _laid_out(_node(roots[first], hide, first, roots, verdicts))


def parsed(text: str | None) -> Any:
    """None for what is no JSON, or too much."""
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def shortened(text: str, limit: int = _LABEL) -> str:
    """
    >>> shortened("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _node(
    plan: Mapping[str, Any],
    hide: Hide,
    fragment: str | None,
    roots: Mapping[str, Any],
    verdicts: Mapping[str, tuple[str, str]],
) -> Node:
    """Without recursion: plans may be deeper than Python's stack."""
    top = Node("", "", (), "other")
    waiting = [(plan, fragment, top)]
    made = 0
    while waiting and made < _MOST_NODES:
        raw, of, parent = waiting.pop()
        made += 1
        node = _box(raw, hide, of, verdicts)
        parent.children.append(node)
        below = [(child, of, node) for child in raw.get("children", ())]
        below += [(roots[name], name, node) for name in raw.get("remoteSources", ()) if name in roots]
        waiting += reversed(below)
    return top.children[0]


def _box(raw: Mapping[str, Any], hide: Hide, fragment: str | None, verdicts: Mapping[str, tuple[str, str]]) -> Node:
    name, identifier = str(raw.get("name", "")), hide(str(raw.get("identifier", "")))
    lines = tuple(hide(line) for line in str(raw.get("details", "")).splitlines())
    verdict, reason = verdicts.get(fragment or "", (None, ""))
    whole = "\n".join((identifier, *lines))
    return Node(
        name,
        identifier.strip().removeprefix("[").removesuffix("]"),
        lines,
        _kind(name),
        fragment,
        verdict,
        hide(reason),
        "Scan" in name and _PUSHED.search(whole) is not None,
    )


def _kind(name: str) -> str:
    if "Scan" in name or "Values" in name:
        return "scan"
    if _LATE.search(name):
        return "late"
    if "Exchange" in name or "RemoteSource" in name or "Merge" in name:
        return "exchange"
    if "Writer" in name or "Commit" in name or "Finish" in name or "Procedure" in name:
        return "write"
    return "other"


def _laid_out(root: Node) -> Drawing:
    order: list[tuple[Node, int]] = []
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        order.append((node, depth))
        waiting += [(child, depth + 1) for child in reversed(node.children)]
    leaves = 0
    for node, depth in order:
        node.y = MARGIN + depth * LEVEL
        if not node.children:
            node.x = MARGIN + leaves * (WIDTH + GAP)
            leaves += 1
    for node, _ in reversed(order):
        if node.children:
            node.x = (node.children[0].x + node.children[-1].x) / 2
    edges = [
        (node.x + WIDTH / 2, node.y + HEIGHT, child.x + WIDTH / 2, child.y)
        for node, _ in order
        for child in node.children
    ]
    deepest = max(depth for _, depth in order)
    width = 2 * MARGIN + leaves * (WIDTH + GAP) - GAP
    return Drawing(width, 2 * MARGIN + deepest * LEVEL + HEIGHT, [node for node, _ in order], edges)
