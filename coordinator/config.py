"""Typed settings of a coordinator, read from Presto's own configuration files with Presto's names and units.

``etc/config.properties``, ``etc/node.properties``, ``etc/log.properties``, ``etc/catalog/*.properties`` and
``etc/plan-checker-providers/*.properties``. An unknown key, a wrong value or a missing file stops the start with a
ConfigurationError that names file and line. docs/configuration.md is generated from the models below.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from coordinator.cluster.settings import ClusterSettings
from coordinator.connectors.managed import CatalogSettings
from coordinator.connectors.registry import CatalogConfig, read_catalogs
from coordinator.dispatch.settings import DispatchSettings
from coordinator.engine.embedded.settings import EmbeddedSettings
from coordinator.engine.local_settings import LocalSettings
from coordinator.engine.spark.passed_settings import is_passed, passed_settings
from coordinator.engine.spark.settings import SparkSettings
from coordinator.events.settings import EventSettings, ListenerConfig, read_listeners
from coordinator.events.tracing import TracingSettings
from coordinator.flight.settings import FlightSettings
from coordinator.gateway.settings import GatewaySettings
from coordinator.history.settings import HistorySettings
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.security.access_control.settings import AccessControlFiles
from coordinator.security.audit_log.settings import AuditSettings
from coordinator.security.authentication.oauth2.settings import OAuth2Settings
from coordinator.security.settings import AuthenticationSettings, HttpsSettings, InternalCommunicationSettings
from coordinator.values.settings import Bytes, Names, Seconds, Settings
from coordinator.values.settings_files import check_known, find_file, parse_settings, read_settings
from shared.properties import ConfigurationError, read_properties


class NodeSettings(Settings):
    """etc/node.properties"""

    environment: str = Field(
        "production",
        alias="node.environment",
        pattern=r"[a-z0-9][_a-z0-9]*",
        description="Name of the environment, shown in /v1/info.",
    )
    node_id: str = Field("procession-coordinator", alias="node.id", description="Stable id of this node.")
    internal_address: str | None = Field(
        None,
        alias="node.internal-address",
        pattern=r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]",
        description="Host name or address under which the other coordinators of `state.url` reach this one; by default"
        " `http-server.http.host`, or the machine's own name where that is every address.",
    )
    data_dir: Path = Field(
        Path("var"),
        alias="node.data-dir",
        description="Where journal, logs, embedded catalogs and Spark's working files live.",
    )


class CoordinatorSettings(Settings):
    """What etc/config.properties says of the server and the planners; the rooms have models of their own."""

    http_host: str = Field("127.0.0.1", alias="http-server.http.host", description="Address to listen on.")
    http_port: int = Field(
        8080, alias="http-server.http.port", ge=0, le=65535, description="Port to listen on; 0 takes a free one."
    )
    allowed_hosts: Names | None = Field(
        None,
        alias="http-server.allowed-hosts",
        description="Host names under which requests may address this server, beside IP addresses, localhost and"
        " the machine's own name; `*` allows any. When it is not set, the server allows only those on a"
        " loopback address, and any name elsewhere.",
    )
    process_forwarded: bool = Field(
        False,
        alias="http-server.process-forwarded",
        description="Believe the headers X-Forwarded-Proto, X-Forwarded-Host, X-Forwarded-Port and X-Forwarded-For; set"
        " it behind a proxy that sets them.",
    )
    allow_unauthenticated: bool = Field(
        False,
        alias="http-server.authentication.allow-unauthenticated",
        description="Allow listening on other than a loopback address without authentication, so that everybody who"
        " reaches the server can do everything.",
    )
    max_header_size: Bytes = Field(
        1 << 20,
        alias="http-server.max-request-header-size",
        ge=1024,
        description="Largest request line with headers; a larger one is answered 431. The prepared statements of a"
        " client travel in headers.",
    )
    receive_timeout: Seconds = Field(
        60.0,
        alias="http-server.request-receive-timeout",
        gt=0,
        description="How long a request may take from its first byte to its last, and how long a new connection may"
        " send nothing; then it is answered 408. The longest statement over a slow line takes a few"
        " seconds.",
    )
    principal_header: str | None = Field(
        None,
        alias="http-server.authentication.principal-header",
        min_length=1,
        description="Header in which a trusted proxy names the principal that it has authenticated, for the"
        " selectors of resource groups and for HEADER authentication. Without HEADER, whoever reaches"
        " this server without going through the proxy can set it too.",
    )
    max_concurrent_queries: int = Field(
        100, alias="query.max-concurrent-queries", ge=1, description="How many statements run at the same time."
    )
    max_queued_queries: int = Field(
        1000,
        alias="query.max-queued-queries",
        ge=0,
        description="How many statements may wait; one more fails with QUERY_QUEUE_FULL.",
    )
    max_concurrent_of_user: int | None = Field(
        50,
        alias="query.max-concurrent-queries-per-user",
        ge=1,
        description="How many statements of one user run at the same time, without a file of resource groups.",
    )
    max_queued_of_user: int | None = Field(
        500,
        alias="query.max-queued-queries-per-user",
        ge=0,
        description="How many statements of one user may wait, without a file of resource groups; waiting users take"
        " turns.",
    )
    compression: bool = Field(
        True,
        alias="query-results.compression-enabled",
        description="Compress pages of results for clients that accept it, and let proxies do so; false sends"
        " Content-Encoding: identity.",
    )
    shutdown_grace_period: Seconds = Field(
        120.0,
        alias="shutdown.grace-period",
        ge=0,
        description="How long new statements are refused before a graceful shutdown goes on, so that load balancers"
        " notice; running ones are waited for then, as long as they take.",
    )
    drain_on_sigterm: bool = Field(
        False,
        alias="shutdown.drain-on-sigterm",
        description="SIGTERM asks for a graceful shutdown, as `PUT /v1/info/state` with `SHUTTING_DOWN` does; a second"
        " one stops at once. Otherwise running queries fail.",
    )
    validation_pool_size: int = Field(
        2,
        alias="eager-plan-validation-thread-pool-size",
        ge=1,
        le=64,
        description="Number of processes that plan statements. With several, long texts leave one of them free; with 1,"
        " short statements wait for long ones.",
    )
    validation_queue_size: int = Field(
        1100,
        alias="eager-plan-validation-max-queued",
        ge=0,
        description="How many statements may wait for a planner process; the default is as many as may run and"
        " queue by default.",
    )
    planning_timeout: Seconds = Field(
        30.0,
        alias="eager-plan-validation-timeout",
        gt=0,
        description="A statement whose planning takes longer fails with QUERY_PLANNING_TIMEOUT.",
    )
    planning_user_burst: Seconds = Field(
        5.0,
        alias="eager-plan-validation-user-burst",
        gt=0,
        description="Seconds of planning that one user's heavy statements (over half a second) may take of all;"
        " then they have one planner at a time, so that the others are free for everybody else.",
    )
    planning_long_text: int = Field(
        10_000,
        alias="eager-plan-validation-long-text",
        ge=0,
        description="A statement of more characters is long: planning takes about a second for each 15,000 of them."
        " Long statements of all users together leave one planner process free, where there are several, so that short"
        " ones never wait for them; the default is more than the texts of TPC-DS have.",
    )
    planning_memory: Bytes = Field(
        2 << 30,
        alias="eager-plan-validation-max-memory",
        ge=256 << 20,
        description="Memory of a planner process beyond what it starts with. A statement whose planning needs more"
        " fails with GENERIC_INSUFFICIENT_RESOURCES.",
    )
    sidecar_url: str | None = Field(
        None,
        alias="sidecar.uri",
        description="Address of the sidecar. `procession up` starts a sidecar of its own and fills this in.",
    )
    sidecar_options: str = Field(
        "",
        alias="sidecar.options",
        description="Flags of the sidecar that `procession up` starts, as on its command line (docs/sidecar.md).",
    )
    sidecar_watchdog_timeout: Seconds = Field(
        30.0,
        alias="sidecar.watchdog-timeout",
        gt=0,
        description="The sidecar of `procession up` is started again when it says nothing for this long, which is"
        " longer than a busy machine keeps it from its port.",
    )
    native_execution: bool = Field(
        False,
        alias="native-execution-enabled",
        description="The cluster has native workers: a statement that they could not run is refused"
        " (docs/checks.md). Session property native_execution_enabled.",
    )
    inner_join_pushdown: bool = Field(
        True,
        alias="optimizer.inner-join-pushdown-enabled",
        description="Push inner joins by equalities down to JDBC catalogs; session property"
        " optimizer_inner_join_pushdown_enabled.",
    )
    inequality_join_pushdown: bool = Field(
        False,
        alias="optimizer.inequality-join-pushdown-enabled",
        description="Push inner joins by other comparisons down too; session property"
        " optimizer_inequality_join_pushdown_enabled.",
    )


class LogSettings(Settings):
    """etc/log.properties"""

    level: Literal["DEBUG", "INFO", "WARN", "ERROR"] = Field(
        "INFO", alias="log.level", description="The lowest level that is logged."
    )
    format: Literal["auto", "json", "console"] = Field(
        "auto",
        alias="log.format",
        description="`json` or `console`; `auto` chooses `console` on a terminal and `json` elsewhere.",
    )


class ResourceGroupSettings(Settings):
    """etc/resource-groups.properties"""

    configuration_manager: Literal["file"] = Field(
        "file",
        alias="resource-groups.configuration-manager",
        description="Where resource groups and selectors come from; only `file` exists.",
    )
    config_file: Path = Field(
        alias="resource-groups.config-file",
        description="The JSON file (docs/resource-groups.md); a relative path starts above the `etc` directory, "
        "or in it. With it, query.max-concurrent-queries, query.max-queued-queries and those per user have no effect.",
    )
    refresh_interval: Seconds = Field(
        1.0,
        alias="resource-groups.refresh-interval",
        gt=0,
        description="How often the file is checked for changes. A change takes effect at once; a wrong file is"
        " logged and ignored.",
    )


CONFIG_MODELS: tuple[type[Settings], ...] = (
    CoordinatorSettings,
    HttpsSettings,
    AuthenticationSettings,
    OAuth2Settings,
    InternalCommunicationSettings,
    AccessControlFiles,
    DispatchSettings,
    GatewaySettings,
    FlightSettings,
    EmbeddedSettings,
    LocalSettings,
    HistorySettings,
    ClusterSettings,
    EventSettings,
    AuditSettings,
    TracingSettings,
    SparkSettings,
    CatalogSettings,
)
"""The models of etc/config.properties; each property is of one of them."""


class CoordinatorConfig(Settings):
    """Everything that a coordinator starts from."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    etc: Path
    node: NodeSettings
    coordinator: CoordinatorSettings
    https: HttpsSettings = HttpsSettings.model_validate({})
    authentication: AuthenticationSettings = AuthenticationSettings.model_validate({})
    oauth2: OAuth2Settings = OAuth2Settings.model_validate({})
    internal: InternalCommunicationSettings = InternalCommunicationSettings.model_validate({})
    dispatch: DispatchSettings
    gateway: GatewaySettings
    flight: FlightSettings = FlightSettings.model_validate({})
    embedded: EmbeddedSettings
    local: LocalSettings = LocalSettings.model_validate({})
    history: HistorySettings = HistorySettings.model_validate({})
    cluster: ClusterSettings = ClusterSettings.model_validate({})
    audit: AuditSettings = AuditSettings.model_validate({})
    events: EventSettings = EventSettings.model_validate({})
    tracing: TracingSettings = TracingSettings.model_validate({})
    spark: SparkSettings
    log: LogSettings
    catalogs: tuple[CatalogConfig, ...]
    catalog_management: CatalogSettings = CatalogSettings.model_validate({})
    resource_groups: ResourceGroupSettings | None = None
    maintenance: MaintenanceSettings = MaintenanceSettings.model_validate({})
    event_listeners: tuple[ListenerConfig, ...] = ()
    sidecar_secret: str | None = None
    """Made by `procession up`, for the sidecar at ``sidecar_url`` alone."""


def read_config(etc: Path) -> CoordinatorConfig:
    """The configuration under ``etc``; raises ConfigurationError. Only config.properties must exist."""
    if not etc.is_dir():
        raise ConfigurationError(f"{etc}: no such configuration directory; name another with --etc DIR")
    if not (etc / "config.properties").is_file():
        raise ConfigurationError(f"{etc / 'config.properties'}: no such file")
    properties = read_properties(etc / "config.properties")
    passed = passed_settings(properties)
    properties = {name: entry for name, entry in properties.items() if not is_passed(entry)}
    check_known(CONFIG_MODELS, properties)
    authentication = parse_settings(AuthenticationSettings, properties)
    https = parse_settings(HttpsSettings, properties)
    if "CERTIFICATE" in authentication.types and https.truststore_path is None:
        raise ConfigurationError("http-server.authentication.type=CERTIFICATE needs http-server.https.truststore.path")
    events = parse_settings(EventSettings, properties)
    return CoordinatorConfig(
        etc=etc,
        node=read_settings(NodeSettings, etc / "node.properties"),
        coordinator=parse_settings(CoordinatorSettings, properties),
        https=https,
        authentication=authentication,
        oauth2=parse_settings(OAuth2Settings, properties),
        internal=parse_settings(InternalCommunicationSettings, properties),
        dispatch=parse_settings(DispatchSettings, properties),
        gateway=parse_settings(GatewaySettings, properties),
        flight=parse_settings(FlightSettings, properties),
        embedded=parse_settings(EmbeddedSettings, properties),
        local=parse_settings(LocalSettings, properties),
        history=parse_settings(HistorySettings, properties),
        cluster=parse_settings(ClusterSettings, properties),
        audit=parse_settings(AuditSettings, properties),
        events=events,
        tracing=parse_settings(TracingSettings, properties),
        spark=parse_settings(SparkSettings, properties).model_copy(update={"conf": passed}),
        log=read_settings(LogSettings, etc / "log.properties"),
        catalogs=read_catalogs(etc / "catalog"),
        catalog_management=parse_settings(CatalogSettings, properties),
        resource_groups=_resource_groups(etc),
        maintenance=_maintenance(etc),
        event_listeners=read_listeners(etc, events, etc / "config.properties"),
    )


def _maintenance(etc: Path) -> MaintenanceSettings:
    file = etc / "maintenance.properties"
    settings = read_settings(MaintenanceSettings, file)
    if settings.policies is None:
        return settings
    return settings.model_copy(update={"policies": find_file(etc, settings.policies, file)})


def _resource_groups(etc: Path) -> ResourceGroupSettings | None:
    file = etc / "resource-groups.properties"
    if not file.is_file():
        return None
    settings = read_settings(ResourceGroupSettings, file)
    return settings.model_copy(update={"config_file": find_file(etc, settings.config_file, file)})
