"""Spark's progress messages as the progress of the query whose thread receives them, and what that thread began."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql.connect.proto import ExecutePlanRequest

from coordinator.engine.execution import QueryProgress

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
        self, stages: Sequence[object] | None, inflight_tasks: int, operation_id: str | None, done: bool
    ) -> None:
        del operation_id, done
        report: Report | None = getattr(self._here, "report", None)
        if report is not None and stages:
            report(query_progress(stages, inflight_tasks))


def query_progress(stages: Sequence[Any], running: int) -> QueryProgress:
    """Tasks of all stages as splits, and the bytes they read."""
    return QueryProgress(
        completed_splits=sum(stage.num_completed_tasks for stage in stages),
        total_splits=sum(stage.num_tasks for stage in stages),
        running_splits=running,
        processed_bytes=sum(stage.num_bytes_read for stage in stages),
        phase="running on Spark",
    )
