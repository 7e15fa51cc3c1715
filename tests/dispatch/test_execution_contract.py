"""What engines and procedures rely on, asked of the real execution of a query and of the one that tests use."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from coordinator.dispatch.clock import SystemClock
from coordinator.dispatch.execution import QueryExecution
from coordinator.dispatch.failures import canceled
from coordinator.dispatch.query import Query
from coordinator.dispatch.settings import DispatchSettings
from coordinator.engine.execution import Execution, QueryProgress
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from tests.execution import FakeExecution

SESSION = Session(user="ann", query_id="20260101_000000_00007_tests")


@dataclass(frozen=True)
class Subject:
    """An execution, what its client does to it, and what was told of it."""

    execution: Execution
    cancel: Callable[[], None]
    told: Callable[[], tuple[QueryProgress, int | None]]
    spark: Callable[[], tuple[list[str], list[int]]]


def real() -> Iterator[Subject]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def make() -> Query:
        return Query(session=SESSION, text="SELECT 1", slug="x", settings=DispatchSettings(), clock=SystemClock())

    query = asyncio.run_coroutine_threadsafe(make(), loop).result(60)
    yield Subject(
        QueryExecution(query),
        lambda: query.call_on_loop(lambda: query.fail(canceled())),
        lambda: (query.progress, query.update_count),
        lambda: (list(query.spark_operations), list(query.spark_jobs)),
    )
    loop.call_soon_threadsafe(loop.stop)
    thread.join(60)
    loop.close()


def fake() -> Iterator[Subject]:
    execution = FakeExecution(SESSION.query_id, SESSION)
    yield Subject(
        execution,
        execution.cancel,
        lambda: (execution.progress[-1], execution.update_count),
        lambda: (execution.spark_operations, execution.spark_jobs),
    )


@pytest.fixture(params=[real, fake], ids=["real", "fake"])
def subject(request: Any) -> Iterator[Subject]:
    yield from request.param()


def test_it_knows_its_query(subject: Subject) -> None:
    assert subject.execution.query_id == SESSION.query_id
    assert subject.execution.session == SESSION
    subject.execution.check_cancelled()


def test_progress_and_counts_arrive(subject: Subject) -> None:
    progress = QueryProgress(completed_splits=3, total_splits=12, processed_rows=7)
    subject.execution.report_progress(progress)
    subject.execution.set_update_count(5)
    assert subject.told() == (progress, 5)


def test_operations_and_jobs_of_spark_add_up(subject: Subject) -> None:
    subject.execution.ran_on_spark(["a"], [])
    subject.execution.ran_on_spark([], [3, 4])
    subject.execution.ran_on_spark(["b"], [5])
    assert subject.spark() == (["a", "b"], [3, 4, 5])


def ended_by(subject: Subject, end: Callable[[], None]) -> ErrorCode:
    """How the query ends; what asked to be called was called once, on a thread of its own."""
    called: list[int] = []
    first, later = threading.Event(), threading.Event()
    subject.execution.on_cancel(lambda: (called.append(threading.get_ident()), first.set())[0])
    end()
    assert first.wait(60)
    with pytest.raises(ProcessionError) as failed:
        subject.execution.check_cancelled()
    subject.execution.on_cancel(later.set)
    assert later.wait(60), "at once when it has ended"
    end()
    assert len(called) == 1
    assert called[0] != threading.get_ident()
    return failed.value.code


def test_a_client_cancels_it(subject: Subject) -> None:
    assert ended_by(subject, subject.cancel) is ErrorCode.USER_CANCELED


def test_somebody_kills_it(subject: Subject) -> None:
    assert ended_by(subject, lambda: subject.execution.kill("too long")) is ErrorCode.ADMINISTRATIVELY_KILLED
