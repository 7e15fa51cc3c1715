"""What an engine measured of its own operators, in words that no engine has for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Does = Literal[
    "pass", "scan", "values", "filter", "aggregate", "join", "semi_join", "sort", "top_n", "limit", "union", "window",
    "unnest", "other",
]  # fmt: skip
"""``pass``: as many rows leave it as come, and no node of a plan stands for it."""
KEEPS_ROWS = frozenset({"pass", "sort", "window"})


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of the engine's plan, ``depth`` below its root, with its counters by name.

    What is None the engine does not tell. ``seconds`` of CPU are its own, without those of what feeds it; ``pipeline``
    are those of all operators below it up to the next pipeline.
    ``read_rows`` came to a scan, ``exchange`` moves rows between tasks.
    """

    name: str
    depth: int
    metrics: Mapping[str, int]
    does: Does = "other"
    rows: int | None = None
    size: int | None = None
    seconds: float | None = None
    pipeline: float | None = None
    memory: int | None = None
    read_rows: int | None = None
    table: str | None = None
    notes: tuple[str, ...] = ()
    exchange: bool = False
    engine: str = "Spark"


@dataclass(slots=True)
class Tree:
    """An operator over those that feed it."""

    operator: Operator
    children: list[Tree] = field(default_factory=list)

    @property
    def rows(self) -> int | None:
        """That leave it, also where only what feeds it counts them."""
        if self.operator.rows is not None:
            return self.operator.rows
        if self.operator.does in KEEPS_ROWS and len(self.children) == 1:
            return self.children[0].rows
        if self.operator.does == "union":
            counts = [child.rows for child in self.children]
            return None if None in counts else sum(count or 0 for count in counts)
        return None

    def walk(self) -> Iterator[Tree]:
        """It and all below, the root first."""
        waiting = [self]
        while waiting:
            tree = waiting.pop()
            yield tree
            waiting += reversed(tree.children)


def trees(operators: Sequence[Operator]) -> list[Tree]:
    """From a walk in which each operator comes before those that feed it."""
    roots: list[Tree] = []
    path: list[Tree] = []
    for operator in operators:
        while path and path[-1].operator.depth >= operator.depth:
            path.pop()
        tree = Tree(operator)
        (path[-1].children if path else roots).append(tree)
        path.append(tree)
    return roots
