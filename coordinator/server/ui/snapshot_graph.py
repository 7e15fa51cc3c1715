"""Snapshots and references as a graph: the newest above, each line of ancestors in a lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROW, LANE, MARGIN = 26, 18, 14
_NUMBERS = (
    ("added-records", "+{} rows"),
    ("deleted-records", "-{} rows"),
    ("added-data-files", "+{} files"),
    ("deleted-data-files", "-{} files"),
    ("added-delete-files", "+{} delete files"),
)


@dataclass(frozen=True, slots=True)
class Point:
    """A snapshot; ``names`` are the branches and tags at it."""

    snapshot_id: str
    x: float
    y: float
    time: str
    operation: str
    summary: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    width: float
    height: float
    points: Sequence[Point]
    lines: Sequence[tuple[float, float, float, float]]


def snapshot_graph(snapshots: Sequence[Mapping[str, object]], references: Sequence[Mapping[str, object]]) -> Graph:
    """``snapshots``: the newest first, as in ``t$snapshots``; ``references`` as in ``t$refs``."""
    names: dict[str, list[str]] = {}
    for each in references:
        names.setdefault(str(each["snapshot_id"]), []).append(f"{each['name']} ({str(each['type']).lower()})")
    lanes = _lanes(snapshots)
    rows = {str(each["snapshot_id"]): number for number, each in enumerate(snapshots)}
    points, lines = [], []
    for each in snapshots:
        identity = str(each["snapshot_id"])
        x, y = _place(lanes[identity], rows[identity])
        raw = each.get("summary")
        summary = raw if isinstance(raw, dict) else {}
        numbers = [text.format(summary[key]) for key, text in _NUMBERS if summary.get(key, "0") != "0"]
        found = tuple(names.get(identity, ()))
        operation = str(each.get("operation") or "")
        points.append(Point(identity, x, y, str(each["committed_at"])[:19], operation, ", ".join(numbers), found))
        parent = str(each.get("parent_id"))
        if parent in rows:
            lines.append((x, y, *_place(lanes[parent], rows[parent])))
    most = max(lanes.values(), default=0)
    return Graph(2 * MARGIN + most * LANE, 2 * MARGIN + max(0, len(snapshots) - 1) * ROW, points, lines)


def _place(lane: int, row: int) -> tuple[float, float]:
    return MARGIN + lane * LANE, MARGIN + row * ROW


def _lanes(snapshots: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """A snapshot is in the first lane among its children's; what has none begins one."""
    lanes: dict[str, int] = {}
    count = 0
    for each in snapshots:
        identity = str(each["snapshot_id"])
        if identity not in lanes:
            lanes[identity] = count
            count += 1
        parent = each.get("parent_id")
        if parent is not None:
            lanes[str(parent)] = min(lanes[identity], lanes.get(str(parent), lanes[identity]))
    return lanes
