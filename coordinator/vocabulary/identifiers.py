"""Ids of plan nodes and names of variables, unique in one plan."""

from __future__ import annotations

from itertools import count

from shared.plan.expressions import SourceLocation, Variable
from shared.plan.nodes import PlanNode
from shared.plan.traversal import walk


class PlanNodeIds:
    """Hands out ``0``, ``1``, ``2`` …"""

    def __init__(self, first: int = 0) -> None:
        self._numbers = count(first)

    @classmethod
    def after(cls, plan: PlanNode) -> PlanNodeIds:
        """Ids that no node of ``plan`` has."""
        return cls(1 + max((int(node.id) for node in walk(plan) if node.id.isdigit()), default=-1))

    def next(self) -> str:
        return str(next(self._numbers))


class Variables:
    """Hands out variables: the wanted name, or with a number behind it when that is taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers = count(1)

    def new(self, name: str, type_text: str, location: SourceLocation | None = None) -> Variable:
        unique = name
        while unique in self._taken:
            unique = f"{name}_{next(self._numbers)}"
        self._taken.add(unique)
        return Variable(name=unique, type=type_text, sourceLocation=location)
