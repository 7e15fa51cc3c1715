"""Composition root: one configured coordinator, wired from the rooms, served until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from traceback import format_exception

import structlog
import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from coordinator.checks.native_converter import native_converter
from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.checks.providers import load_plan_checkers
from coordinator.config import CoordinatorConfig, CoordinatorSettings, read_config
from coordinator.connectors.registry import Catalogs
from coordinator.connectors.system.runtime import NodeState
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.runtime_state import DispatcherState
from coordinator.engine.embedded.engine import EmbeddedEngine
from coordinator.engine.executor import Executor
from coordinator.engine.jobs import JobLog
from coordinator.engine.local import LocalEngine
from coordinator.engine.native import NativeExplainer
from coordinator.engine.spark.engine import SparkEngine
from coordinator.gateway.precheck import create_precheck_router
from coordinator.gateway.requests import session_from_headers
from coordinator.gateway.validator import StatementValidator
from coordinator.logs import configure_logging
from coordinator.planner_factory import PlannerFactory
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.reload import SpecificationFile
from coordinator.resource_groups.specification import ManagerSpec, global_group
from coordinator.room_settings import (
    checker_defaults,
    dispatch_settings,
    embedded_settings,
    gateway_settings,
    request_limits,
    session_defaults,
    spark_settings,
)
from coordinator.security.private_files import keep_files_private
from coordinator.security.redaction import Redactor, secrets_of
from coordinator.server.app import create_server
from coordinator.server.browser_guard import is_loopback
from coordinator.server.request_limits import LimitedProtocol
from coordinator.server.settings import NodeInfo, ServerSettings
from coordinator.sql.parse_statement import parse_statement
from coordinator.telemetry.collectors import NativeCheckerCollector, PlannerPoolCollector, SparkCollector
from coordinator.validation.kept_plans import KeptPlans
from coordinator.validation.metadata_versions import MetadataVersions
from coordinator.validation.pool import ValidationPool
from shared.errors import ProcessionError
from shared.properties import ConfigurationError
from shared.units import parse_data_size

_log = structlog.get_logger("coordinator")


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says over the configuration files."""

    http_port: int | None = None
    sidecar_url: str | None = None
    data_dir: Path | None = None


def serve(etc: Path, overrides: Overrides = Overrides(), ready: Callable[[str], None] = print) -> int:
    """Serve until SIGINT, SIGTERM or a graceful shutdown; blocks.

    ``ready`` is called with the base address once connections are taken. 0 after a clean stop, 2 when it cannot start,
    which is told in one line.
    """
    try:
        config = _overridden(read_config(etc), overrides)
        check_writable(config.node.data_dir)
        configure_logging(config.log, Redactor(_secrets(config)))
        check_exposure(config.coordinator)
        keep_files_private(config.node.data_dir)
        listener = _listen(config.coordinator.http_host, config.coordinator.http_port)
        server = _HttpServer(config, listener, ready)
    except ConfigurationError as error:
        sys.stderr.write(f"procession: {error}\n")
        return 2
    with suppress(SystemExit):  # uvicorn's for a start that failed
        server.run(sockets=[listener])
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
) -> FastAPI:
    """The ASGI application of one coordinator; nothing runs before its lifespan begins. Raises ConfigurationError.

    ``address`` is where it will be reached, for ``system.runtime.nodes``. ``start_failed`` gets what keeps the lifespan
    from beginning, after all that was started has ended.
    """
    settings = config.coordinator
    catalogs = Catalogs(config.catalogs)
    defaults = checker_defaults(config)
    checkers = PlanCheckers(load_plan_checkers(config.etc / "plan-checker-providers", defaults))
    properties = session_defaults(settings)
    factory = PlannerFactory(config.catalogs, config.etc / "plan-checker-providers", defaults, properties)
    pool = ValidationPool(
        factory,
        size=settings.validation_pool_size,
        max_queued=settings.validation_queue_size,
        timeout_seconds=settings.planning_timeout,
    )
    spark = SparkEngine(spark_settings(config, catalogs.spark_drivers()), catalogs.spark_conf())
    explainer = NativeExplainer(native_converter(checkers.providers, settings.sidecar_url))
    jobs = JobLog(config.node.data_dir / "jobs.db")
    embedded = EmbeddedEngine(embedded_settings(config), settings.embedded_processes)
    executor = Executor(catalogs, LocalEngine(), spark, explainer, jobs, embedded if embedded.processes else None)
    groups_file = _groups_file(config)
    groups = ResourceGroups(_groups(config, groups_file))
    dispatcher = Dispatcher(
        KeptPlans(pool),
        checkers,
        executor,
        groups,
        dispatch_settings(config),
        freshness=MetadataVersions(catalogs),
        redact=Redactor(_secrets(config)),
        distributed_procedures=catalogs.distributed_procedures(),
    )
    info = NodeInfo(config.node.node_id, version("procession"), config.node.environment)
    where = address or f"http://{settings.http_host}:{settings.http_port}"
    catalogs.runtime = DispatcherState(dispatcher, partial(_node, info, where, dispatcher))
    app = create_server(
        dispatcher,
        ServerSettings(
            compression_enabled=settings.compression,
            shutdown_grace_period=settings.shutdown_grace_period,
            principal_header=settings.principal_header,
            process_forwarded=settings.process_forwarded,
            allowed_hosts=_allowed_hosts(settings),
        ),
        info,
        parse_statement=parse_statement,
        stop=stop,
        metrics=_metrics(pool, checkers, spark),
        engines=lambda: {"spark": _spark_state(spark)},
        around=lambda: _telling(
            _running(catalogs, pool, checkers, spark, embedded, explainer, partial(_follow, groups_file, groups), jobs),
            start_failed,
        ),
    )
    app.include_router(
        create_precheck_router(
            StatementValidator(pool, checkers, groups, lambda: dispatcher.refusal),
            gateway_settings(config),
            partial(
                session_from_headers,
                principal_header=settings.principal_header,
                process_forwarded=settings.process_forwarded,
            ),
        )
    )
    return app


def _spark_state(spark: SparkEngine) -> dict[str, object]:
    status = spark.status
    return {
        "state": status.state.upper().replace(" ", "_"),
        "restarts": status.restarts,
        "givenUp": status.given_up,
        "problem": status.problem,
    }


def _secrets(config: CoordinatorConfig) -> frozenset[str]:
    entries = [entry for catalog in config.catalogs for entry in catalog.properties.values()]
    return secrets_of((entry.name, entry.value) for entry in entries)


def _allowed_hosts(settings: CoordinatorSettings) -> tuple[str, ...] | None:
    if settings.allowed_hosts is None and is_loopback(settings.http_host):
        return ()
    return settings.allowed_hosts


def check_exposure(settings: CoordinatorSettings) -> None:
    """Raises ConfigurationError for a server that lets in everybody on the network without being told to."""
    if is_loopback(settings.http_host):
        return
    if not settings.allow_unauthenticated:
        raise ConfigurationError(
            f"http-server.http.host={settings.http_host} lets everybody who reaches it run everything: this server "
            "does not authenticate. Listen on 127.0.0.1 behind a proxy that does, or set "
            "http-server.authentication.allow-unauthenticated=true"
        )
    _log.warning("nobody is authenticated: whoever reaches this address can do everything", host=settings.http_host)


def _node(info: NodeInfo, address: str, dispatcher: Dispatcher) -> NodeState:
    state = "active" if dispatcher.refusal is None else "shutting_down"
    return NodeState(info.node_id, address, info.version, state)


def _groups_file(config: CoordinatorConfig) -> SpecificationFile | None:
    settings = config.resource_groups
    if settings is None:
        return None
    # Only of the embedded Spark is it known how much memory there is to share.
    embedded = config.coordinator.spark_remote is None
    pool = parse_data_size(config.coordinator.spark_driver_memory.upper() + "B") if embedded else math.inf
    return SpecificationFile(settings.config_file, settings.refresh_interval, pool)


def _groups(config: CoordinatorConfig, file: SpecificationFile | None) -> ManagerSpec:
    if file is not None:
        return file.read()
    settings = config.coordinator
    return global_group(settings.max_concurrent_queries, settings.max_queued_queries)


def _follow(file: SpecificationFile | None, groups: ResourceGroups) -> AbstractAsyncContextManager[None]:
    return nullcontext() if file is None else file.following(groups)


def _metrics(pool: ValidationPool, checkers: PlanCheckers, spark: SparkEngine) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(PlannerPoolCollector(pool.stats))
    registry.register(NativeCheckerCollector(checkers.providers))
    registry.register(SparkCollector(lambda: spark.status))
    return registry


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
    embedded: EmbeddedEngine,
    explainer: NativeExplainer,
    following: Callable[[], AbstractAsyncContextManager[None]],
    jobs: JobLog,
) -> AsyncIterator[None]:
    """Everything with a life cycle, started in order and stopped in reverse."""
    async with AsyncExitStack() as stack:
        stack.callback(jobs.close)
        explainer.bind(asyncio.get_running_loop())
        stack.push_async_callback(explainer.aclose)
        stack.push_async_callback(checkers.aclose)
        await asyncio.to_thread(_open, catalogs)
        stack.push_async_callback(asyncio.to_thread, spark.stop)
        spark.start()
        stack.push_async_callback(asyncio.to_thread, embedded.close)
        stack.push_async_callback(pool.aclose)
        await pool.start()
        await stack.enter_async_context(following())
        # What is loaded by now stays: a full collection that walks over it holds up the event loop for 0.1 s.
        gc.collect()
        gc.freeze()
        yield


def _open(catalogs: Catalogs) -> None:
    """Reach every catalog once, and settle what calls of an earlier coordinator left open in it."""
    for name in catalogs.names():
        try:
            connector = catalogs.connector(name)
            connector.schemas()
            for outcome in getattr(connector, "recover", tuple)():
                _log.info("recovered", catalog=name, outcome=str(outcome))
        except ProcessionError as error:
            # An unreachable catalog must not keep the coordinator down; its journal stays open for the next start.
            _log.error("catalog cannot be reached", catalog=name, reason=error.message)


class _HttpServer(uvicorn.Server):
    """uvicorn that tells its address when it serves, and whose app can ask it to stop."""

    def __init__(self, config: CoordinatorConfig, listener: socket.socket, ready: Callable[[str], None]) -> None:
        self._address = "http://{}:{}".format(*listener.getsockname()[:2])
        self.failure: str | None = None
        app = create_app(config, stop=self._stop, address=self._address, start_failed=self._failed)
        # Statement bodies are small and pages are encoded already; uvloop and httptools carry the rest.
        super().__init__(
            uvicorn.Config(
                app,
                http=partial(LimitedProtocol, request_limits(config)),  # type: ignore[arg-type]
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # whether they count is a setting of ours
                timeout_graceful_shutdown=10,
            )
        )
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready(self._address)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, without raising the signals again at the end: a stop that was asked for is a clean one."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self) -> None:
        self.should_exit = True

    def _failed(self, error: Exception) -> None:
        """What a person reads is one line; the stack is for the log at level DEBUG."""
        _log.debug("start failed", stack="".join(format_exception(error)))
        reason = error.message if isinstance(error, ProcessionError) else f"{type(error).__name__}: {error}"
        self.failure = " ".join(reason.split())
        # It would write the stack of what was told just now.
        logging.getLogger("uvicorn.error").disabled = True


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=2048)
    except OSError as error:
        reason = "the port is in use" if error.errno == 98 else error.strerror
        raise ConfigurationError(f"cannot listen on {host}:{port}: {reason}") from error


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
            "node": config.node.model_copy(update={"data_dir": data_dir}),
            "catalogs": tuple(replace(catalog, data_dir=data_dir) for catalog in config.catalogs),
        }
    )
