"""What the service remembers and shows: looks, decisions, jobs and what pauses it. All moments are in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Verdict = Literal["RUN", "DRY RUN", "WAIT", "SKIP", "FAILED"]
"""Of a decision: a job follows; would follow; is put off by window, budget, pause or users; not needed; no look."""
JobState = Literal["RUNNING", "FINISHED", "FAILED", "STOPPED", "LOST"]


@dataclass(frozen=True, slots=True, order=True)
class TableKey:
    """A table by its name, in the letters that its catalog has."""

    catalog: str
    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.catalog}.{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class Look:
    """A table as the last look found it. ``lag_seconds``: how long work that is wanted has been waiting."""

    key: TableKey
    uuid: str
    marker: str
    health: int
    worst: int
    worst_partition: str
    files: int
    files_needed: int
    small_files: int
    delete_files: int
    deleted_ratio: float
    size: int
    snapshots: int
    manifests: int
    appended: int
    rewritten: int
    policy: str
    state: str
    reason: str
    looked: datetime
    next_look: datetime
    waiting_since: datetime | None = None
    overlap_depth: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """What tells whether a table is due: how the last look found it."""

    marker: str
    state: str
    next_look: datetime


@dataclass(frozen=True, slots=True)
class Decision:
    """One step of one look: what was decided and by which numbers."""

    moment: datetime
    key: TableKey
    step: str
    verdict: Verdict
    reason: str
    priority: float = 0.0
    size: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MaintenanceJob:
    """One call. ``job_id`` is the id of its query."""

    job_id: str
    key: TableKey
    procedure: str
    trigger: str
    state: JobState
    started: datetime
    ended: datetime | None = None
    estimated_size: int = 0
    estimated_seconds: float = 0.0
    files_before: int | None = None
    files_after: int | None = None
    size_before: int | None = None
    size_after: int | None = None
    error: str | None = None

    @property
    def seconds(self) -> float | None:
        return None if self.ended is None else (self.ended - self.started).total_seconds()


@dataclass(frozen=True, slots=True)
class Pause:
    """Maintenance of everything (``*``), a catalog, a schema or a table stands still."""

    scope: str
    by: str
    since: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Work of the last 24 hours."""

    size: int = 0
    seconds: float = 0.0
    jobs: int = 0
