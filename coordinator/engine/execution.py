"""What an engine sees of the query that it runs; who runs queries gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from coordinator.explain.operators import Operator
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class StageProgress:
    """One stage of an engine that runs a statement in several, under the engine's own name for it."""

    name: str
    completed_splits: int
    total_splits: int
    running_splits: int = 0
    processed_bytes: int = 0
    done: bool = False


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """Totals so far; rows and bytes are those read, ``phase`` a phrase for the query page.

    ``percentage`` where an engine tells more than by splits. ``stages`` where it has several, in its own order.
    """

    completed_splits: int = 0
    total_splits: int = 0
    running_splits: int = 0
    processed_rows: int = 0
    processed_bytes: int = 0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
    nodes: int = 1
    phase: str = ""
    percentage: float | None = None
    stages: tuple[StageProgress, ...] = ()


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows in Parquet files on this machine, and their size in bytes."""

    paths: tuple[str, ...]
    size_bytes: int


class SentRows(Protocol):
    """Rows that a client sends along with its statement."""

    def staged(self, execution: Execution, most_bytes: int | None) -> AbstractContextManager[StagedRows]:
        """All of them in files, which are gone when the context ends. Blocks until the client has sent the last one.

        Raises ProcessionError: the client broke off, its rows cannot be read, or they take more than ``most_bytes``.
        """
        ...


class Execution(Protocol):
    """One run of a planned statement as its executor sees it; all methods may be called from any thread."""

    @property
    def query_id(self) -> str: ...

    @property
    def session(self) -> Session: ...

    @property
    def sent_rows(self) -> SentRows | None:
        """What its client sends along with it."""
        ...

    def report_progress(self, progress: QueryProgress) -> None:
        """The newest totals; cheap, may be called often."""
        ...

    def set_update_count(self, count: int) -> None:
        """The protocol's updateCount."""
        ...

    def committed(self, snapshot_id: int) -> None:
        """The snapshot with what the statement wrote."""
        ...

    def ran_on(self, engine: str, why: str) -> None:
        """Another engine than the planned one runs it."""
        ...

    def ran_on_spark(self, operations: Sequence[str], jobs: Sequence[int]) -> None:
        """More of Spark Connect's operations, and of Spark's jobs, that it was."""
        ...

    def report_operators(self, operators: Sequence[Operator]) -> None:
        """What the engine's operators did, once all rows have come."""
        ...

    def check_cancelled(self) -> None:
        """Raise the error that ended the query (USER_CANCELED, ABANDONED_QUERY, …), if one did."""
        ...

    def kill(self, message: str) -> None:
        """End the query with ADMINISTRATIVELY_KILLED, on behalf of somebody else."""
        ...

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call back once, on a thread of its own, when the query ends early; at once if it already has."""
        ...
