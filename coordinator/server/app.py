"""Assembles the HTTP side of the coordinator."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from prometheus_client import CollectorRegistry

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.security.authentication.oauth2.authenticator import OAuth2Authenticator
from coordinator.server.authentication import AuthenticationGuard
from coordinator.server.browser_guard import BrowserGuard
from coordinator.server.history import HistoryRoutes
from coordinator.server.lifecycle import NodeLifecycle, NodeState
from coordinator.server.metrics import metrics_router
from coordinator.server.node import NodeRoutes
from coordinator.server.oauth2 import OAuth2Routes
from coordinator.server.owner_forwarding import OwnerForwarding
from coordinator.server.peer_queries import PeerQueryRoutes
from coordinator.server.peers import PeerGuard
from coordinator.server.prepared_texts import ParseStatement, PreparedTexts
from coordinator.server.problems import ErrorBoundary, ProblemError, answer_problem, text_response
from coordinator.server.queries import QueryRoutes
from coordinator.server.query_access import QueryAccess
from coordinator.server.quick_routes import quick_routes
from coordinator.server.resource_groups import ResourceGroupRoutes
from coordinator.server.segments import SegmentRoutes
from coordinator.server.settings import NodeInfo, ServerSettings
from coordinator.server.statement import StatementRoutes
from coordinator.server.ui.form_tokens import FormTokens
from coordinator.server.ui.life import UiLife
from coordinator.server.ui.routes import UiSources, ui_router
from coordinator.server.ui.user_names import UserNames

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def create_server(
    dispatcher: Dispatcher,
    settings: ServerSettings,
    node: NodeInfo,
    *,
    parse_statement: ParseStatement | None = None,
    stop: Callable[[], None] | None = None,
    around: Callable[[], AbstractAsyncContextManager[None]] | None = None,
    metrics: CollectorRegistry | None = None,
    engines: Callable[[], Mapping[str, object]] = dict,
    ui: UiSources | None = None,
) -> FastAPI:
    """The ASGI application over ``dispatcher``.

    ``parse_statement`` validates prepared statements that come in headers. ``stop`` is called when a graceful
    shutdown has drained the node. ``around`` is entered before the dispatcher runs and left after it: pools and
    engines. ``metrics`` may hold collectors of other rooms; ``engines`` tells how they are, for ``/v1/status``;
    ``ui`` what pages show beside queries.
    """
    lifecycle = NodeLifecycle(dispatcher, settings.shutdown_grace_period, stop)
    life = UiLife(dispatcher)

    app = _application(node.version, _lifespan(around or nullcontext, dispatcher, life, lifecycle, settings))
    access = QueryAccess(settings.access_control, settings.denied, settings.done)
    prepared = None if parse_statement is None else PreparedTexts(parse_statement)
    protocol = StatementRoutes(dispatcher, settings, prepared)
    about_node = NodeRoutes(dispatcher, node, lifecycle, access, engines, settings.cluster)
    app.router.routes.extend(quick_routes(protocol, about_node))
    app.include_router(protocol.router())
    _add_queries(app, dispatcher, settings, access, node.node_id)
    app.include_router(about_node.router())
    app.include_router(metrics_router(dispatcher, metrics if metrics is not None else CollectorRegistry(), access))
    shown = ui or UiSources()
    tokens = FormTokens(shown.shared_secret)
    app.include_router(ui_router(dispatcher, settings, node, lifecycle, life, shown, protocol, tokens))
    app.state.form_tokens = tokens
    app.state.process_forwarded = settings.process_forwarded
    app.state.drain = lambda: lifecycle.change(NodeState.SHUTTING_DOWN)
    _add_guards(app, dispatcher, settings)
    return app


def _application(version: str, lifespan: Lifespan) -> FastAPI:
    app = FastAPI(
        title="Procession", version=version, lifespan=lifespan, docs_url=None, redoc_url=None, telemetry=_telemetry()
    )
    app.add_exception_handler(ProblemError, answer_problem)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    return app


def _lifespan(
    around: Callable[[], AbstractAsyncContextManager[None]],
    dispatcher: Dispatcher,
    life: UiLife,
    lifecycle: NodeLifecycle,
    settings: ServerSettings,
) -> Lifespan:
    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        async with around(), dispatcher.running(), life.running():
            lifecycle.starting = False
            async with _closing_owners(settings):
                yield

    return running


def _telemetry() -> TelemetryConfig:
    """Of OpenTelemetry's for Python, where somebody runs the coordinator under it, and else none.

    FastAPI would look for it again with each request, in the environment, which takes 2 % of a pre-check.
    """
    wanted = "opentelemetry.sdk" in sys.modules or os.environ.get("FASTAPI_OTEL_AUTO_CONFIGURE", "").lower() == "true"
    return {} if wanted else {"tracing": False, "metrics": False, "logs": False}


def _add_queries(
    app: FastAPI, dispatcher: Dispatcher, settings: ServerSettings, access: QueryAccess, node_id: str
) -> None:
    """What is told of queries beside their own conversation: rows in segments, lists, history, groups."""
    app.include_router(SegmentRoutes(dispatcher).router())
    app.include_router(QueryRoutes(dispatcher, access, node_id, settings.cluster).router())
    app.include_router(PeerQueryRoutes(dispatcher, access, node_id, settings.cluster).router())
    if settings.history is not None:
        app.include_router(HistoryRoutes(settings.history, access).router())
    app.include_router(ResourceGroupRoutes(dispatcher, access).router())


def _add_guards(app: FastAPI, dispatcher: Dispatcher, settings: ServerSettings) -> None:
    """What each request passes on its way to the routes, the innermost first."""
    if settings.cluster is not None:
        app.add_middleware(
            OwnerForwarding, owners=settings.cluster.owners, is_draining=lambda: dispatcher.refusal is not None
        )
    app.add_middleware(UserNames, principal_header=settings.principal_header)
    if settings.authentication is not None:
        for each in settings.authentication.authenticators:
            if isinstance(each, OAuth2Authenticator):
                app.include_router(OAuth2Routes(each.logins).router())
        app.add_middleware(
            AuthenticationGuard,
            authentication=settings.authentication,
            process_forwarded=settings.process_forwarded,
            refused=settings.login_refused,
        )
    if settings.cluster is not None:
        app.add_middleware(PeerGuard, tokens=settings.cluster.tokens)
    app.add_middleware(BrowserGuard, allowed=settings.allowed_hosts)
    app.add_middleware(ErrorBoundary)


@asynccontextmanager
async def _closing_owners(settings: ServerSettings) -> AsyncIterator[None]:
    try:
        yield
    finally:
        if settings.cluster is not None:
            await settings.cluster.owners.aclose()


async def _answer_invalid(_: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    problems = (f"{'.'.join(map(str, e['loc'][1:]))}: {e['msg']}" for e in error.errors())
    return text_response(400, "Invalid request: " + "; ".join(problems))
