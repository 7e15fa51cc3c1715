"""Whose unfinished work is, by the members of the cluster. Implements ``SharedWork``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, Engine, exists, func, select

from coordinator.cluster.schema import NODES


@dataclass(frozen=True, slots=True)
class ClusterWork:
    """``owner`` is the end of this coordinator's query ids. Who ended ``delay`` seconds ago changes nothing more."""

    engine: Engine
    owner: str
    delay: float

    def lives(self) -> ColumnElement[bool]:
        """Its lease is not over; nobody takes its work over before ``delay`` seconds after that."""
        mine = (NODES.c.suffix == self.owner) & (NODES.c.until > func.now()) & NODES.c.replaced.is_(False)
        return exists(select(NODES.c.suffix).where(mine))

    def has_ended(self, owner: ColumnElement[str]) -> ColumnElement[bool]:
        """Whoever stood under the name and address of a later one has ended before that began."""
        lives = NODES.c.until > func.now() - timedelta(seconds=self.delay)
        return ~exists(select(NODES.c.suffix).where(NODES.c.suffix == owner, lives, NODES.c.replaced.is_(False)))
