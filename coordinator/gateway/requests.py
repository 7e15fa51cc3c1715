"""What the gateways' endpoints share: reading a request within limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from fastapi import Request

from coordinator.dispatch.failures import text_too_large
from coordinator.gateway.rate_limit import RateLimit, TooManyRequestsError
from coordinator.gateway.settings import GatewaySettings
from coordinator.gateway.validator import StatementValidator, StatementVerdict
from coordinator.server.authentication import authenticated_identity
from coordinator.server.problems import ProblemError
from coordinator.server.session import session_of, unknown_time_zone
from shared.errors import ProcessionError
from shared.spi.session import Session

SessionFromRequest = Callable[[Request], Session]
Admit = Callable[[Session], Session]


def as_it_is(session: Session) -> Session:
    """Lets every session in."""
    return session


def session_from_headers(
    request: Request,
    principal_header: str | None = None,
    process_forwarded: bool = False,
    admit: Admit = as_it_is,
) -> Session:
    """The session of the usual ``X-Presto-*`` or ``X-Trino-*`` headers; raises ProblemError (400, 403)."""
    client = request.client.host if request.client is not None else None
    session = session_of(
        request.headers,
        client,
        datetime.now(UTC),
        principal_header=principal_header,
        process_forwarded=process_forwarded,
        identity=authenticated_identity(request),
    )
    problem = unknown_time_zone(session.time_zone)
    if problem is not None:
        raise ProblemError(400, problem.message)
    try:
        return admit(session)
    except ProcessionError as error:
        raise ProblemError(403, error.message) from error


class PreChecks:
    """The validator as the endpoints use it: within the rate, and for statements of a sane length."""

    def __init__(
        self,
        validator: StatementValidator,
        settings: GatewaySettings,
        session_from_request: SessionFromRequest,
        admit: Admit = as_it_is,
        *,
        blocks: bool = False,
    ) -> None:
        """``blocks``: whether admitting may take long."""
        self.settings = settings
        self._session = session_from_request
        self._blocks = blocks
        self.limit = RateLimit(settings.rate, settings.burst, settings.max_concurrent)
        self._validator = validator
        self._admit = admit

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Raises ProblemError (429) when there are too many."""
        try:
            with self.limit.slot():
                yield
        except TooManyRequestsError as error:
            retry = {"Retry-After": str(error.seconds)}
            raise ProblemError(429, "Too many pre-checks", headers=retry) from error

    async def session(self, request: Request) -> Session:
        """Raises ProblemError (400, 403)."""
        return await asyncio.to_thread(self._session, request) if self._blocks else self._session(request)

    async def verdict(self, text: str, session: Session) -> StatementVerdict:
        """Raises ProblemError (400) for an empty statement; a long one is refused as it would be."""
        if not text.strip():
            raise ProblemError(400, "SQL statement is empty")
        limit = self.settings.max_statement_length
        if len(text) > limit:
            return StatementVerdict(ok=False, seconds=0.0, error=text_too_large(len(text), limit))
        return await self._validator.validate(text, session)

    async def verdict_of_item(self, text: str, session: Session) -> StatementVerdict:
        """The same for a session that says more than the request's own, which may not be allowed."""
        try:
            session = await asyncio.to_thread(self._admit, session) if self._blocks else self._admit(session)
        except ProcessionError as refusal:
            return StatementVerdict(ok=False, seconds=0.0, error=refusal)
        return await self.verdict(text, session)

    async def text(self, request: Request) -> str:
        """The body as a statement; raises ProblemError (413)."""
        return (await _body(request, 4 * self.settings.max_statement_length)).decode("utf-8", "replace")

    async def lines(self, request: Request) -> list[bytes]:
        """The body's lines without blank ones; raises ProblemError (413)."""
        body = await _body(request, self.settings.max_batch_bytes)
        lines = [line for line in body.split(b"\n") if line.strip()]
        if len(lines) > self.settings.max_batch:
            raise ProblemError(413, f"A batch holds {self.settings.max_batch} statements at most")
        return lines


async def _body(request: Request, limit: int) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise ProblemError(413, f"Request body exceeds {limit} bytes")
    return bytes(body)
