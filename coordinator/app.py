"""One configured coordinator behind HTTP, served until it is told to stop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from coordinator.clustering import Clustering
from coordinator.config import CoordinatorConfig, CoordinatorSettings, read_config
from coordinator.data_directory import check_writable, held
from coordinator.dispatch.access import AuthorizedPlanner
from coordinator.dispatch.events import access_denied
from coordinator.exposure import check_exposure
from coordinator.flight.callers import Callers
from coordinator.flight.server import FlightServer
from coordinator.flight.statements import Statements
from coordinator.flight.tls import load_credentials
from coordinator.gateway.precheck import create_prechecks
from coordinator.gateway.requests import session_from_headers
from coordinator.gateway.validator import StatementValidator
from coordinator.http_server import HttpServer
from coordinator.life_cycle import Running, running
from coordinator.logs import configure_logging
from coordinator.maintenance.create import create_maintenance
from coordinator.parts import Parts, make_parts
from coordinator.room_settings import flight_settings, gateway_settings, secrets_in
from coordinator.security.access_control.audit import audit
from coordinator.security.audit_log.file import AuditStats
from coordinator.security.authentication.load import load_authentication
from coordinator.security.private_files import keep_files_private
from coordinator.security.redaction import Redactor
from coordinator.server.app import create_server
from coordinator.server.authentication import nothing_refused
from coordinator.server.browser_guard import is_loopback
from coordinator.server.settings import Cluster, ServerSettings, nothing_done
from coordinator.sql.parse_statement import parse_statement
from coordinator.telemetry.collectors import AuditCollector, MaintenanceCollector
from coordinator.telemetry.registry import metrics_of
from coordinator.ui_sources import include_below_ui, spark_state, ui_sources
from coordinator.vocabulary.nesting import RECURSION_LIMIT
from shared.errors import ErrorCode, ProcessionError
from shared.properties import ConfigurationError
from shared.spi.access_control import Identity


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
    with ExitStack() as stack:
        return _serve(etc, overrides, ready, stack)


def _serve(etc: Path, overrides: Overrides, ready: Callable[[str], None], stack: ExitStack) -> int:
    try:
        config = _overridden(read_config(etc), overrides)
        check_writable(config.node.data_dir)
        stack.enter_context(held(config.node.data_dir))
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
    where = address or f"http://{settings.http_host}:{settings.http_port}"
    hiding = Redactor(secrets_in(config)) if redact is None else redact
    parts = make_parts(config, where, version("procession"), hiding)
    served = _server_settings(parts)
    metrics = _metrics(parts)
    maintaining = _maintaining(parts, metrics)
    flight = _flight(parts, served)
    app = create_server(
        parts.dispatcher,
        served,
        parts.around.node,
        parse_statement=parse_statement,
        stop=stop,
        metrics=metrics,
        engines=partial(_engine_states, parts),
        ui=ui_sources(parts),
        around=partial(running, parts, maintaining, flight.running, start_failed),
    )
    _include_prechecks(app, parts)
    return app


def _server_settings(parts: Parts) -> ServerSettings:
    around, governed = parts.around, parts.governed
    config, settings, clustering = around.config, around.config.coordinator, around.clustering

    trail = None if around.auditing is None else around.auditing.trail

    def denied(error: ProcessionError, identity: Identity | None) -> None:
        audit(error, identity)
        if trail is not None:
            trail.access(error, identity)
        if error.code is ErrorCode.PERMISSION_DENIED:
            around.delivery.bus.publish(partial(access_denied, error, identity, None, around.redact))

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
            governed.control,
            config.internal.shared_secret,
            None if clustering is None else clustering.logins(),
        ),
        access_control=governed.control,
        admit=governed.admit,
        admit_blocks=governed.control.rules_version is None,
        denied=denied,
        done=nothing_done if trail is None else trail.done,
        login_refused=nothing_refused if trail is None else trail.login,
        history=around.delivery.history,
        cluster=None if clustering is None else _cluster(clustering, parts),
    )


def _cluster(clustering: Clustering, parts: Parts) -> Cluster:
    return clustering.cluster(parts.dispatcher.registry.__contains__, parts.managing.manager.follow_store)


def _metrics(parts: Parts) -> CollectorRegistry:
    planning, engines = parts.planning, parts.engines
    auditing = parts.around.auditing
    found = metrics_of(
        planning.pool, planning.checkers, engines.spark, engines.sql, parts.governed.rules, parts.around.delivery.bus
    )
    found.register(AuditCollector(AuditStats if auditing is None else auditing.file.stats))
    return found


def _maintaining(parts: Parts, metrics: CollectorRegistry) -> Running:
    """What runs the maintenance service, where it is on."""
    around, governed = parts.around, parts.governed
    config = around.config
    if not config.maintenance.enabled:
        return nullcontext
    made = create_maintenance(
        config.maintenance,
        governed.catalogs,
        parts.dispatcher,
        governed.admit,
        config.node.data_dir,
        governed.rules,
        (lambda: True) if around.clustering is None else around.clustering.maintains,
        None if around.clustering is None else around.clustering.work,
    )
    parts.dispatcher.on_ended(made.query_ended)
    governed.catalogs.maintenance = made.view
    metrics.register(MaintenanceCollector(made.service))
    return made.running


def _flight(parts: Parts, served: ServerSettings) -> FlightServer:
    config = parts.around.config
    return FlightServer(
        Callers(served, parts.dispatcher.clock, config.internal.shared_secret),
        Statements(parts.dispatcher, parts.planning.planner),
        flight_settings(config),
        config.coordinator.http_host,
        parts.around.service.server_version,
        None if config.flight.port is None else load_credentials(config.etc, config.https, config.authentication.types),
    )


def _engine_states(parts: Parts) -> dict[str, object]:
    clustering = parts.around.clustering
    others = {} if clustering is None else {"cluster": clustering.status()}
    return {"spark": spark_state(parts.engines.spark), **others}


def _include_prechecks(app: FastAPI, parts: Parts) -> None:
    """The questions of load balancers, below /v1 and below /ui."""
    config, governed, dispatcher = parts.around.config, parts.governed, parts.dispatcher
    planner = AuthorizedPlanner(parts.planning.pool, governed.control)
    prechecks = create_prechecks(
        StatementValidator(planner, parts.planning.checkers, parts.groups, lambda: dispatcher.refusal),
        gateway_settings(config),
        partial(
            session_from_headers,
            principal_header=config.coordinator.principal_header,
            process_forwarded=config.coordinator.process_forwarded,
            admit=governed.admit,
        ),
        governed.admit,
        blocks=governed.control.rules_version is None,
    )
    app.router.routes[:0] = prechecks.quick_routes()
    app.include_router(prechecks.router())
    include_below_ui(app, prechecks.router())


def _allowed_hosts(settings: CoordinatorSettings) -> tuple[str, ...] | None:
    if settings.allowed_hosts is None and is_loopback(settings.http_host):
        return ()
    return settings.allowed_hosts


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
