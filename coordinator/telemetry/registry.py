"""All collectors of one service, in a registry of its own."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.engine.embedded.engine import EmbeddedEngine
from coordinator.engine.spark.engine import SparkEngine
from coordinator.events.bus import EventBus
from coordinator.security.refreshed_file import RefreshedFiles
from coordinator.telemetry.collectors import (
    EmbeddedEngineCollector,
    EventCollector,
    NativeCheckerCollector,
    PlannerPoolCollector,
    RuleFileCollector,
    SparkCollector,
)
from coordinator.validation.pool import ValidationPool


def metrics_of(
    pool: ValidationPool,
    checkers: PlanCheckers,
    spark: SparkEngine,
    embedded: EmbeddedEngine,
    rules: RefreshedFiles,
    bus: EventBus,
) -> CollectorRegistry:
    """What ``/metrics`` shows beside the queries themselves."""
    registry = CollectorRegistry()
    registry.register(PlannerPoolCollector(pool.stats))
    registry.register(EmbeddedEngineCollector(embedded.stats))
    registry.register(NativeCheckerCollector(checkers.providers))
    registry.register(SparkCollector(lambda: spark.status))
    registry.register(RuleFileCollector(rules.wrong))
    registry.register(EventCollector(bus.stats))
    return registry
