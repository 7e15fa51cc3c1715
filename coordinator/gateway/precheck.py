"""HTTP for gateways: ``/v1/validate`` answers with a verdict, ``/v1/precheck`` with a status that proxies understand.

Shapes, statuses and example configurations: docs/checks.md. Neither queues nor runs anything.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import unquote_plus

import msgspec
from fastapi import APIRouter, Request, Response

from coordinator.dispatch.failures import text_too_large, wire_failure
from coordinator.gateway.validator import CheckedFragment, StatementValidator, StatementVerdict
from coordinator.server.problems import ProblemError, text_response
from coordinator.server.session import session_of
from shared.protocol.statement import Failure, WarningCode, WireWarning
from shared.spi.session import Session

SessionFromRequest = Callable[[Request], Session]
STATEMENT_HEADER = "X-Procession-Statement"
VERDICT_HEADER = "X-Procession-Verdict"
ERROR_HEADER = "X-Procession-Error"
_RETRY_AFTER_SECONDS = "1"


class WireFragment(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """``verdict``: accepted, refused or not_checked, the last with a ``reason``."""

    id: str
    verdict: str
    reason: str | None = None
    error: Failure | None = None


class WireVerdict(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Body of ``POST /v1/validate``; absent fields are unknown."""

    ok: bool
    seconds: float
    queryType: str | None = None
    inputs: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    fragments: tuple[WireFragment, ...] | msgspec.UnsetType = msgspec.UNSET
    warnings: tuple[WireWarning, ...] | msgspec.UnsetType = msgspec.UNSET
    error: Failure | None = None


def session_from_headers(request: Request) -> Session:
    """The session of the usual ``X-Presto-*`` or ``X-Trino-*`` headers; raises ProblemError (400)."""
    client = request.client.host if request.client is not None else None
    return session_of(request.headers, client, datetime.now(UTC))


def create_precheck_router(
    validator: StatementValidator,
    session_from_request: SessionFromRequest = session_from_headers,
    *,
    max_statement_length: int = 1_000_000,
) -> APIRouter:
    """The routes over ``validator``; statements longer than ``max_statement_length`` characters are refused."""
    router = APIRouter()
    routes = _Routes(validator, session_from_request, max_statement_length)
    router.add_api_route("/v1/validate", routes.capability, methods=["GET", "HEAD"])
    router.add_api_route("/v1/validate", routes.validate, methods=["POST"])
    router.add_api_route("/v1/precheck", routes.precheck, methods=["GET", "HEAD", "POST"])
    return router


class _Routes:
    def __init__(
        self, validator: StatementValidator, session_from_request: SessionFromRequest, max_statement_length: int
    ) -> None:
        self._validator = validator
        self._session_from_request = session_from_request
        self._max_statement_length = max_statement_length

    async def capability(self) -> Response:
        """That this coordinator can be asked; carries the longest statement that it takes."""
        body = {"validate": True, "maxStatementLength": self._max_statement_length}
        return _json(200, msgspec.json.encode(body))

    async def validate(self, request: Request) -> Response:
        """SQL in the body, the usual session headers: 200 it would run, 422 it would not, 503 cannot say now."""
        try:
            verdict = await self._verdict(request, await self._body(request))
        except ProblemError as problem:
            return text_response(problem.status, problem.text)
        return _json(_status(verdict), msgspec.json.encode(_wire(verdict)), verdict)

    async def precheck(self, request: Request) -> Response:
        """For external authorization: 204, 403 or 503 with headers and no body, since nginx takes 401 and 403 only.

        The statement is the body, or the header ``X-Procession-Statement``, URL-encoded, for proxies that send none.
        """
        try:
            text = await self._body(request) or unquote_plus(request.headers.get(STATEMENT_HEADER, ""))
            verdict = await self._verdict(request, text)
        except ProblemError as problem:
            return text_response(403 if problem.status == 400 else problem.status, problem.text)
        status = {200: 204, 422: 403}.get(_status(verdict), 503)
        return Response(status_code=status, headers=_headers(verdict))

    async def _verdict(self, request: Request, text: str) -> StatementVerdict:
        if not text.strip():
            raise ProblemError(400, "SQL statement is empty")
        session = self._session_from_request(request)
        if len(text) > self._max_statement_length:
            error = text_too_large(len(text), self._max_statement_length)
            return StatementVerdict(ok=False, seconds=0.0, error=error)
        return await self._validator.validate(text, session)

    async def _body(self, request: Request) -> str:
        limit = 4 * self._max_statement_length
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > limit:
                raise ProblemError(413, f"Request body exceeds {limit} bytes")
        return body.decode("utf-8", "replace")


def _status(verdict: StatementVerdict) -> int:
    if verdict.ok:
        return 200
    return 503 if verdict.undecided else 422


def _headers(verdict: StatementVerdict) -> dict[str, str]:
    word = "accepted" if verdict.ok else "undecided" if verdict.undecided else "refused"
    headers = {VERDICT_HEADER: word, "Cache-Control": "no-store"}
    if verdict.error is not None:
        headers[ERROR_HEADER] = verdict.error.code.name
    if verdict.undecided:
        headers["Retry-After"] = _RETRY_AFTER_SECONDS
    return headers


def _json(status: int, body: bytes, verdict: StatementVerdict | None = None) -> Response:
    headers = _headers(verdict) if verdict is not None else {}
    return Response(body, status, media_type="application/json", headers=headers)


def _wire(verdict: StatementVerdict) -> WireVerdict:
    planned = verdict.query_type is not None
    warnings = tuple(WireWarning(WarningCode(w.code, w.name), w.message) for w in verdict.warnings)
    return WireVerdict(
        ok=verdict.ok,
        seconds=round(verdict.seconds, 6),
        queryType=verdict.query_type,
        inputs=verdict.inputs if planned else msgspec.UNSET,
        fragments=tuple(_wire_fragment(f) for f in verdict.fragments) if planned else msgspec.UNSET,
        warnings=warnings if planned else msgspec.UNSET,
        error=wire_failure(verdict.error) if verdict.error is not None else None,
    )


def _wire_fragment(fragment: CheckedFragment) -> WireFragment:
    return WireFragment(
        id=fragment.fragment_id,
        verdict=fragment.verdict,
        reason=fragment.reason,
        error=wire_failure(fragment.error) if fragment.error is not None else None,
    )
