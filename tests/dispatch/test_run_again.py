"""A query whose engine is lost before it delivered anything runs again; one that delivered or writes does not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pyarrow as pa
import pytest

from coordinator.dispatch.clock import SystemClock
from coordinator.dispatch.execution import start_execution
from coordinator.dispatch.query import Query
from coordinator.dispatch.settings import DispatchSettings
from coordinator.engine.execution import Execution
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, RunLocally, RunOnSpark, Work
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

pytestmark = pytest.mark.anyio
ROW = pa.record_batch({"n": pa.array([1], pa.int64())})


class Losing:
    """An engine that is lost ``times`` times, after ``rows`` rows."""

    def __init__(self, times: int, rows: int = 0, code: ErrorCode = ErrorCode.REMOTE_HOST_GONE) -> None:
        self.left, self.rows, self.code, self.runs = times, rows, code, 0

    def execute(self, planned: PlannedStatement, execution: Execution) -> Iterator[pa.RecordBatch]:
        self.runs += 1
        if self.left:
            self.left -= 1
            yield from [ROW] * self.rows
            raise ProcessionError(self.code, "lost")
        yield ROW


async def outcome(engine: Losing, work: Work, attempts: int = 1) -> ErrorCode | None:
    settings = DispatchSettings(max_run_again=attempts)
    query = Query(session=Session(user="u", query_id="q"), text="", slug="s", settings=settings, clock=SystemClock())
    planned = PlannedStatement(query_type="SELECT", columns=(Column("n", "bigint"),), work=work)
    over: asyncio.Future[ProcessionError | None] = asyncio.get_running_loop().create_future()
    start_execution(
        query, planned, engine, settings, started=lambda: None, first_rows=lambda: None, ended=over.set_result
    )
    error = await asyncio.wait_for(over, 60)
    assert error is None or isinstance(error.code, ErrorCode)
    return None if error is None else error.code


SPARK = RunOnSpark("SELECT", ())


@pytest.mark.parametrize("code", [ErrorCode.REMOTE_HOST_GONE, ErrorCode.REMOTE_TASK_ERROR])
async def test_once_more(code: ErrorCode) -> None:
    engine = Losing(1, code=code)
    assert await outcome(engine, SPARK) is None
    assert engine.runs == 2


@pytest.mark.parametrize(
    ("engine", "work", "attempts", "runs"),
    [
        (Losing(2), SPARK, 1, 2),
        (Losing(1), SPARK, 0, 1),
        (Losing(1, rows=1), SPARK, 1, 1),
        (Losing(1), RunLocally("SELECT", ()), 1, 1),
        (Losing(1, code=ErrorCode.DIVISION_BY_ZERO), SPARK, 1, 1),
    ],
    ids=["lost twice", "switched off", "rows delivered", "not Spark", "the user's error"],
)
async def test_not_again(engine: Losing, work: Work, attempts: int, runs: int) -> None:
    assert await outcome(engine, work, attempts) is engine.code
    assert engine.runs == runs
