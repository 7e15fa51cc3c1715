"""Composition root: one configured coordinator, wired from the rooms, served until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import math
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import structlog
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from coordinator.checks.native_converter import native_converter
from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.checks.providers import load_plan_checkers
from coordinator.clustering import load_clustering
from coordinator.config import CoordinatorConfig, CoordinatorSettings, read_config
from coordinator.connectors.registry import Catalogs
from coordinator.connectors.system.runtime import NodeState
from coordinator.dispatch.access import AuthorizedPlanner, admitted, check_kill, may_view
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.events import QueryEvents, access_denied
from coordinator.dispatch.runtime_state import DispatcherState
from coordinator.engine.executor import Executor
from coordinator.engine.guarded_jobs import GuardedJobLog
from coordinator.engine.native import NativeExplainer
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.sql_processes import SqlProcesses
from coordinator.events.bus import EventBus
from coordinator.exposure import check_exposure
from coordinator.flight.callers import Callers
from coordinator.flight.server import FlightServer
from coordinator.flight.statements import Statements
from coordinator.flight.tls import load_credentials
from coordinator.gateway.precheck import create_precheck_router
from coordinator.gateway.requests import session_from_headers
from coordinator.gateway.validator import StatementValidator
from coordinator.http_server import HttpServer
from coordinator.listeners import EventDelivery, HistoryView, load_event_delivery
from coordinator.logs import configure_logging
from coordinator.maintenance.create import create_maintenance
from coordinator.managed_catalogs import ManagedCatalogs
from coordinator.planner_factory import PlannerFactory
from coordinator.planning.session_statements import PROPERTIES
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.reload import SpecificationFile
from coordinator.resource_groups.specification import ManagerSpec, global_group
from coordinator.room_settings import (
    checker_defaults,
    flight_settings,
    gateway_settings,
    secrets_in,
    session_defaults,
    spark_settings,
)
from coordinator.security.access_control.audit import audit
from coordinator.security.access_control.load import load_access_policy
from coordinator.security.authentication.load import load_authentication
from coordinator.security.private_files import keep_files_private
from coordinator.security.redaction import Redactor
from coordinator.security.refreshed_file import RefreshedFiles
from coordinator.security.session_property_manager import load_session_properties
from coordinator.server.app import create_server
from coordinator.server.browser_guard import is_loopback
from coordinator.server.settings import NodeInfo, ServerSettings
from coordinator.sql.parse_statement import parse_statement
from coordinator.telemetry.collectors import MaintenanceCollector
from coordinator.telemetry.registry import metrics_of
from coordinator.ui_sources import include_below_ui, spark_state, ui_sources
from coordinator.validation.kept_plans import KeptPlans
from coordinator.validation.metadata_versions import MetadataVersions
from coordinator.validation.pool import ValidationPool
from coordinator.vocabulary.nesting import RECURSION_LIMIT
from shared.errors import ErrorCode, ProcessionError
from shared.properties import ConfigurationError
from shared.spi.access_control import Identity, SystemAccessControl
from shared.spi.event_listener import ListenerContext
from shared.spi.session import Session

_log = structlog.get_logger("coordinator")


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says over the configuration files."""

    http_port: int | None = None
    sidecar_url: str | None = None
    data_dir: Path | None = None
    sidecar_secret: str | None = None


def serve(etc: Path, overrides: Overrides = Overrides(), ready: Callable[[str], None] = print) -> int:
    """Serve until SIGINT, SIGTERM or a graceful shutdown; blocks.

    ``ready`` is called with the base address once connections are taken. 0 after a clean stop, 2 when it cannot start,
    which is told in one line.
    """
    try:
        config = _overridden(read_config(etc), overrides)
        check_writable(config.node.data_dir)
        redact = Redactor(secrets_in(config))
        configure_logging(config.log, redact)
        check_exposure(config.coordinator, config.https, config.authentication)
        keep_files_private(config.node.data_dir)
        server = HttpServer(config, partial(create_app, config, redact=redact), ready)
    except ConfigurationError as error:
        sys.stderr.write(f"procession: {error}\n")
        return 2
    sys.setrecursionlimit(RECURSION_LIMIT)  # plans are read here as deep as they were made
    with suppress(SystemExit):  # uvicorn's for a start that failed
        server.run(sockets=server.plain)
    if server.failure is not None:
        sys.stderr.write(f"procession: {server.failure}\n")
        return 2
    return 0


def check_writable(data_dir: Path) -> None:
    """Raises ConfigurationError when journals, logs and scratch files cannot be written there."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data_dir):
            pass
    except OSError as error:
        reason = "it is a file" if data_dir.is_file() else error.strerror
        raise ConfigurationError(f"cannot write to the data directory {data_dir}: {reason}") from error


def create_app(
    config: CoordinatorConfig,
    stop: Callable[[], None] | None = None,
    address: str | None = None,
    start_failed: Callable[[Exception], None] = lambda _error: None,
    redact: Redactor | None = None,
) -> FastAPI:
    """The ASGI application of one coordinator; nothing runs before its lifespan begins. Raises ConfigurationError.

    ``address`` is where it will be reached, for ``system.runtime.nodes``. ``start_failed`` gets what keeps the lifespan
    from beginning, after all that was started has ended.
    """
    settings = config.coordinator
    catalogs = Catalogs(config.catalogs)
    catalogs.managed = config.catalog_management.by_statements
    defaults = checker_defaults(config)
    checkers = PlanCheckers(load_plan_checkers(config.etc / "plan-checker-providers", defaults))
    properties = session_defaults(settings) | config.embedded.session_defaults()
    authenticated = bool(config.authentication.types)
    info = NodeInfo(config.node.node_id, version("procession"), config.node.environment)
    where = address or f"http://{settings.http_host}:{settings.http_port}"
    service = ListenerContext(where, info.version, info.environment, info.node_id, config.node.data_dir)
    delivery = load_event_delivery(config, service)
    clustering = load_clustering(config, where, info.version, delivery.settle)
    factory = PlannerFactory(
        config.catalogs,
        config.etc / "plan-checker-providers",
        defaults,
        properties,
        etc=config.etc,
        authenticated=authenticated,
        facts=delivery.anyone,
        memory_bytes=settings.planning_memory,
        managed=catalogs.managed,
    )
    rules = RefreshedFiles()
    catalogs.access = load_access_policy(config.etc, catalogs, authenticated=authenticated, files=rules)
    control = catalogs.access.control
    given = load_session_properties(config.etc, PROPERTIES)

    def admit(session: Session) -> Session:
        return admitted(control, session, catalogs.all_names(), given)

    pool = ValidationPool(
        factory,
        size=settings.validation_pool_size,
        max_queued=settings.validation_queue_size,
        timeout_seconds=settings.planning_timeout,
        user_burst_seconds=settings.planning_user_burst,
    )
    spark = SparkEngine(spark_settings(config, catalogs.spark_drivers()), catalogs.spark_conf())
    explainer = NativeExplainer(native_converter(checkers.providers, defaults.get("native", {})))
    redact = Redactor(secrets_in(config)) if redact is None else redact
    jobs = GuardedJobLog(config.node.data_dir / "jobs.db", control, redact, delivery.job)
    scratch = (config.node.data_dir / "embedded").resolve()
    sql = SqlProcesses.made(config.local, config.embedded, scratch)
    embedded = sql.embedded if config.embedded.processes else None
    managing = ManagedCatalogs(config, catalogs, factory, pool, spark, redact)
    executor = Executor(catalogs, sql.local, spark, explainer, jobs, embedded, managing.manager.carry_out)
    groups_file = _groups_file(config)
    groups = ResourceGroups(_groups(config, groups_file))
    planner = AuthorizedPlanner(
        KeptPlans(pool, version=lambda: control.rules_version, catalogs=lambda: catalogs.version), control
    )
    dispatcher = Dispatcher(
        planner,
        checkers,
        executor,
        groups,
        config.dispatch,
        freshness=MetadataVersions(catalogs),
        redact=redact,
        distributed_procedures=catalogs.distributed_procedures(),
        results_folder=(config.node.data_dir / "results").resolve(),
        events=QueryEvents(delivery.bus.publish, service, hide=redact.known, each_creation=delivery.each_creation),
        id_suffix=None if clustering is None else clustering.tokens.suffix,
    )
    cluster = None if clustering is None else clustering.cluster(dispatcher.registry.__contains__)
    metrics = metrics_of(pool, checkers, spark, sql, rules, delivery.bus)
    its_turn = (lambda: True) if clustering is None else clustering.maintains
    maintaining = _maintaining(config, catalogs, dispatcher, admit, rules, metrics, its_turn)
    catalogs.history = None if delivery.history is None else HistoryView(delivery.history, control)
    catalogs.runtime = DispatcherState(
        dispatcher,
        partial(_node, info, where, dispatcher),
        partial(may_view, control),
        partial(check_kill, control),
        clustering,
    )
    served = replace(_server_settings(config, control, admit, delivery, redact), cluster=cluster)
    flight = FlightServer(
        Callers(served, dispatcher.clock, config.internal.shared_secret),
        Statements(dispatcher, planner),
        flight_settings(config),
        settings.http_host,
        info.version,
        None if config.flight.port is None else load_credentials(config.etc, config.https),
    )
    app = create_server(
        dispatcher,
        served,
        info,
        parse_statement=parse_statement,
        stop=stop,
        metrics=metrics,
        engines=lambda: {
            "spark": spark_state(spark),
            **({} if clustering is None else {"cluster": clustering.status()}),
        },
        ui=ui_sources(config, catalogs, pool, checkers, spark, sql, delivery.bus, redact),
        around=lambda: _telling(
            _running(
                *(catalogs, pool, checkers, spark, sql, explainer, partial(_follow, groups_file, groups), jobs),
                maintaining,
                managing.following,
                delivery.bus,
                nullcontext if clustering is None else clustering.joined,
                flight.running,
            ),
            start_failed,
        ),
    )
    prechecks = create_precheck_router(
        StatementValidator(AuthorizedPlanner(pool, control), checkers, groups, lambda: dispatcher.refusal),
        gateway_settings(config),
        partial(
            session_from_headers,
            principal_header=settings.principal_header,
            process_forwarded=settings.process_forwarded,
            admit=admit,
        ),
        admit,
        blocks=control.rules_version is None,
    )
    app.include_router(prechecks)
    include_below_ui(app, prechecks)
    return app


def _server_settings(
    config: CoordinatorConfig,
    control: SystemAccessControl,
    admit: Callable[[Session], Session],
    delivery: EventDelivery,
    redact: Redactor,
) -> ServerSettings:
    settings = config.coordinator

    def denied(error: ProcessionError, identity: Identity | None) -> None:
        audit(error, identity)
        if error.code is ErrorCode.PERMISSION_DENIED:
            delivery.bus.publish(partial(access_denied, error, identity, None, redact))

    return ServerSettings(
        compression_enabled=settings.compression,
        shutdown_grace_period=settings.shutdown_grace_period,
        principal_header=settings.principal_header,
        process_forwarded=settings.process_forwarded,
        allowed_hosts=_allowed_hosts(settings),
        authentication=load_authentication(
            config.etc,
            config.authentication,
            config.oauth2,
            settings.principal_header,
            control,
            config.internal.shared_secret,
        ),
        access_control=control,
        admit=admit,
        admit_blocks=control.rules_version is None,
        denied=denied,
        history=delivery.history,
    )


def _maintaining(
    config: CoordinatorConfig,
    catalogs: Catalogs,
    dispatcher: Dispatcher,
    admit: Callable[[Session], Session],
    rules: RefreshedFiles,
    metrics: CollectorRegistry,
    is_its_turn: Callable[[], bool],
) -> Callable[[], AbstractAsyncContextManager[None]]:
    """What runs the maintenance service, where it is on."""
    if not config.maintenance.enabled:
        return nullcontext
    made = create_maintenance(config.maintenance, catalogs, dispatcher, admit, config.node.data_dir, rules, is_its_turn)
    dispatcher.on_ended(made.query_ended)
    catalogs.maintenance = made.view
    metrics.register(MaintenanceCollector(made.service))
    return made.running


def _allowed_hosts(settings: CoordinatorSettings) -> tuple[str, ...] | None:
    if settings.allowed_hosts is None and is_loopback(settings.http_host):
        return ()
    return settings.allowed_hosts


def _node(info: NodeInfo, address: str, dispatcher: Dispatcher) -> NodeState:
    state = "active" if dispatcher.refusal is None else "shutting_down"
    return NodeState(info.node_id, address, info.version, state)


def _groups_file(config: CoordinatorConfig) -> SpecificationFile | None:
    settings = config.resource_groups
    if settings is None:
        return None
    # Only of the embedded Spark is it known how much memory there is to share.
    embedded = config.spark.remote is None
    pool = config.spark.heap_size if embedded else math.inf
    return SpecificationFile(settings.config_file, settings.refresh_interval, pool)


def _groups(config: CoordinatorConfig, file: SpecificationFile | None) -> ManagerSpec:
    if file is not None:
        return file.read()
    settings = config.coordinator
    return global_group(
        settings.max_concurrent_queries,
        settings.max_queued_queries,
        running_of_user=settings.max_concurrent_of_user,
        queued_of_user=settings.max_queued_of_user,
    )


def _follow(file: SpecificationFile | None, groups: ResourceGroups) -> AbstractAsyncContextManager[None]:
    return nullcontext() if file is None else file.following(groups)


@asynccontextmanager
async def _telling(
    running: AbstractAsyncContextManager[None], start_failed: Callable[[Exception], None]
) -> AsyncIterator[None]:
    begun = False
    try:
        async with running:
            begun = True
            yield
    except Exception as error:
        if not begun:
            start_failed(error)
        raise


@asynccontextmanager
async def _running(
    catalogs: Catalogs,
    pool: ValidationPool,
    checkers: PlanCheckers,
    spark: SparkEngine,
    sql: SqlProcesses,
    explainer: NativeExplainer,
    following: Callable[[], AbstractAsyncContextManager[None]],
    jobs: GuardedJobLog,
    maintaining: Callable[[], AbstractAsyncContextManager[None]],
    managing: Callable[[], AbstractAsyncContextManager[None]],
    bus: EventBus,
    joining: Callable[[], AbstractAsyncContextManager[None]],
    flying: Callable[[], AbstractAsyncContextManager[None]],
) -> AsyncIterator[None]:
    """Everything with a life cycle, started in order and stopped in reverse."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(joining())
        # Before all others, so that it is the last of them to stop: what ends while the service stops is told of too.
        bus.start()
        stack.push_async_callback(asyncio.to_thread, bus.close)
        stack.callback(jobs.close)
        explainer.bind(asyncio.get_running_loop())
        stack.push_async_callback(explainer.aclose)
        stack.push_async_callback(checkers.aclose)
        await asyncio.to_thread(_open, catalogs, spark)
        stack.push_async_callback(asyncio.to_thread, spark.stop)
        spark.start()
        stack.push_async_callback(asyncio.to_thread, sql.close)
        sql.start()
        stack.push_async_callback(pool.aclose)
        await pool.start()
        await stack.enter_async_context(following())
        await stack.enter_async_context(maintaining())
        await stack.enter_async_context(managing())
        await stack.enter_async_context(flying())
        # What is loaded by now stays: a full collection that walks over it holds up the event loop for 0.1 s.
        gc.collect()
        gc.freeze()
        yield


def _open(catalogs: Catalogs, spark: SparkEngine) -> None:
    """Reach every catalog once, and settle what calls of an earlier coordinator left open in it."""
    for name in catalogs.names():
        try:
            connector = catalogs.connector(name)
            connector.schemas()
            recover: Callable[..., Iterable[object]] = getattr(connector, "recover", _nothing_to_recover)
            for outcome in recover(partial(spark.end_earlier_write, name)):
                _log.info("recovered", catalog=name, outcome=str(outcome))
        except ProcessionError as error:
            # An unreachable catalog must not keep the coordinator down; its journal stays open for the next start.
            _log.error("catalog cannot be reached", catalog=name, reason=error.message)


def _nothing_to_recover(_end_write: Callable[[str], bool]) -> Iterable[object]:
    return ()


def _overridden(config: CoordinatorConfig, overrides: Overrides) -> CoordinatorConfig:
    coordinator: dict[str, object] = {}
    if overrides.http_port is not None:
        coordinator["http_port"] = overrides.http_port
    if overrides.sidecar_url is not None:
        coordinator["sidecar_url"] = overrides.sidecar_url
    data_dir = (overrides.data_dir or config.node.data_dir).absolute()
    return config.model_copy(
        update={
            "coordinator": config.coordinator.model_copy(update=coordinator),
            "sidecar_secret": overrides.sidecar_secret,
            "node": config.node.model_copy(update={"data_dir": data_dir}),
            "catalogs": tuple(replace(catalog, data_dir=data_dir) for catalog in config.catalogs),
        }
    )
