"""Metrics under the names that dashboards of Presto and Trino read, where they mean the same.

Presto's and Trino's counts over a minute decay; ours are of the last minute to within five seconds, as gauges.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.states import QueryState
from coordinator.dispatch.totals import BOUNDS, Window, percentile

PREFIXES = (
    "presto_QueryManager",
    "com_facebook_presto_execution_QueryManager",
    "trino_execution_name_QueryManager",
)
"""Of newer and older exporters of Presto's, and of Trino itself."""
COUNTED = (
    "SubmittedQueries",
    "StartedQueries",
    "CompletedQueries",
    "FailedQueries",
    "UserErrorFailures",
    "InternalFailures",
    "ExternalFailures",
    "InsufficientResourcesFailures",
    "AbandonedQueries",
    "CanceledQueries",
)
WINDOWS = {"OneMinute": 60.0, "FiveMinute": 300.0, "FifteenMinute": 900.0}
_TIMES = {"OneMinute": 60.0, "FiveMinutes": 300.0, "FifteenMinutes": 900.0}
"""Distributions have another spelling than counts, there as here."""
_SHARES = {"P50": 0.5, "P75": 0.75, "P90": 0.9, "P95": 0.95, "P99": 0.99}
_NODES = (
    "trino_metadata_name_DiscoveryNodeManager_ActiveNodeCount",
    "trino_node_name_CoordinatorNodeManager_ActiveNodeCount",
    "com_facebook_presto_failureDetector_HeartbeatFailureDetector_ActiveCount",
    "com_facebook_presto_metadata_DiscoveryNodeManager_ActiveCoordinatorCount",
)


class QueryManagerCollector(Collector):
    """Reads the dispatcher when scraped."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def collect(self) -> Iterator[Metric]:
        values = self._values()
        for prefix in PREFIXES:
            for name, value in values.items():
                yield GaugeMetricFamily(f"{prefix}_{name}", "As in Presto", value=value)
        active = float(self._dispatcher.refusal is None)
        for name in _NODES:
            yield GaugeMetricFamily(name, "Nodes that take statements", value=active)
        yield from self._own()

    def _values(self) -> dict[str, float]:
        queries = [query.state for query in self._dispatcher.registry]
        queued = (QueryState.QUEUED, QueryState.WAITING_FOR_PREREQUISITES, QueryState.WAITING_FOR_RESOURCES)
        waiting = sum(state in queued for state in queries)
        values: dict[str, float] = {
            "RunningQueries": sum(not state.done for state in queries) - waiting,
            "QueuedQueries": waiting,
        }
        totals = self._dispatcher.totals
        for name in COUNTED:
            values[f"{name}_TotalCount"] = totals.counts[name]
        for spelling, seconds in WINDOWS.items():
            values |= _of_window(spelling, seconds, totals.last(seconds))
        for spelling, seconds in _TIMES.items():
            window = totals.last(seconds)
            for share, part in _SHARES.items():
                values[f"ExecutionTime_{spelling}_{share}"] = percentile(window.execution, part) * 1000
                values[f"QueuedTime_{spelling}_{share}"] = percentile(window.queued, part) * 1000
        return values

    def _own(self) -> Iterator[Metric]:
        totals = self._dispatcher.totals
        buckets, running = [], 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), totals.elapsed_counts, strict=True):
            running += count
            buckets.append((bound, float(running)))
        yield HistogramMetricFamily(
            "procession_query_elapsed_seconds",
            "Ended queries by the time from creation to end",
            buckets=buckets,
            sum_value=totals.elapsed_sum,
        )
        received = totals.counts["SubmittedQueries"]
        yield CounterMetricFamily("procession_queries_submitted", "Statements received", value=received)


def _of_window(spelling: str, seconds: float, window: Window) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in COUNTED:
        found[f"{name}_{spelling}_Count"] = window.counts[name]
        found[f"{name}_{spelling}_Rate"] = window.counts[name] / seconds
    found[f"ConsumedCpuTimeSecs_{spelling}_Count"] = window.counts["cpu_milliseconds"] / 1000
    found[f"CpuInputByteRate_{spelling}_Total"] = window.counts["input_bytes"]
    return found
