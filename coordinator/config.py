"""Typed settings of a coordinator, read from Presto's own configuration files with Presto's names and units.

``etc/config.properties``, ``etc/node.properties``, ``etc/log.properties``, ``etc/catalog/*.properties`` and
``etc/plan-checker-providers/*.properties``. An unknown key, a wrong value or a missing file stops the start with a
ConfigurationError that names file and line. docs/configuration.md is generated from the models below.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from coordinator.connectors.registry import CatalogConfig, read_catalogs
from shared.properties import ConfigurationError, Property, read_properties
from shared.units import parse_data_size, parse_duration

Seconds = Annotated[float, BeforeValidator(lambda v: parse_duration(v) if isinstance(v, str) else v)]
Bytes = Annotated[int, BeforeValidator(lambda v: parse_data_size(v) if isinstance(v, str) else v)]
Names = Annotated[tuple[str, ...], BeforeValidator(lambda v: _split(v) if isinstance(v, str) else v)]


_TARGET = r"[A-Za-z0-9._-]*"


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


S = TypeVar("S", bound=_Settings)


class NodeSettings(_Settings):
    """etc/node.properties"""

    environment: str = Field(
        "production",
        alias="node.environment",
        pattern=r"[a-z0-9][_a-z0-9]*",
        description="Name of the environment, shown in /v1/info.",
    )
    node_id: str = Field("procession-coordinator", alias="node.id", description="Stable id of this node.")
    data_dir: Path = Field(
        Path("var"),
        alias="node.data-dir",
        description="Where journal, logs, embedded catalogs and Spark's working files live.",
    )


class CoordinatorSettings(_Settings):
    """etc/config.properties"""

    http_host: str = Field("127.0.0.1", alias="http-server.http.host", description="Address to listen on.")
    http_port: int = Field(
        8080, alias="http-server.http.port", ge=0, le=65535, description="Port to listen on; 0 takes a free one."
    )
    allowed_hosts: Names | None = Field(
        None,
        alias="http-server.allowed-hosts",
        description="Names under which this server may be asked, beside addresses, localhost and the machine's own;"
        " * for any. Unset means these on a loopback address, and any elsewhere.",
    )
    process_forwarded: bool = Field(
        False,
        alias="http-server.process-forwarded",
        description="Believe X-Forwarded-Proto, X-Forwarded-Host and X-Forwarded-For, which a proxy in front sets.",
    )
    allow_unauthenticated: bool = Field(
        False,
        alias="http-server.authentication.allow-unauthenticated",
        description="Listen on other than a loopback address although everybody who reaches it can do everything.",
    )
    max_header_size: Bytes = Field(
        1 << 20,
        alias="http-server.max-request-header-size",
        ge=1024,
        description="Request line and headers; more is answered 431. Prepared statements of a client travel there.",
    )
    receive_timeout: Seconds = Field(
        60.0,
        alias="http-server.request-receive-timeout",
        gt=0,
        description="From a request's first byte to its last, and until a new connection asks anything; then it is"
        " answered 408. The longest statement over a slow line takes a few seconds.",
    )
    principal_header: str | None = Field(
        None,
        alias="http-server.authentication.principal-header",
        min_length=1,
        description="Header in which a trusted proxy names the principal that it has authenticated, for the selectors"
        " of resource groups; whoever reaches this server past the proxy can set it, too.",
    )
    max_query_length: int = Field(
        1_000_000,
        alias="query.max-length",
        ge=1,
        le=1_000_000_000,
        description="Longest statement text in characters; a longer one fails with QUERY_TEXT_TOO_LARGE.",
    )
    client_timeout: Seconds = Field(
        300.0, alias="query.client.timeout", gt=0, description="A query that is not polled for this long is abandoned."
    )
    min_expire_age: Seconds = Field(
        900.0, alias="query.min-expire-age", gt=0, description="How long a finished query stays visible."
    )
    max_history: int = Field(
        100,
        alias="query.max-history",
        ge=0,
        description="How many finished queries stay visible past query.min-expire-age at most.",
    )
    max_run_time: Seconds = Field(
        parse_duration("100d"),
        alias="query.max-run-time",
        gt=0,
        description="A query that runs longer fails with EXCEEDED_TIME_LIMIT.",
    )
    max_replay_size: Bytes = Field(
        64 << 20,
        alias="query.max-replay-size",
        ge=0,
        description="Last pages kept, over all ended queries, for clients whose answer was lost and who ask again at"
        " once; the newest is kept whatever its size.",
    )
    max_run_again: int = Field(
        1,
        alias="query.max-run-again",
        ge=0,
        le=10,
        description="How often a query that only reads and has delivered no row is run again by itself when Spark or"
        " a task of it is lost; once, so that a query which ends Spark each time does not do so for ever.",
    )
    max_concurrent_queries: int = Field(
        100, alias="query.max-concurrent-queries", ge=1, description="Statements that run at the same time."
    )
    max_queued_queries: int = Field(
        1000,
        alias="query.max-queued-queries",
        ge=0,
        description="Statements that may wait; one more fails with QUERY_QUEUE_FULL.",
    )
    nested_data_serialization: bool = Field(
        False,
        alias="nested-data-serialization-enabled",
        description="Send arrays, maps and rows as text, as Presto does by default, in place of real JSON.",
    )
    compression: bool = Field(
        True,
        alias="query-results.compression-enabled",
        description="Let proxies compress results; false forces Content-Encoding: identity.",
    )
    shutdown_grace_period: Seconds = Field(
        120.0,
        alias="shutdown.grace-period",
        ge=0,
        description="How long running queries may finish after shutdown was asked for.",
    )
    eager_validation: bool = Field(
        True, alias="eager-plan-validation-enabled", description="Plan and check a statement before it queues."
    )
    validation_pool_size: int = Field(
        2, alias="eager-plan-validation-thread-pool-size", ge=1, le=64, description="Planner processes."
    )
    validation_queue_size: int = Field(
        1100,
        alias="eager-plan-validation-max-queued",
        ge=0,
        description="Statements that may wait for a planner; by default as many as may run and queue by default.",
    )
    planning_timeout: Seconds = Field(
        30.0,
        alias="eager-plan-validation-timeout",
        gt=0,
        description="A statement that plans longer fails with QUERY_PLANNING_TIMEOUT.",
    )
    precheck_rate: float = Field(
        200.0,
        alias="precheck.max-requests-per-second",
        gt=0,
        description="Pre-checks of gateways (docs/gateways.md) a second; more are answered 429.",
    )
    precheck_concurrency: int = Field(
        100, alias="precheck.max-concurrent-requests", ge=1, description="Pre-checks at the same time."
    )
    precheck_accepted_target: str = Field(
        "", alias="precheck.accepted-target", pattern=_TARGET, description="Where gateways send accepted statements."
    )
    precheck_refused_target: str = Field(
        "", alias="precheck.refused-target", pattern=_TARGET, description="Where they send refused ones, if anywhere."
    )
    precheck_native_refused_target: str = Field(
        "",
        alias="precheck.native-refused-target",
        pattern=_TARGET,
        description="Where they send accepted statements that native workers could not run, if elsewhere.",
    )
    precheck_undecided_target: str = Field(
        "",
        alias="precheck.undecided-target",
        pattern=_TARGET,
        description="Where they send statements that this coordinator cannot judge at the moment.",
    )
    sidecar_url: str | None = Field(
        None,
        alias="sidecar.uri",
        description="Base address of the sidecar; `procession up` starts one and fills this in.",
    )
    sidecar_options: str = Field(
        "",
        alias="sidecar.options",
        description="Flags of the sidecar that `procession up` starts, as on its command line: docs/sidecar.md.",
    )
    native_execution: bool = Field(
        False,
        alias="native-execution-enabled",
        description="Statements are meant for native workers: what those cannot run is refused (docs/checks.md).",
    )
    query_engine: Literal["auto", "embedded", "spark"] = Field(
        "auto",
        alias="query.engine",
        description="What answers queries over tables of lakes: the embedded engine where it reads little, or one of"
        " the two always; session property engine.",
    )
    embedded_max_scan_size: Bytes = Field(
        256 << 20,
        alias="embedded-engine.max-scan-size",
        description="The most bytes of lakes that the embedded engine reads for a query, of its columns as stored;"
        " files with deletes or nested columns, and those of object stores, count 8 times.",
    )
    embedded_max_scan_rows: int = Field(
        50_000_000,
        alias="embedded-engine.max-scan-rows",
        ge=0,
        description="The most rows of lakes that it reads for a query, counted likewise.",
    )
    embedded_max_program_rows: int = Field(
        100_000,
        alias="embedded-engine.max-program-rows",
        ge=0,
        description="The most rows of lakes for which it runs functions row by row, some microseconds each.",
    )
    embedded_processes: int = Field(
        2,
        alias="embedded-engine.processes",
        ge=0,
        description="Processes of the embedded engine that read tables of lakes, one query each at a time; started when"
        " needed. With 0, the coordinator reads them itself.",
    )
    embedded_memory: Bytes = Field(
        1 << 30, alias="embedded-engine.memory", ge=64 << 20, description="Memory of each; beyond it, queries spill."
    )
    embedded_threads: int = Field(
        0,
        alias="embedded-engine.threads",
        ge=0,
        description="Threads of each; 0 is as many as the machine has cores, at most 4.",
    )
    embedded_max_spill_size: Bytes = Field(
        8 << 30,
        alias="embedded-engine.max-spill-size",
        description="Disk that each may spill to, under the data directory.",
    )
    spark_remote: str | None = Field(
        None,
        alias="spark.remote",
        description="sc://host:port of a Spark Connect server; without it one is started as a child.",
    )
    inner_join_pushdown: bool = Field(
        True,
        alias="optimizer.inner-join-pushdown-enabled",
        description="Let JDBC catalogs join their own tables; session property optimizer_inner_join_pushdown_enabled.",
    )
    inequality_join_pushdown: bool = Field(
        False,
        alias="optimizer.inequality-join-pushdown-enabled",
        description="Also by other conditions; session property optimizer_inequality_join_pushdown_enabled.",
    )
    spark_warm_up: bool = Field(False, alias="spark.warm-up", description="Start Spark on boot and run a first task.")
    spark_watchdog_interval: Seconds = Field(
        5.0,
        alias="spark.watchdog-interval",
        gt=0,
        description="How often Spark is asked something small; with the time-out below 30 s to a new server.",
    )
    spark_watchdog_timeout: Seconds = Field(
        20.0,
        alias="spark.watchdog-timeout",
        gt=0,
        description="An embedded Spark that does not answer for this long is started again, longer than a pause of"
        " its garbage collector takes that it comes back from; one of `spark.remote` is given up after three times.",
    )
    spark_driver_memory: str = Field(
        "2g", alias="spark.driver-memory", pattern=r"\d+[mg]", description="Heap of the embedded Spark server."
    )
    spark_master: str = Field("local[*]", alias="spark.master", description="Master of the embedded Spark server.")
    spark_packages: Names = Field(
        (
            "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
            "org.xerial:sqlite-jdbc:3.50.3.0",
            "org.postgresql:postgresql:42.7.8",
        ),
        alias="spark.packages",
        description="Maven coordinates of the embedded Spark server's jars.",
    )
    spark_jars: Names = Field((), alias="spark.jars", description="Paths of further jars.")


class LogSettings(_Settings):
    """etc/log.properties"""

    level: Literal["DEBUG", "INFO", "WARN", "ERROR"] = Field(
        "INFO", alias="log.level", description="Least level that is logged."
    )
    format: Literal["auto", "json", "console"] = Field(
        "auto", alias="log.format", description="json in containers, console on a terminal; auto chooses."
    )


class ResourceGroupSettings(_Settings):
    """etc/resource-groups.properties"""

    configuration_manager: Literal["file"] = Field(
        "file",
        alias="resource-groups.configuration-manager",
        description="Where groups and selectors come from; only `file` exists.",
    )
    config_file: Path = Field(
        alias="resource-groups.config-file",
        description="The JSON file (docs/resource-groups.md); a relative path starts above the `etc` directory, "
        "or in it. With it, query.max-concurrent-queries and query.max-queued-queries have no effect.",
    )
    refresh_interval: Seconds = Field(
        1.0,
        alias="resource-groups.refresh-interval",
        gt=0,
        description="How often the file is looked at; a change counts at once, a wrong one is logged and ignored.",
    )


class CoordinatorConfig(_Settings):
    """Everything that a coordinator starts from."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    etc: Path
    node: NodeSettings
    coordinator: CoordinatorSettings
    log: LogSettings
    catalogs: tuple[CatalogConfig, ...]
    resource_groups: ResourceGroupSettings | None = None


def read_config(etc: Path) -> CoordinatorConfig:
    """The configuration under ``etc``; raises ConfigurationError. Only config.properties must exist."""
    if not etc.is_dir():
        raise ConfigurationError(f"{etc}: no such configuration directory")
    if not (etc / "config.properties").is_file():
        raise ConfigurationError(f"{etc / 'config.properties'}: no such file")
    return CoordinatorConfig(
        etc=etc,
        node=_read(NodeSettings, etc / "node.properties"),
        coordinator=_read(CoordinatorSettings, etc / "config.properties"),
        log=_read(LogSettings, etc / "log.properties"),
        catalogs=read_catalogs(etc / "catalog"),
        resource_groups=_resource_groups(etc),
    )


def _resource_groups(etc: Path) -> ResourceGroupSettings | None:
    file = etc / "resource-groups.properties"
    if not file.is_file():
        return None
    settings = _read(ResourceGroupSettings, file)
    found = [path for above in (etc.parent, etc) if (path := above / settings.config_file).is_file()]
    if not found:
        raise ConfigurationError(f"{file}: no such file: {settings.config_file}")
    return settings.model_copy(update={"config_file": found[0].absolute()})


def _read(model: type[S], file: Path) -> S:
    return parse_settings(model, read_properties(file) if file.is_file() else {})


def parse_settings(model: type[S], properties: Mapping[str, Property]) -> S:
    """Typed settings of ``properties``; raises ConfigurationError at the entry that is wrong."""
    known = {field.alias for field in model.model_fields.values()}
    for entry in properties.values():
        if entry.name not in known:
            raise entry.error(f"unknown property '{entry.name}'")
    try:
        return model.model_validate({entry.name: entry.value for entry in properties.values()})
    except ValidationError as error:
        problem = error.errors()[0]
        if problem["type"] == "missing":
            file = next((entry.file for entry in properties.values()), None)
            raise ConfigurationError(f"{file or model.__doc__}: property '{problem['loc'][0]}' is missing") from error
        entry = properties[str(problem["loc"][0])]
        raise entry.error(f"invalid value '{entry.value}' for '{entry.name}': {problem['msg']}") from error
