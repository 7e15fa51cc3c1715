"""HTTP for gateways: verdicts on statements that are neither queued nor run. Shapes and examples: docs/gateways.md."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import unquote_plus

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from starlette.routing import Route

from coordinator.gateway.batch import MEDIA_TYPES, answer_lines
from coordinator.gateway.requests import Admit, PreChecks, SessionFromRequest, as_it_is, session_from_headers
from coordinator.gateway.routing import answer_routing
from coordinator.gateway.settings import GatewaySettings
from coordinator.gateway.validator import StatementValidator
from coordinator.gateway.wire import headers, json_response, wire_verdict
from coordinator.server.problems import ProblemError, text_response
from coordinator.server.quick_routes import OneMethod

STATEMENT_HEADER = "X-Procession-Statement"


def create_prechecks(
    validator: StatementValidator,
    settings: GatewaySettings | None = None,
    session_from_request: SessionFromRequest = session_from_headers,
    admit: Admit = as_it_is,
    *,
    blocks: bool = False,
) -> PrecheckRoutes:
    """The routes over ``validator``; ``admit`` raises ProcessionError for what a session may not be.

    ``blocks``: it may take long.
    """
    settings = settings or GatewaySettings()
    return PrecheckRoutes(PreChecks(validator, settings, session_from_request, admit, blocks=blocks))


class PrecheckRoutes:
    """The questions of load balancers and proxies."""

    def __init__(self, checks: PreChecks) -> None:
        self._checks = checks

    def router(self) -> APIRouter:
        """All of them."""
        router = APIRouter(default_response_class=Response)
        router.add_api_route("/v1/validate", self.capability, methods=["GET", "HEAD"])
        router.add_api_route("/v1/validate", self.validate, methods=["POST"])
        router.add_api_route("/v1/precheck", self.precheck, methods=["GET", "HEAD", "POST", "PUT"])
        router.add_api_route("/v1/routing-group", self.routing_group, methods=["POST"])
        return router

    def quick_routes(self) -> Sequence[Route]:
        """Those that are asked for each statement, to stand before all that FastAPI looks through: 15 % of an answer.

        The router keeps the same ones, for /openapi.json and below /ui.
        """
        return (
            OneMethod("/v1/validate", self.validate, "POST"),
            OneMethod("/v1/precheck", self.precheck, "GET"),
            OneMethod("/v1/precheck", self.precheck, "POST"),
            OneMethod("/v1/routing-group", self.routing_group, "POST"),
        )

    async def capability(self) -> Response:
        """That this coordinator can be asked, and how much."""
        settings = self._checks.settings
        return json_response(
            200,
            {
                "validate": True,
                "maxStatementLength": settings.max_statement_length,
                "maxBatch": settings.max_batch,
                "maxRequestsPerSecond": settings.rate,
            },
        )

    async def validate(self, request: Request) -> Response:
        """SQL in the body: 200 with the verdict, 503 when this coordinator cannot say now. NDJSON: a batch."""
        if request.headers.get("content-type", "").split(";")[0].strip().lower() in MEDIA_TYPES:
            return await self._guarded(self._batch, request)
        return await self._guarded(self._validate, request)

    async def precheck(self, request: Request) -> Response:
        """For external authorization: 200, 403 or 503, no body; Envoy lets pass what is answered 200 and nothing else.

        With ``?deny=false`` always 200: the proxy decides by the headers. The statement is the body, or the header
        ``X-Procession-Statement``, URL-encoded, for proxies whose sub-requests carry no body.
        """
        return await self._guarded(self._precheck, request, {400: 403})

    async def routing_group(self, request: Request) -> Response:
        """Trino Gateway's external routing rules."""
        return await self._guarded(self._routing_group, request)

    async def _validate(self, request: Request) -> Response:
        session = await self._checks.session(request)
        with self._checks.slot():
            verdict = await self._checks.verdict(await self._checks.text(request), session)
        settings = self._checks.settings
        status = 503 if verdict.undecided else 200
        return json_response(status, wire_verdict(verdict, settings), headers(verdict, settings))

    async def _batch(self, request: Request) -> Response:
        session = await self._checks.session(request)
        with self._checks.slot():
            lines = await self._checks.lines(request)
        answers = answer_lines(lines, session, self._checks)
        return StreamingResponse(answers, media_type="application/x-ndjson", headers={"Cache-Control": "no-store"})

    async def _precheck(self, request: Request) -> Response:
        with self._checks.slot():
            text = await self._checks.text(request) or unquote_plus(request.headers.get(STATEMENT_HEADER, ""))
            verdict = await self._checks.verdict(text, await self._checks.session(request))
        denied = 503 if verdict.undecided else 403
        allowed = verdict.ok or request.query_params.get("deny") == "false"
        return Response(status_code=200 if allowed else denied, headers=headers(verdict, self._checks.settings))

    async def _routing_group(self, request: Request) -> Response:
        with self._checks.slot():
            return await answer_routing(request, self._checks)

    async def _guarded(
        self,
        route: Callable[[Request], Awaitable[Response]],
        request: Request,
        statuses: dict[int, int] | None = None,
    ) -> Response:
        try:
            return await route(request)
        except ProblemError as problem:
            status = (statuses or {}).get(problem.status, problem.status)
            return text_response(status, problem.text, problem.headers)
