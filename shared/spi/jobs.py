"""Procedure calls as jobs: what runs, what ran, and stopping one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

JobState = Literal["RUNNING", "FINISHED", "FAILED", "CANCELED", "LOST"]
"""LOST: the coordinator died while it ran; what it did then is told by the table."""


@dataclass(frozen=True, slots=True)
class Job:
    """One CALL; its id is that of its query. Moments are in UTC, ``completed`` and ``total`` count its own steps."""

    job_id: str
    procedure: str
    table: str | None
    user: str
    state: JobState
    started: datetime
    ended: datetime | None = None
    completed: int = 0
    total: int = 0
    phase: str = ""
    error: str | None = None
    node_id: str = ""
    """The coordinator that runs or ran it."""


class Jobs(Protocol):
    """The jobs of this coordinator, and of those beside it; may be called in any thread."""

    def jobs(self, limit: int, state: str | None = None) -> Sequence[Job]:
        """The newest first."""
        ...

    def kill(self, job_id: str, message: str) -> bool:
        """Stop a running job; False when no such job runs."""
        ...
