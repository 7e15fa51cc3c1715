"""Numbers to the geometry of small charts; templates draw them as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A curve in a box of ``width`` times ``height``; ``area`` is closed along the bottom."""

    width: int
    height: int
    points: str
    area: str
    most: float
    last: float


def line(values: Sequence[float], slots: int, width: int = 240, height: int = 48) -> Line:
    """``slots`` values fill the width; fewer of them stand at its right.

    >>> line([0, 1], 3, 20, 10).points
    '10.0,9.0 20.0,1.0'
    """
    most = max(values, default=0.0)
    step = width / max(1, slots - 1)
    first = width - step * max(0, len(values) - 1)
    room = height - 2
    drawn = [(first + step * i, height - 1 - (value / most * room if most else 0.0)) for i, value in enumerate(values)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
    area = f"{drawn[0][0]:.1f},{height} {points} {drawn[-1][0]:.1f},{height}" if drawn else ""
    return Line(width, height, points, area, most, values[-1] if values else 0.0)


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    x: float
    width: float
    note: str = ""


def bars(values: Sequence[tuple[str, float, str]], width: int = 320) -> list[Bar]:
    """Label, value and note of each, side by side below each other."""
    most = max((value for _, value, _ in values), default=0.0) or 1.0
    return [Bar(label, value, 0.0, round(value / most * width, 1), note) for label, value, note in values]


def stacked(values: Sequence[tuple[str, float]], width: int = 640) -> list[Bar]:
    """One behind the other in a line, so that they fill ``width``; what took next to nothing is still seen."""
    total = sum(value for _, value in values) or 1.0
    found, x = [], 0.0
    for label, value in values:
        wide = max(1.0, round(value / total * width, 1))
        found.append(Bar(label, value, round(x, 1), wide, f"{value / total:.0%}"))
        x += wide
    return found
