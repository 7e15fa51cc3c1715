"""What a query may use: limits of the server, its session and its resource group. Source: Presto's QueryTracker."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from coordinator.dispatch.query import Query
from coordinator.dispatch.settings import DispatchSettings
from coordinator.dispatch.states import QueryState
from shared.errors import ErrorCode, ProcessionError
from shared.units import format_data_size, format_duration, parse_data_size, parse_duration


@dataclass(frozen=True, slots=True)
class Limit:
    """``source`` is QUERY (the session), SYSTEM or RESOURCE_GROUP, as Presto names it in the error."""

    value: float
    source: str


def exceeded_limit(query: Query, settings: DispatchSettings) -> ProcessionError | None:
    """The error of the first limit that a running ``query`` is past, or None."""
    age = query.seconds_between(QueryState.WAITING_FOR_PREREQUISITES, ())
    run_time = min(settings.max_run_time, _session(query, "query_max_run_time", parse_duration))
    if age > run_time:
        text = f"Query exceeded maximum time limit of {format_duration(run_time)}"
        return ProcessionError(ErrorCode.EXCEEDED_TIME_LIMIT, text)
    execution = _least(
        Limit(_session(query, "query_max_execution_time", parse_duration), "QUERY"),
        Limit(query.limits.execution_time, "RESOURCE_GROUP"),
    )
    if query.seconds_between(QueryState.DISPATCHING, ()) > execution.value:
        text = f"Query exceeded the maximum execution time limit of {format_duration(execution.value)}"
        return _exceeded(ErrorCode.EXCEEDED_TIME_LIMIT, text, execution)
    cpu = _least(
        Limit(_session(query, "query_max_cpu_time", parse_duration), "QUERY"),
        Limit(query.limits.cpu_time, "RESOURCE_GROUP"),
    )
    if query.cpu_seconds > cpu.value:
        return _exceeded(ErrorCode.EXCEEDED_CPU_LIMIT, f"Exceeded CPU limit of {format_duration(cpu.value)}", cpu)
    memory = _least(
        Limit(_session(query, "query_max_total_memory", parse_data_size), "QUERY"),
        Limit(query.limits.total_memory, "RESOURCE_GROUP"),
    )
    if query.progress.peak_memory_bytes > memory.value:
        text = f"Query exceeded distributed total memory limit of {format_data_size(int(memory.value))}"
        return _exceeded(ErrorCode.EXCEEDED_GLOBAL_MEMORY_LIMIT, text, memory)
    return None


def _least(*limits: Limit) -> Limit:
    return min(limits, key=lambda limit: limit.value)


def _exceeded(code: ErrorCode, text: str, limit: Limit) -> ProcessionError:
    return ProcessionError(code, f"{text} defined at the {limit.source} level")


def _session(query: Query, name: str, parse: Callable[[str], float]) -> float:
    """Infinite when the session says nothing; a value that cannot be read is refused by the planner."""
    text = query.session.properties.get(name)
    try:
        return math.inf if text is None else parse(text)
    except ValueError:
        return math.inf
