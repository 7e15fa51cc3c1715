"""Spark's progress messages as the progress of the query whose thread receives them, and what that thread began."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from pyspark.sql.connect.proto import ExecutePlanRequest

from coordinator.engine.execution import QueryProgress, StageProgress


class SparkStage(Protocol):
    """One stage in Spark Connect's messages."""

    @property
    def stage_id(self) -> int: ...

    @property
    def num_tasks(self) -> int: ...

    @property
    def num_completed_tasks(self) -> int: ...

    @property
    def num_bytes_read(self) -> int: ...

    @property
    def done(self) -> bool: ...


Report = Callable[[QueryProgress], None]


class ProgressRelay:
    """A session's progress handler, and its hook. Both are called on the thread that reads an operation's results."""

    def __init__(self) -> None:
        self._here = threading.local()

    @contextmanager
    def reporting(self, report: Report | None, operations: list[str] | None = None) -> Iterator[None]:
        """What this thread receives goes to ``report`` until the block ends, what it begins to ``operations``."""
        self._here.report, self._here.operations = report, operations
        try:
            yield
        finally:
            self._here.report = self._here.operations = None

    def on_execute_plan(self, request: ExecutePlanRequest) -> ExecutePlanRequest:
        """An operation is about to begin; it gets its id here, where it would get one later."""
        if not request.operation_id:
            request.operation_id = str(uuid.uuid4())
        operations: list[str] | None = getattr(self._here, "operations", None)
        if operations is not None:
            operations.append(request.operation_id)
        return request

    def __call__(
        self, stages: Sequence[SparkStage] | None, inflight_tasks: int, operation_id: str | None, done: bool
    ) -> None:
        del operation_id, done
        report: Report | None = getattr(self._here, "report", None)
        if report is not None and stages:
            report(query_progress(stages, inflight_tasks))


def query_progress(stages: Sequence[SparkStage], running: int) -> QueryProgress:
    """Tasks of all stages as splits, and the bytes they read."""
    each = _stages(stages, running)
    return QueryProgress(
        completed_splits=sum(stage.completed_splits for stage in each),
        total_splits=sum(stage.total_splits for stage in each),
        running_splits=running,
        processed_bytes=sum(stage.processed_bytes for stage in each),
        phase="running on Spark",
        stages=each,
    )


def _stages(stages: Sequence[SparkStage], running: int) -> tuple[StageProgress, ...]:
    """Spark tells how many tasks run, not whose they are: of the oldest stages with any left, as it schedules them."""
    found, unassigned = [], running
    for stage in sorted(stages, key=lambda stage: stage.stage_id):
        left = 0 if stage.done else max(0, stage.num_tasks - stage.num_completed_tasks)
        of_stage = min(unassigned, left)
        unassigned -= of_stage
        found.append(
            StageProgress(
                str(stage.stage_id),
                completed_splits=stage.num_completed_tasks,
                total_splits=stage.num_tasks,
                running_splits=of_stage,
                processed_bytes=stage.num_bytes_read,
                done=stage.done,
            )
        )
    return tuple(found)
