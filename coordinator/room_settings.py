"""The settings of each room, from the configuration's files."""

from __future__ import annotations

import math
from pathlib import Path

from coordinator.config import CoordinatorConfig, CoordinatorSettings
from coordinator.dispatch.settings import DispatchSettings
from coordinator.engine.spark.settings import SparkSettings
from coordinator.gateway.settings import GatewaySettings
from coordinator.server.request_limits import RequestLimits
from shared.spi.connector import SparkDrivers


def session_defaults(settings: CoordinatorSettings) -> dict[str, str]:
    """Session properties whose default an operator sets."""
    return {
        "native_execution_enabled": str(settings.native_execution).lower(),
        "optimizer_inner_join_pushdown_enabled": str(settings.inner_join_pushdown).lower(),
        "optimizer_inequality_join_pushdown_enabled": str(settings.inequality_join_pushdown).lower(),
    }


def request_limits(config: CoordinatorConfig) -> RequestLimits:
    """What a request may be and take."""
    return RequestLimits(config.coordinator.max_header_size, config.coordinator.receive_timeout)


def checker_defaults(config: CoordinatorConfig) -> dict[str, dict[str, str]]:
    """Properties of plan checkers that their own files need not repeat, by provider."""
    url = config.coordinator.sidecar_url
    defaults = {} if url is None else {"native-plan-checker.sidecar-uri": url}
    secret = config.internal.shared_secret
    if secret is not None:
        defaults["internal-communication.shared-secret"] = secret
    elif config.sidecar_secret is not None and url is not None:
        defaults["internal-communication.shared-secret"] = config.sidecar_secret
        defaults["internal-communication.shared-secret-of"] = url
    native = {"native-execution-enabled": "true"} if config.coordinator.native_execution else {}
    return {"native": defaults | native} if defaults or native else {}


def spark_settings(config: CoordinatorConfig, drivers: SparkDrivers) -> SparkSettings:
    """How Spark is reached or started, with what catalogs bring for it."""
    settings = config.coordinator
    return SparkSettings(
        work_dir=config.node.data_dir / "spark",
        remote=settings.spark_remote,
        warm_up=settings.spark_warm_up,
        watchdog_interval=settings.spark_watchdog_interval,
        watchdog_timeout=settings.spark_watchdog_timeout,
        driver_memory=settings.spark_driver_memory,
        master=settings.spark_master,
        packages=tuple(dict.fromkeys((*settings.spark_packages, *drivers.packages))),
        jars=tuple(Path(jar) for jar in (*settings.spark_jars, *drivers.jars)),
    )


def gateway_settings(config: CoordinatorConfig) -> GatewaySettings:
    """Pre-checks of gateways."""
    settings = config.coordinator
    return GatewaySettings(
        max_statement_length=settings.max_query_length,
        rate=settings.precheck_rate,
        burst=max(1, math.ceil(2 * settings.precheck_rate)),
        max_concurrent=settings.precheck_concurrency,
        accepted_target=settings.precheck_accepted_target,
        refused_target=settings.precheck_refused_target,
        native_refused_target=settings.precheck_native_refused_target,
        undecided_target=settings.precheck_undecided_target,
    )


def dispatch_settings(config: CoordinatorConfig) -> DispatchSettings:
    """A query's life."""
    settings = config.coordinator
    return DispatchSettings(
        max_query_length=settings.max_query_length,
        client_timeout=settings.client_timeout,
        min_expire_age=settings.min_expire_age,
        max_history=settings.max_history,
        nested_data_serialization=settings.nested_data_serialization,
        eager_validation=settings.eager_validation,
        max_run_time=settings.max_run_time,
        max_run_again=settings.max_run_again,
        max_replay_size=settings.max_replay_size,
    )
