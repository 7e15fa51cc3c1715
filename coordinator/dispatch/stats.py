"""Statement statistics as clients see them with every page."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from coordinator.dispatch.query import Query
from coordinator.dispatch.stages import root_stage
from coordinator.dispatch.states import QueryState
from coordinator.dispatch.timeline import Verb
from shared.protocol.statement import RuntimeMetric, Stats

_SCHEDULED = frozenset({QueryState.RUNNING, QueryState.FINISHING, QueryState.FINISHED})
_LEFT_QUEUE = (QueryState.DISPATCHING,)


def elapsed_seconds(query: Query) -> float:
    """From the creation to the end, or to now."""
    return query.seconds_between(QueryState.WAITING_FOR_PREREQUISITES, ())


def queued_seconds(query: Query) -> float:
    """In line of the resource group."""
    return query.seconds_between(QueryState.QUEUED, _LEFT_QUEUE)


def waiting_seconds(query: Query) -> float:
    """Before queueing: planned and checked."""
    return query.seconds_between(QueryState.WAITING_FOR_PREREQUISITES, (QueryState.QUEUED,))


def execution_seconds(query: Query) -> float:
    """From dispatch to the end."""
    return query.seconds_between(QueryState.DISPATCHING, ())


def progress_percentage(query: Query) -> float | None:
    """As the engine says, or completed splits of all; None while that is unknown. A finished query is at 100."""
    if query.state is QueryState.FINISHED:
        return 100.0
    if query.progress.percentage is not None and query.state.dispatched:
        return query.progress.percentage
    total = query.progress.total_splits
    if not total or not query.state.dispatched:
        return None
    return min(100.0, query.progress.completed_splits * 100.0 / total)


_METRICS: Mapping[Verb, str] = {
    "analyze": "analyzeTimeNanos",
    "plan": "logicalPlannerTimeNanos",
    "optimize": "optimizerTimeNanos",
    "fragment": "fragmentPlanTimeNanos",
}
"""Presto's names of verbs that it measures too; the others have names of the same form."""


def runtime_stats(query: Query) -> dict[str, RuntimeMetric]:
    """The time of each verb, under Presto's names of metrics."""
    named = {
        _METRICS.get(verb, f"{verb}TimeNanos"): int(seconds * 1e9) for verb, seconds in query.timeline.seconds().items()
    }
    return {name: RuntimeMetric(name=name, unit="NANO", sum=n, max=n, min=n) for name, n in named.items()}


def statement_stats(query: Query, *, trino: bool = False, stages: bool = False) -> Stats:
    """The ``stats`` of QueryResults; Trino knows no WAITING_FOR_PREREQUISITES.

    ``stages``: with the statement's stages, which lists of many queries do without, and when it has ended with what
    each verb took, for Presto's clients alone.
    """
    state, progress = query.state, query.progress
    waiting = state is QueryState.WAITING_FOR_PREREQUISITES
    percentage = progress_percentage(query)
    ended = state.done or state is QueryState.FINISHING
    running = 0 if ended else progress.running_splits
    left = max(0, progress.total_splits - progress.completed_splits - running)
    wall, cpu = int(execution_seconds(query) * 1000), int(query.cpu_seconds * 1000)
    root = root_stage(query, cpu, wall) if stages else None
    return Stats(
        state=QueryState.QUEUED.value if waiting and trino else state.value,
        waitingForPrerequisites=waiting,
        queued=state is QueryState.QUEUED,
        scheduled=state in _SCHEDULED or query.entered(QueryState.RUNNING),
        nodes=progress.nodes,
        totalSplits=progress.total_splits,
        queuedSplits=0 if ended else left,
        runningSplits=running,
        completedSplits=progress.completed_splits,
        cpuTimeMillis=cpu,
        wallTimeMillis=wall,
        waitingForPrerequisitesTimeMillis=int(waiting_seconds(query) * 1000),
        queuedTimeMillis=int(queued_seconds(query) * 1000),
        elapsedTimeMillis=int(elapsed_seconds(query) * 1000),
        processedRows=progress.processed_rows,
        processedBytes=progress.processed_bytes,
        peakMemoryBytes=progress.peak_memory_bytes,
        peakTotalMemoryBytes=progress.peak_memory_bytes,
        peakTaskTotalMemoryBytes=progress.peak_memory_bytes,
        rootStage=msgspec.UNSET if root is None else root,
        runtimeStats=runtime_stats(query) if stages and state.done and not trino else msgspec.UNSET,
        progressPercentage=msgspec.UNSET if percentage is None else percentage,
    )
