"""The jobs of operations that failed are told too, where Spark can still be asked. Without a Spark."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.engine.spark import runner
from coordinator.engine.spark.runner import Fixed, Runner
from shared.errors import ProcessionError


class Noting:
    """An execution that notes what it is told of Spark."""

    query_id = "q"

    def __init__(self) -> None:
        self.operations: list[str] = []
        self.jobs: list[int] = []

    def ran_on_spark(self, operations: list[str], jobs: tuple[int, ...]) -> None:
        self.operations += operations
        self.jobs += jobs

    def on_cancel(self, _: object) -> None:
        return

    check_cancelled = staticmethod(lambda: None)


class FakeConnection:
    """One whose operation ``o1`` begins and fails with ``error``."""

    parallelism, server, server_alive = 1, None, True

    def __init__(self, error: Exception) -> None:
        self.lost = threading.Event()
        tags = SimpleNamespace(addTag=lambda _: None, removeTag=lambda _: None, client=None)
        self.session, self.progress, self._error = tags, self, error

    @contextmanager
    def reporting(self, _: object, operations: list[str]) -> Any:
        operations.append("o1")
        yield

    def frame(self, _: object) -> Any:
        raise self._error


def told_of(error: Exception) -> Noting:
    connection, noting = FakeConnection(error), Noting()
    made = Runner(Fixed(connection), noting, jobs_of=lambda _, operations: (7, 8) if operations == ["o1"] else ())  # type: ignore[arg-type]
    with pytest.raises(ProcessionError):
        list(made.batches(connection.frame))
    return noting


def test_of_an_operation_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_WORTH_ASKING_SECONDS", 0.0)
    noting = told_of(ValueError("the task failed"))
    assert (noting.operations, noting.jobs) == (["o1"], [7, 8])


def test_not_where_it_is_worth_less_than_asking() -> None:
    assert told_of(ValueError("the task failed")).jobs == []
