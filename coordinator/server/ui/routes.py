"""All pages below ``/ui/``, put together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import APIRouter, Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.security.authentication.oauth2.authenticator import OAuth2Authenticator
from coordinator.server.lifecycle import NodeLifecycle
from coordinator.server.problems import ProblemError
from coordinator.server.query_access import QueryAccess
from coordinator.server.settings import NodeInfo, ServerSettings
from coordinator.server.statement import StatementRoutes
from coordinator.server.ui.editor import EditorPage
from coordinator.server.ui.form_tokens import FormTokens
from coordinator.server.ui.groups import GroupsPage, NodePage
from coordinator.server.ui.lake import LakePages
from coordinator.server.ui.life import UiLife
from coordinator.server.ui.login import LoginPage
from coordinator.server.ui.maintenance import MaintenancePage
from coordinator.server.ui.overview import PEER_OVERVIEW, OverviewPage
from coordinator.server.ui.page import HEADERS, Pages, tag_of, wants_page
from coordinator.server.ui.parts import Part, ShownSetting
from coordinator.server.ui.procedures import Declarations, ProceduresPages
from coordinator.server.ui.queries import PEER_LIST, QueriesPage
from coordinator.server.ui.query import QueryPage
from coordinator.server.ui.statements import UserStatements
from shared.spi.procedure import ProcedureDeclaration

Handler = Callable[[Request], Awaitable[Response]]
_STATIC = {
    "style.css": "text/css",
    "live.js": "text/javascript",
    "editor.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


def _no_parts() -> Sequence[Part]:
    return ()


def _no_settings() -> Sequence[ShownSetting]:
    return ()


def _no_procedures(_catalog: str) -> Sequence[ProcedureDeclaration]:
    return ()


@dataclass(frozen=True, slots=True)
class UiSources:
    """What pages show beside queries; may be asked on any thread, and ``parts`` does not wait."""

    parts: Callable[[], Sequence[Part]] = _no_parts
    settings: Callable[[], Sequence[ShownSetting]] = _no_settings
    procedures: Declarations = _no_procedures
    shared_secret: str | None = field(default=None, repr=False)
    """Of coordinators that take the forms of each other's pages."""


def ui_router(
    dispatcher: Dispatcher,
    settings: ServerSettings,
    node: NodeInfo,
    lifecycle: NodeLifecycle,
    life: UiLife,
    sources: UiSources,
    protocol: StatementRoutes,
    tokens: FormTokens,
) -> APIRouter:
    """Every route of the pages; ``protocol`` is what the editor speaks."""
    authentication = settings.authentication
    oauth2 = authentication is not None and any(
        isinstance(each, OAuth2Authenticator) for each in authentication.authenticators
    )
    login = "name"
    if authentication is not None:
        login = "session" if authentication.forms or authentication.negotiates or oauth2 else ""
    pages = Pages(node.version, node.environment, tokens, login, life.threads, settings.process_forwarded)
    access = QueryAccess(settings.access_control, settings.denied, settings.done)
    statements = UserStatements(dispatcher, settings)
    lake = LakePages(statements, access, settings.history, pages)
    procedures = ProceduresPages(statements, sources.procedures, pages)
    maintenance = MaintenancePage(statements, pages)
    editor = EditorPage(statements, protocol, pages)
    one = QueryPage(dispatcher, access, settings.history, pages, settings.cluster)
    entry = LoginPage(authentication, oauth2, pages)
    activity, identity = life.activity, (node.node_id, settings.cluster)
    overview = OverviewPage(dispatcher, lifecycle, access, activity, sources.parts, pages, *identity)
    queries = QueriesPage(dispatcher, access, settings.history, activity, pages, *identity)
    shown: dict[str, Handler] = {
        "/ui/": overview.show,
        "/ui/queries": queries.show,
        "/ui/query.html": one.show,
        "/ui/lake": lake.list,
        "/ui/table": lake.table,
        "/ui/procedures": procedures.list,
        "/ui/call": procedures.form,
        "/ui/maintenance": maintenance.show,
        "/ui/groups": GroupsPage(dispatcher, pages).show,
        "/ui/node": NodePage(node, lifecycle, access, sources.parts, sources.settings, pages).show,
        "/ui/editor": editor.show,
        "/ui/names": editor.names,
        "/ui/login": entry.show,
        "/ui/negotiate": entry.negotiated,
    }
    posted: dict[str, Handler] = {
        "/ui/kill": one.kill,
        "/ui/call": procedures.submit,
        "/ui/maintenance": maintenance.tell,
        "/ui/plan": editor.plan,
        "/ui/following": editor.following,
        "/ui/login": entry.submit,
        "/ui/logout": entry.out,
    }
    router = APIRouter(default_response_class=Response)
    router.add_api_route("/", _root, methods=["GET"])
    router.add_api_route("/ui", _root, methods=["GET"])
    router.add_api_route("/ui/static/{name}", _static(), methods=["GET"])
    for path, handler in shown.items():
        router.add_api_route(path, _explained(handler, pages), methods=["GET"])
    for path, handler in posted.items():
        router.add_api_route(path, _explained(handler, pages), methods=["POST"])
    router.add_api_route(PEER_LIST, queries.part, methods=["GET"])
    router.add_api_route(PEER_OVERVIEW, overview.part, methods=["GET"])
    router.include_router(editor.routes())
    return router


def _explained(handler: Handler, pages: Pages) -> Handler:
    """Problems as pages for browsers, as plain text for programs."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except ProblemError as problem:
            if not wants_page(request):
                raise
            made = {"title": "This did not work", "text": problem.text}
            return await pages.show(request, "problem.html", "", lambda: made, problem.status)

    return handle


async def _root() -> Response:
    return Response(status_code=307, headers={"Location": "/ui/"})


def _static() -> Handler:
    """A few small files, held in memory; never a path."""
    folder = Path(__file__).parent / "static"
    files = {name: (folder / name).read_bytes() for name in _STATIC}

    tags = {name: tag_of(content) for name, content in files.items()}

    async def handle(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            raise ProblemError(404, "Not found")
        headers = {**HEADERS, "Cache-Control": "no-cache", "ETag": tags[name]}
        if request.headers.get("if-none-match") == tags[name]:
            return Response(status_code=304, headers=headers)
        return Response(files[name], media_type=_STATIC[name], headers=headers)

    return handle
