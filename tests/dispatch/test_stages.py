"""The stages that clients draw, made of what engines tell."""

from __future__ import annotations

import io
from types import SimpleNamespace

import msgspec
import pytest
from rich.console import Console

from coordinator.cli.answers import DECODER
from coordinator.cli.client import Page
from coordinator.cli.shell.status import status_lines
from coordinator.dispatch.clock import SystemClock
from coordinator.dispatch.failures import canceled
from coordinator.dispatch.query import Query
from coordinator.dispatch.settings import DispatchSettings
from coordinator.dispatch.stages import root_stage, stage_statistics
from coordinator.dispatch.states import QueryState
from coordinator.dispatch.stats import statement_stats
from coordinator.engine.execution import QueryProgress
from coordinator.engine.spark.progress import query_progress
from shared.protocol.statement import QueryResults, StageStats, encode_results
from shared.spi.session import Session

pytestmark = pytest.mark.anyio
STEPS = (QueryState.QUEUED, QueryState.DISPATCHING, QueryState.STARTING, QueryState.RUNNING)


def running(progress: QueryProgress) -> Query:
    session = Session(user="u", query_id="q")
    query = Query(session=session, text="", slug="s", settings=DispatchSettings(), clock=SystemClock())
    for state in STEPS:
        query.transition(state)
    query.report(progress)
    return query


def told(stage_id: int, tasks: int, completed: int, size: int = 0) -> SimpleNamespace:
    """As Spark Connect has it."""
    return SimpleNamespace(
        stage_id=stage_id, num_tasks=tasks, num_completed_tasks=completed, num_bytes_read=size, done=tasks == completed
    )


def counts(stage: StageStats) -> tuple[object, ...]:
    return (stage.stageId, stage.state, stage.queuedSplits, stage.runningSplits, stage.completedSplits)


async def test_stages_of_spark_feed_the_rows_that_came() -> None:
    progress = query_progress([told(9, 4, 0), told(7, 10, 10, 500), told(8, 6, 3, 60)], running=5)
    query = running(progress)
    query.output_rows, query.output_bytes = 3, 70
    root = root_stage(query, 1000, 2000)
    assert root is not None
    assert (root.stageId, root.state, root.done, root.processedRows, root.processedBytes) == (
        "0",
        "RUNNING",
        False,
        3,
        70,
    )
    # Five run: all that are left of the older stage, and two of the next.
    assert [counts(stage) for stage in root.subStages] == [
        ("7", "FINISHED", 0, 0, 10),
        ("8", "RUNNING", 0, 3, 3),
        ("9", "RUNNING", 2, 2, 0),
    ]
    assert [stage.processedBytes for stage in root.subStages] == [500, 60, 0]
    assert sum(stage.totalSplits for stage in root.subStages) == progress.total_splits
    assert [stage.cpuTimeMillis for stage in root.subStages] == [0, 0, 0]


async def test_an_engine_without_stages_runs_one() -> None:
    query = running(QueryProgress(total_splits=1, running_splits=1, processed_rows=40, processed_bytes=900))
    root = root_stage(query, 1000, 2000)
    assert root is not None
    (stage,) = root.subStages
    assert counts(stage) == ("1", "RUNNING", 0, 1, 0)
    assert (stage.processedRows, stage.processedBytes, stage.cpuTimeMillis, stage.wallTimeMillis) == (
        40,
        900,
        1000,
        2000,
    )


async def test_nothing_is_made_up_where_an_engine_tells_nothing() -> None:
    assert root_stage(running(QueryProgress()), 0, 0) is None


async def test_the_end_of_the_query_is_that_of_its_stages() -> None:
    progress = QueryProgress(total_splits=4, completed_splits=1, running_splits=2)
    failed, ended = running(progress), running(progress)
    failed.fail(canceled())
    ended.transition(QueryState.FINISHING)
    for query, state in ((failed, "ABORTED"), (ended, "FINISHED")):
        root = root_stage(query, 0, 0)
        assert root is not None
        assert [counts(stage) for stage in root.subStages] == [("1", state, 0, 0, 1)]
        assert root.subStages[0].done


async def test_the_newest_of_very_many_stages_are_named() -> None:
    root = root_stage(running(query_progress([told(n, 1, 1) for n in range(500)], running=0)), 0, 0)
    assert root is not None
    assert [stage.stageId for stage in root.subStages] == [str(n) for n in range(400, 500)]


async def test_our_own_shell_draws_them() -> None:
    query = running(query_progress([told(7, 10, 10, 500), told(8, 6, 3, 60)], running=3))
    query.output_rows = 4
    assert statement_stats(query).rootStage is msgspec.UNSET, "lists of queries do without"
    body = encode_results(QueryResults(id="q", infoUri="", stats=statement_stats(query, stages=True), warnings=()))
    answer = DECODER.decode(body)
    console = Console(file=io.StringIO(), width=110)
    for line in status_lines(Page(answer.id, (), (), answer.stats, ()), 1.0):
        console.print(line)
    *_, root, first, second = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert root.split()[:3] == ["0.........", "R", "4"]
    assert (first.split()[:2], first.split()[-3:]) == (["7......."[:8], "F"], ["0", "0", "10"])
    assert (second.split()[1], second.split()[-3:]) == ("R", ["0", "3", "3"])


def test_events_tell_the_same_stages() -> None:
    progress = query_progress([told(7, 10, 10, 500), told(8, 6, 3, 60)], running=3)
    assert [msgspec.to_builtins(stage) for stage in stage_statistics(progress)] == [
        {"stageId": "7", "totalSplits": 10, "completedSplits": 10, "processedBytes": 500, "done": True},
        {"stageId": "8", "totalSplits": 6, "completedSplits": 3, "processedBytes": 60, "done": False},
    ]
    assert stage_statistics(QueryProgress(4, 4)) == ()


async def test_times_of_the_verbs_are_told_at_the_end_under_prestos_names() -> None:
    query = running(QueryProgress())
    query.timeline.record({"parse": 0.001, "plan": 0.25, "check": 0.5})
    assert statement_stats(query, stages=True).runtimeStats is msgspec.UNSET
    query.fail(canceled())
    found = statement_stats(query, stages=True).runtimeStats
    assert isinstance(found, dict)
    assert {name: metric.sum for name, metric in found.items() if name != "dispatchTimeNanos"} == {
        "parseTimeNanos": 1_000_000,
        "logicalPlannerTimeNanos": 250_000_000,
        "checkTimeNanos": 500_000_000,
    }
    assert msgspec.to_builtins(found["checkTimeNanos"]) == {
        "name": "checkTimeNanos",
        "unit": "NANO",
        "sum": 500_000_000,
        "count": 1,
        "max": 500_000_000,
        "min": 500_000_000,
    }
    assert statement_stats(query, stages=True, trino=True).runtimeStats is msgspec.UNSET
    assert statement_stats(query).runtimeStats is msgspec.UNSET
