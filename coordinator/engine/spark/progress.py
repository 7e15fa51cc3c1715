"""Spark's progress messages as the progress of the query whose thread receives them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from coordinator.engine.execution import QueryProgress

Report = Callable[[QueryProgress], None]


class ProgressRelay:
    """A session's progress handler. Handlers are called on the thread that reads an operation's results."""

    def __init__(self) -> None:
        self._here = threading.local()

    @contextmanager
    def reporting(self, report: Report | None) -> Iterator[None]:
        """What this thread receives goes to ``report`` until the block ends."""
        self._here.report = report
        try:
            yield
        finally:
            self._here.report = None

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
