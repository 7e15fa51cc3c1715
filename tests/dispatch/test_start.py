"""A query is RUNNING before its engine sees anything of it, however busy the event loop is."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from coordinator.dispatch.clock import SystemClock
from coordinator.dispatch.execution import start_execution
from coordinator.dispatch.query import Query
from coordinator.dispatch.settings import DispatchSettings
from coordinator.engine.execution import Execution
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, RunLocally
from shared.spi.session import Session

pytestmark = pytest.mark.anyio


async def test_the_engines_thread_finds_its_query_started() -> None:
    started = threading.Event()
    seen: list[bool] = []
    looked = threading.Event()

    class Looking:
        def execute(self, planned: PlannedStatement, execution: Execution) -> Iterator[pa.RecordBatch]:
            seen.append(started.is_set())
            looked.set()
            yield pa.record_batch({"n": pa.array([1], pa.int64())})

    settings = DispatchSettings()
    query = Query(session=Session(user="u", query_id="q"), text="", slug="s", settings=settings, clock=SystemClock())
    planned = PlannedStatement(query_type="SELECT", columns=(Column("n", "bigint"),), work=RunLocally("SELECT 1", ()))
    over: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    start_execution(
        query, planned, Looking(), settings, started=started.set, first_rows=lambda: None, ended=over.set_result
    )
    # The loop is busy with something else until the engine has looked.
    assert looked.wait(60)
    assert seen == [True]
    assert await asyncio.wait_for(over, 60) is None
