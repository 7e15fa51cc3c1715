"""Plans as trees of nodes with places: leaves side by side, a parent above the middle of its children."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import msgspec

WIDTH, HEIGHT, GAP, LEVEL, MARGIN = 284, 62, 16, 92, 12
_LABEL = 38
_TITLE = 4000
_MOST_NODES = 2000
_PUSHED = re.compile(r"fileSelection = |:: \[\[|constraint|LAYOUT: |pushed|limit = |filterPredicate = ", re.IGNORECASE)
_TABLE = re.compile(r"TableHandle \{connectorId='([^']*)', connectorHandle='([^'$]*)")
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
    numbers: str = ""
    """Rows and bytes, where they are known of this very node."""
    children: list[Node] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    @property
    def label(self) -> str:
        return shortened(_label(self.detail))

    @property
    def title(self) -> str:
        """All that is known of it."""
        parts = [f"{self.name} {self.detail}".strip(), *self.lines]
        if self.fragment is not None:
            verdict = "" if self.verdict is None else f", native: {self.verdict} {self.reason}".rstrip()
            parts.append(f"Fragment {self.fragment}{verdict}")
        return shortened("\n".join(parts), _TITLE)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes, and lines from parents to children as ``x1, y1, x2, y2``."""

    width: float
    height: float
    nodes: Sequence[Node]
    edges: Sequence[tuple[float, float, float, float]]
    box: tuple[int, int] = (WIDTH, HEIGHT)
    """Width and height of a node."""


class NodeStats(msgspec.Struct, frozen=True):
    """What EXPLAIN ANALYZE (FORMAT JSON) says of a node, as far as it is known."""

    planNodeOutputPositions: int | None = None
    planNodeOutputDataSize: str | None = None
    planNodeCpuTime: str | None = None
    pipelineTime: str | None = None


class PlanNode(msgspec.Struct, frozen=True):
    """A node of EXPLAIN (FORMAT JSON)."""

    name: str = ""
    identifier: str = ""
    details: str = ""
    children: tuple[PlanNode, ...] = ()
    remoteSources: tuple[str, ...] = ()
    stats: NodeStats | None = None


class PlanFragment(msgspec.Struct, frozen=True):
    plan: PlanNode


Hide = Callable[[str], str]
Verdicts = Mapping[str, tuple[str, str]]
"""Verdict and reason by fragment."""


def logical_drawing(plan: PlanNode, hide: Hide) -> Drawing:
    """Of EXPLAIN (FORMAT JSON)."""
    return _laid_out(_node(plan, hide, None, {}, {}))


def distributed_drawing(fragments: Mapping[str, PlanFragment], verdicts: Verdicts, hide: Hide) -> Drawing:
    """Of EXPLAIN (TYPE DISTRIBUTED, FORMAT JSON): fragments hang below the exchanges that read them."""
    roots = {name: fragment.plan for name, fragment in fragments.items()}
    first = min(roots, key=int)
    return _laid_out(_node(roots[first], hide, first, roots, verdicts))


def with_numbers(drawing: Drawing, returned: str, read: str) -> Drawing:
    """What came out stands at the root; what was read at the scan, where there is one alone.

    Where the engine told of the node itself, that stands there.
    """
    scans = [node for node in drawing.nodes if "Scan" in node.name]
    drawing.nodes[0].numbers = drawing.nodes[0].numbers or returned
    if len(scans) == 1:
        scans[0].numbers = scans[0].numbers or read
    return drawing


def logical_plan(text: str | None) -> PlanNode | None:
    """None for what is none, or too deep."""
    try:
        return msgspec.json.decode(text, type=PlanNode) if text else None
    except (msgspec.DecodeError, RecursionError):
        return None


def distributed_plan(text: str) -> dict[str, PlanFragment] | None:
    """The same of the fragments."""
    try:
        return msgspec.json.decode(text, type=dict[str, PlanFragment])
    except (msgspec.DecodeError, RecursionError):
        return None


def shortened(text: str, limit: int = _LABEL) -> str:
    """
    >>> shortened("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _node(
    plan: PlanNode,
    hide: Hide,
    fragment: str | None,
    roots: Mapping[str, PlanNode],
    verdicts: Verdicts,
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
        below = [(child, of, node) for child in raw.children]
        below += [(roots[name], name, node) for name in raw.remoteSources if name in roots]
        waiting += reversed(below)
    return top.children[0]


def _box(raw: PlanNode, hide: Hide, fragment: str | None, verdicts: Verdicts) -> Node:
    name, identifier = raw.name, hide(raw.identifier)
    lines = tuple(hide(line) for line in raw.details.splitlines())
    verdict, reason = verdicts.get(fragment or "", (None, ""))
    whole = "\n".join((identifier, *lines))
    return Node(
        name,
        _detail(identifier),
        lines,
        _kind(name),
        fragment,
        verdict,
        hide(reason),
        "Scan" in name and _PUSHED.search(whole) is not None,
        _numbers(raw.stats),
    )


def _label(identifier: str) -> str:
    """What is seen of an identifier without a look at its tip: of a scan its table.

    >>> _label("[TableHandle {connectorId='lake', connectorHandle='t$data@7', layout='Optional[t$data@7]'}]")
    't (lake)'
    """
    table = _TABLE.search(identifier)
    return _detail(identifier) if table is None else f"{table[2]} ({table[1]})"


def _detail(identifier: str) -> str:
    """An identifier without the brackets of its parts.

    >>> _detail("[1] [sum DESC_NULLS_LAST]"), _detail("[HASH] (a)"), _detail("[layout='Optional[x]']")
    ('1 sum DESC_NULLS_LAST', 'HASH (a)', "layout='Optional[x]'")
    """
    parts, rest = [], identifier.strip()
    while rest.startswith("["):
        depths = accumulate({"[": 1, "]": -1}.get(character, 0) for character in rest)
        end = next((at for at, depth in enumerate(depths) if depth == 0), None)
        if end is None:
            break
        parts.append(rest[1:end])
        rest = rest[end + 1 :].strip()
    return " ".join(part for part in (*parts, rest) if part)


def _numbers(stats: NodeStats | None) -> str:
    """
    >>> _numbers(NodeStats(planNodeOutputPositions=1200, planNodeCpuTime="3.00ms"))
    '1,200 rows, 3.00ms'
    """
    if stats is None or stats.planNodeOutputPositions is None:
        return ""
    rows = stats.planNodeOutputPositions
    parts = ["1 row" if rows == 1 else f"{rows:,} rows", stats.planNodeOutputDataSize, stats.planNodeCpuTime]
    return ", ".join(part for part in parts if part)


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
