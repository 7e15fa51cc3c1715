"""The stages of a statement as Presto's clients draw them: the coordinator's own, which the engine's feed."""

from __future__ import annotations

from coordinator.dispatch.query import Query
from coordinator.dispatch.states import QueryState
from coordinator.engine.execution import QueryProgress, StageProgress
from shared.protocol.statement import StageStats
from shared.spi.event_listener import StageStatistics

_MOST = 100
"""Stages of one statement that an answer names, the newest: every page carries them."""
_SUCCEEDED = (QueryState.FINISHING, QueryState.FINISHED)


def root_stage(query: Query, cpu_millis: int, wall_millis: int) -> StageStats | None:
    """Stage 0 stands for the rows that came to the coordinator. None while no engine has told of splits.

    Engines do not tell which of their stages feeds which: all are shown as feeding the root.
    """
    progress = query.progress
    if not progress.total_splits or not query.state.dispatched:
        return None
    stages = progress.stages or (_whole(progress),)
    # What the engine tells of the statement is also that of its only stage.
    single = len(stages) == 1
    feeding = tuple(
        _stage(
            stage,
            query.state,
            nodes=progress.nodes,
            rows=progress.processed_rows if single else 0,
            cpu_millis=cpu_millis if single else 0,
            wall_millis=wall_millis if single else 0,
        )
        for stage in stages[-_MOST:]
    )
    return StageStats(
        stageId="0",
        state=_state(query.state, done=False, begun=True),
        done=query.state.done,
        nodes=1,
        processedRows=query.output_rows,
        processedBytes=query.output_bytes,
        subStages=feeding,
    )


def stage_statistics(progress: QueryProgress) -> tuple[StageStatistics, ...]:
    """The engine's stages as events tell them; none where it runs a statement as a whole."""
    return tuple(
        StageStatistics(
            stage_id=stage.name,
            total_splits=stage.total_splits,
            completed_splits=stage.completed_splits,
            processed_bytes=stage.processed_bytes,
            done=stage.done,
        )
        for stage in progress.stages[-_MOST:]
    )


def _whole(progress: QueryProgress) -> StageProgress:
    """An engine that has no stages runs one."""
    completed, total = progress.completed_splits, progress.total_splits
    return StageProgress("1", completed, total, progress.running_splits, progress.processed_bytes, completed >= total)


def _stage(
    stage: StageProgress, state: QueryState, *, nodes: int, rows: int, cpu_millis: int, wall_millis: int
) -> StageStats:
    ended = stage.done or state.done or state is QueryState.FINISHING
    running = 0 if ended else stage.running_splits
    queued = 0 if ended else max(0, stage.total_splits - stage.completed_splits - running)
    return StageStats(
        stageId=stage.name,
        state=_state(state, done=stage.done, begun=bool(running or stage.completed_splits)),
        done=ended,
        nodes=nodes,
        totalSplits=stage.total_splits,
        queuedSplits=queued,
        runningSplits=running,
        completedSplits=stage.completed_splits,
        cpuTimeMillis=cpu_millis,
        wallTimeMillis=wall_millis,
        processedRows=rows,
        processedBytes=stage.processed_bytes,
    )


def _state(state: QueryState, *, done: bool, begun: bool) -> str:
    """One of Presto's StageExecutionState."""
    if done or state in _SUCCEEDED:
        return "FINISHED"
    if state is QueryState.FAILED:
        return "ABORTED"
    return "RUNNING" if begun else "PLANNED"
