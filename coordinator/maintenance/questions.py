"""What a decision about a table looks at, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from coordinator.maintenance.policies import TablePolicy
from shared.spi.maintenance import TableState

OPEN_SECONDS = 0.02
"""To open one file of an object store."""
START_SECONDS = 1.0
ASSUMED_RATE: float = 30 << 20
"""Bytes a second, until own rewrites tell better."""


@dataclass(frozen=True, slots=True)
class Past:
    """What is remembered of a table. ``setbacks``: conflicts, failures and runs without effect since a good one.

    ``bytes_per_second`` is that of the catalog's rewrites where it was ``measured``.
    """

    scans_per_day: float | None = None
    last_rewrite: datetime | None = None
    last_orphans: datetime | None = None
    last_partitions: datetime | None = None
    last_conversion: datetime | None = None
    last_setback: datetime | None = None
    setbacks: int = 0
    bytes_per_second: float = ASSUMED_RATE
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One call that would help (``arguments`` beside schema and table), or why there is none.

    ``kind`` is its procedure. ``due``: when it may be wanted though nothing changes.
    """

    kind: str
    reason: str
    arguments: Mapping[str, object] | None = None
    size: int = 0
    seconds: float = 0.0
    priority: float = 0.0
    due: datetime | None = None

    @property
    def wanted(self) -> bool:
        return self.arguments is not None


@dataclass(frozen=True, slots=True)
class Question:
    """All that a decision looks at. ``most_bytes``: what one call may rewrite."""

    state: TableState
    policy: TablePolicy
    past: Past
    now: datetime
    horizon_days: float = 7.0
    most_bytes: int = 10 << 30


def disabled(asked: Question, part: str) -> str:
    """The reason of a step that a policy switches off."""
    return f"switched off by {asked.policy.sources.get(part, 'the table')}"


def seconds_of(asked: Question, size: int, files: int) -> float:
    """What a call takes that reads and writes so many bytes of so many files."""
    return round(START_SECONDS + 2 * size / asked.past.bytes_per_second + files * OPEN_SECONDS, 1)
