"""What rooms are told beyond their own models: from other rooms' settings, and from catalogs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from coordinator.config import CoordinatorConfig, CoordinatorSettings
from coordinator.connectors.registry import CatalogConfig
from coordinator.engine.spark.remote_address import read_trust_store, remote_problem, remote_token
from coordinator.engine.spark.settings import SparkSettings
from coordinator.flight.settings import FlightSettings
from coordinator.gateway.settings import GatewaySettings
from coordinator.security.redaction import secrets_of
from coordinator.server.request_limits import RequestLimits
from coordinator.values.settings_files import find_file
from shared.properties import ConfigurationError, read_properties
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
    trusted = config.internal.trust_store
    if trusted is not None:
        named_in = config.etc / "config.properties"
        defaults["internal-communication.https.trust-store-path"] = str(find_file(config.etc, trusted, named_in))
    native = {"native-execution-enabled": "true"} if config.coordinator.native_execution else {}
    return {"native": defaults | native} if defaults or native else {}


_AFTER_THE_LEASE = 3.0
"""Others take the writes of this coordinator's Spark up 12 seconds after they took it for gone, at the earliest."""


def spark_settings(config: CoordinatorConfig, drivers: SparkDrivers) -> SparkSettings:
    """How Spark is reached or started, with what catalogs bring for it. Raises ConfigurationError."""
    given = config.spark
    trusted = None
    if given.trust_store is not None:
        trusted = find_file(config.etc, given.trust_store, config.etc / "config.properties")
        read_trust_store(trusted)
    problem = remote_problem(given.remote or "", trusted)
    if problem is not None:
        raise ConfigurationError(problem)
    return given.model_copy(
        update={
            "trust_store": trusted,
            "work_dir": config.node.data_dir / "spark",
            "packages": tuple(dict.fromkeys((*given.packages, *drivers.packages))),
            "jars": (*given.jars, *map(Path, drivers.jars)),
            "silence": None if config.cluster.state_url is None else config.cluster.node_timeout + _AFTER_THE_LEASE,
        }
    )


def flight_settings(config: CoordinatorConfig) -> FlightSettings:
    """Flight SQL: a message holds the longest statement, whatever its characters."""
    size = 4 * config.dispatch.max_query_length + (1 << 20)
    return config.flight.model_copy(
        update={"message_size": min(size, (1 << 31) - 1), "receive_timeout": config.coordinator.receive_timeout}
    )


def gateway_settings(config: CoordinatorConfig) -> GatewaySettings:
    """Pre-checks of gateways."""
    given = config.gateway
    return given.model_copy(
        update={"max_statement_length": config.dispatch.max_query_length, "burst": max(1, math.ceil(2 * given.rate))}
    )


def secrets_in(config: CoordinatorConfig) -> frozenset[str]:
    """Values of the configuration that must be seen nowhere."""
    entries = [entry for listener in config.event_listeners for entry in listener.properties.values()]
    own = (
        config.internal.shared_secret,
        config.sidecar_secret,
        config.https.keystore_key,
        config.oauth2.client_secret,
        config.oauth2.state_key,
        config.oauth2.secret_key,
        remote_token(config.spark.remote or ""),
        *_written_and_meant(urlsplit(config.cluster.state_url or "").password),
    )
    named = [("secret", secret) for secret in (*own, *_of_directories(config.etc)) if secret is not None]
    own_files = secrets_of([*((entry.name, entry.value) for entry in entries), *named, *config.spark.conf.items()])
    return own_files | secrets_of_catalogs(config.catalogs)


def secrets_of_catalogs(catalogs: Iterable[CatalogConfig]) -> frozenset[str]:
    """Values of catalogs that must be seen nowhere."""
    return secrets_of((e.name, e.value) for catalog in catalogs for e in catalog.properties.values())


def _written_and_meant(password: str | None) -> list[str]:
    return [] if password is None else [password, unquote(password)]


def _of_directories(etc: Path) -> list[str]:
    """As whom the coordinator asks LDAP."""
    files = [etc / "group-provider.properties", *etc.glob("password-authenticator*.properties")]
    entries = [entry for file in files if file.is_file() for entry in read_properties(file).values()]
    return [entry.value for entry in entries if entry.name in ("ldap.bind-password", "ldap.admin-password")]
