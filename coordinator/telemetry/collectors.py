"""Collectors over the counters that pool, checkers and Spark keep themselves; read when /metrics is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from coordinator.checks.circuit_breaker import BreakerState
from coordinator.checks.native import NativePlanChecker
from coordinator.engine.processes.pool import EngineStats
from coordinator.events.bus import ListenerStats
from coordinator.maintenance.service import MaintenanceService
from coordinator.security.audit_log.file import AuditStats
from coordinator.validation.pool import PoolStats
from shared.spi.plan_checker import PlanChecker

_NOW = ("size", "alive", "busy", "waiting")


class PlannerPoolCollector(Collector):
    """``procession_planner_processes{kind}`` and ``procession_planner_statements_total{outcome}``."""

    def __init__(self, stats: Callable[[], PoolStats]) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        processes = GaugeMetricFamily("procession_planner_processes", "Planner processes", labels=("kind",))
        statements = CounterMetricFamily("procession_planner_statements", "Statements by outcome", labels=("outcome",))
        for name, value in asdict(self._stats()).items():
            (processes if name in _NOW else statements).add_metric((name,), value)
        yield processes
        yield statements


class EngineCollector(Collector):
    """``procession_<name>_processes{kind}`` and ``procession_<name>_statements_total{outcome}`` of an engine."""

    def __init__(self, name: str, statements: str, stats: Callable[[], EngineStats]) -> None:
        self._name, self._statements, self._stats = name, statements, stats

    def collect(self) -> Iterator[Metric]:
        engine = self._name.replace("_", " ")
        processes = GaugeMetricFamily(
            f"procession_{self._name}_processes", f"Processes of the {engine}", labels=("kind",)
        )
        statements = CounterMetricFamily(
            f"procession_{self._name}_statements", f"{self._statements} by outcome", labels=("outcome",)
        )
        for name, value in asdict(self._stats()).items():
            (processes if name in _NOW else statements).add_metric((name,), value)
        yield processes
        yield statements


class NativeCheckerCollector(Collector):
    """``procession_native_check_fragments_total{outcome}`` and the circuit breaker's state as 0 or 1 a state."""

    def __init__(self, checkers: Sequence[PlanChecker]) -> None:
        self._checkers = [checker for checker in checkers if isinstance(checker, NativePlanChecker)]

    def collect(self) -> Iterator[Metric]:
        outcomes = ("sent", "skipped", "cache_hits", "refused", "unavailable")
        fragments = CounterMetricFamily(
            "procession_native_check_fragments", "Fragments of the native plan checker", labels=("outcome",)
        )
        breaker = GaugeMetricFamily("procession_native_check_breaker", "Circuit breaker's state", labels=("state",))
        all_stats = [checker.stats() for checker in self._checkers]
        for outcome in outcomes:
            fragments.add_metric((outcome,), sum(getattr(stats, outcome) for stats in all_stats))
        for state in BreakerState:
            breaker.add_metric((state.name.lower(),), sum(stats.breaker is state for stats in all_stats))
        yield fragments
        yield breaker


class SparkState(Protocol):
    """What of ``coordinator.engine.spark.watchdog`` is counted."""

    @property
    def state(self) -> str: ...

    @property
    def restarts(self) -> int: ...

    @property
    def given_up(self) -> int: ...


class SparkCollector(Collector):
    """``procession_spark_up``: 1 while a connection to Spark is alive; how often Spark was restarted and given up."""

    def __init__(self, status: Callable[[], SparkState]) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        status = self._status()
        yield GaugeMetricFamily("procession_spark_up", "A connection to Spark is alive", value=status.state == "up")
        yield CounterMetricFamily(
            "procession_spark_restarts", "Embedded servers that took the place of one that ended", value=status.restarts
        )
        yield CounterMetricFamily(
            "procession_spark_given_up", "Servers that did not answer any more", value=status.given_up
        )


class RuleFileCollector(Collector):
    """``procession_rule_file_wrong{file}``: 1 while the newest content is wrong and the one before it counts on."""

    def __init__(self, wrong: Callable[[], Mapping[Path, bool]]) -> None:
        self._wrong = wrong

    def collect(self) -> Iterator[Metric]:
        found = GaugeMetricFamily("procession_rule_file_wrong", "Rules that are not in effect", labels=("file",))
        for file, wrong in self._wrong().items():
            found.add_metric((file.name,), float(wrong))
        yield found


class AuditCollector(Collector):
    """``procession_audit_lines_total``, those that were lost, and whether the newest was."""

    def __init__(self, stats: Callable[[], AuditStats]) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        stats = self._stats()
        yield CounterMetricFamily("procession_audit_lines", "Lines of the audit log", value=stats.written)
        text = "Lines that the audit log could not take"
        yield CounterMetricFamily("procession_audit_lost_lines", text, value=stats.lost)
        text = "1 while the audit log cannot be written"
        yield GaugeMetricFamily("procession_audit_failing", text, value=float(stats.failing))


class MaintenanceCollector(Collector):
    """``procession_maintenance_…``: jobs by procedure and state, seconds, bytes, looks, tables that wait."""

    def __init__(self, service: MaintenanceService) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        totals = self._service.totals
        jobs = CounterMetricFamily(
            "procession_maintenance_jobs", "Calls of the maintenance service", labels=("procedure", "state")
        )
        for (procedure, state), count in list(totals.jobs.items()):
            jobs.add_metric((procedure, state), count)
        yield jobs
        for name, text, value in (
            ("looks", "Looks at tables", totals.looks),
            ("job_seconds", "Seconds of its calls", totals.seconds),
            ("rewritten_bytes", "Bytes that its calls worked on, as estimated", totals.size),
        ):
            yield CounterMetricFamily(f"procession_maintenance_{name}", text, value)
        for name, text, value in (
            ("backlog_tables", "Tables with work that waits", self._service.backlog),
            ("working_tables", "Tables that are worked on", len(self._service.working)),
        ):
            yield GaugeMetricFamily(f"procession_maintenance_{name}", text, value)


class EventCollector(Collector):
    """``procession_events_total{listener,outcome}``, ``…_waiting{listener}`` and ``…_cpu_seconds_total{listener}``.

    The CPU time of making the events, which all listeners share, is under the empty name.
    """

    def __init__(self, stats: Callable[[], Sequence[ListenerStats]], making_seconds: Callable[[], float]) -> None:
        self._stats, self._making_seconds = stats, making_seconds

    def collect(self) -> Iterator[Metric]:
        events = CounterMetricFamily("procession_events", "Events by outcome", labels=("listener", "outcome"))
        waiting = GaugeMetricFamily("procession_events_waiting", "Events not handed over yet", labels=("listener",))
        spent = CounterMetricFamily("procession_events_cpu_seconds", "CPU time of a listener", labels=("listener",))
        spent.add_metric(("",), self._making_seconds())
        for each in self._stats():
            spent.add_metric((each.name,), each.cpu_seconds)
            for outcome in ("delivered", "dropped", "failed"):
                events.add_metric((each.name, outcome), getattr(each, outcome))
            waiting.add_metric((each.name,), each.waiting)
        yield events
        yield waiting
        yield spent
