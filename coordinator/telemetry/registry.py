"""All collectors of one service, in a registry of its own."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.sql_processes import SqlProcesses
from coordinator.events.bus import EventBus
from coordinator.security.refreshed_file import RefreshedFiles
from coordinator.telemetry.collectors import (
    EngineCollector,
    EventCollector,
    NativeCheckerCollector,
    PlannerPoolCollector,
    RuleFileCollector,
    SparkCollector,
)
from coordinator.validation.own_loop import PoolOnItsOwnLoop


def metrics_of(
    pool: PoolOnItsOwnLoop,
    checkers: PlanCheckers,
    spark: SparkEngine,
    sql: SqlProcesses,
    rules: RefreshedFiles,
    bus: EventBus,
) -> CollectorRegistry:
    """What ``/metrics`` shows beside the queries themselves."""
    registry = CollectorRegistry()
    registry.register(PlannerPoolCollector(pool.stats))
    registry.register(EngineCollector("embedded_engine", "Statements over lakes", sql.embedded.stats))
    registry.register(
        EngineCollector("local_engine", "Statements over values, databases and the like", sql.local.stats)
    )
    registry.register(NativeCheckerCollector(checkers.providers))
    registry.register(SparkCollector(lambda: spark.status))
    registry.register(RuleFileCollector(rules.wrong))
    registry.register(EventCollector(bus.stats, lambda: bus.making_seconds))
    return registry
