"""What runs and waits, as Presto's ``ClusterStats``: on one coordinator, and on several together."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.states import QueryState


class ClusterStats(msgspec.Struct, frozen=True, kw_only=True):
    """With Presto's names, in Presto's order."""

    runningQueries: int = 0
    blockedQueries: int = 0
    queuedQueries: int = 0
    activeWorkers: int = 0
    runningDrivers: int = 0
    runningTasks: int = 0
    reservedMemory: float = 0.0
    totalInputRows: int = 0
    totalInputBytes: int = 0
    totalCpuTimeSecs: int = 0
    adjustedQueueSize: int = 0


def cluster_stats(dispatcher: Dispatcher) -> ClusterStats:
    """Of this coordinator; ``activeWorkers`` is at least itself."""
    queries = list(dispatcher.registry)
    running = [query for query in queries if not query.state.done and query.state.dispatched]
    splits = sum(query.progress.running_splits for query in running)
    return ClusterStats(
        runningQueries=len(running),
        queuedQueries=sum(query.state is QueryState.QUEUED for query in queries),
        activeWorkers=max((query.progress.nodes for query in running), default=1),
        runningDrivers=splits,
        runningTasks=splits,
        totalInputRows=sum(query.progress.processed_rows for query in queries),
        totalInputBytes=sum(query.progress.processed_bytes for query in queries),
        totalCpuTimeSecs=int(sum(query.cpu_seconds for query in queries)),
    )


def together(stats: Sequence[ClusterStats]) -> ClusterStats:
    """The sums: each coordinator has workers of its own."""
    names = ClusterStats.__struct_fields__
    return ClusterStats(**{name: sum(getattr(each, name) for each in stats) for name in names})
