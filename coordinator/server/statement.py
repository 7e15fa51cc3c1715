"""``/v1/statement``: submit, poll, cancel, retry. Source: Presto's QueuedStatementResource and Executing….

The POST only registers the statement; its first poll starts it, so that a client that is gone starts nothing.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from secrets import compare_digest
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from coordinator.dispatch.arrow_stream import ArrowStream
from coordinator.dispatch.delivery import Delivery, Page, TokenError
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.query import Query as StatementQuery
from coordinator.dispatch.submission import Submission
from coordinator.server.authentication import authenticated_identity
from coordinator.server.media_types import PARQUET, wanted_stream
from coordinator.server.prepared_texts import PreparedTexts
from coordinator.server.problems import NOT_FOUND, ProblemError, bad_request
from coordinator.server.query_access import is_stranger
from coordinator.server.results import Answer, results_response
from coordinator.server.segments import wanted_encoding
from coordinator.server.session import RequestHeaders, is_placeholder, session_of, unknown_time_zone
from coordinator.server.settings import ServerSettings
from coordinator.server.stream_response import StreamResponse
from coordinator.server.streamed_files import ArrowFile, ParquetFile
from coordinator.server.uris import uris_of
from shared.errors import ProcessionError
from shared.protocol.headers import USER
from shared.spi.session import Session
from shared.units import parse_data_size, parse_duration

_QUERY_ID = re.compile(r"[_a-z0-9]{1,64}")
_SLUG = re.compile(r"[A-Za-z0-9]{1,64}")

Slug = Annotated[str, Query()]
BinaryResults = Annotated[bool, Query(alias="binaryResults")]
MaxWait = Annotated[str | None, Query(alias="maxWait")]
TargetSize = Annotated[str | None, Query(alias="targetResultSize")]
RetryUrl = Annotated[str | None, Query(alias="retryUrl")]
RetryExpiration = Annotated[int | None, Query(alias="retryExpirationInSeconds")]


@dataclass(frozen=True, slots=True)
class StatementRoutes:
    """The protocol over one dispatcher."""

    dispatcher: Dispatcher
    settings: ServerSettings
    prepared: PreparedTexts | None = None

    def router(self) -> APIRouter:
        """All routes of ``/v1/statement``."""
        router = APIRouter(prefix="/v1/statement", default_response_class=Response)
        page = "/{kind}/{query_id}/{token}"
        router.add_api_route("", self.post, methods=["POST"])
        router.add_api_route("/{query_id}", self.put, methods=["PUT"])
        router.add_api_route("/queued/retry/{query_id}", self.retry, methods=["GET"])
        router.add_api_route("/partial/{query_id}/{token}", self.end_early, methods=["DELETE"], status_code=204)
        router.add_api_route(page, self.poll, methods=["GET"])
        router.add_api_route(page, self.heartbeat, methods=["HEAD"])
        router.add_api_route(page, self.delete, methods=["DELETE"], status_code=204)
        return router

    async def post(
        self,
        request: Request,
        binary_results: BinaryResults = False,
        retry_url: RetryUrl = None,
        retry_seconds: RetryExpiration = None,
    ) -> Response:
        """Register a statement; 400 for headers that are wrong, everything else is the query's own failure.

        For a client that wants all rows as one Arrow stream or Parquet file, run it.
        """
        submission = await self._submission(request, binary_results, retry_url, retry_seconds)
        wanted = wanted_stream(request)
        if wanted is not None:
            made = replace(submission, result_format="arrow", compression=wanted.compression)
            stream = ArrowStream(self.dispatcher, self.dispatcher.submit(made))
            file = ParquetFile if wanted.media_type == PARQUET else ArrowFile
            return StreamResponse(stream, file, self.dispatcher.settings.client_timeout)
        return await self._submitted(request, self.dispatcher.submit(submission))

    async def put(
        self,
        request: Request,
        query_id: str,
        slug: Slug = "",
        binary_results: BinaryResults = False,
        retry_url: RetryUrl = None,
        retry_seconds: RetryExpiration = None,
    ) -> Response:
        """Register a statement under an id and slug that the client minted; repeating it before polling is safe."""
        if not _QUERY_ID.fullmatch(query_id):
            raise bad_request(f"Invalid queryId {query_id}")
        if not _SLUG.fullmatch(slug):
            raise bad_request("Slug must be set")
        known = self.dispatcher.registry.get(query_id)
        if known is not None:
            is_known = not is_stranger(request, known) and compare_digest(known.slug, slug)
            if not is_known or self.dispatcher.delivery(known).begun:
                raise ProblemError(409, "Query already exists")
            return await self._submitted(request, known)
        submission = await self._submission(request, binary_results, retry_url, retry_seconds, query_id, slug)
        if query_id in self.dispatcher.registry:
            raise ProblemError(409, "Query already exists")
        await self._claim(query_id)
        return await self._submitted(request, self.dispatcher.submit(submission))

    async def poll(
        self,
        request: Request,
        kind: str,
        query_id: str,
        token: str,
        slug: Slug = "",
        max_wait: MaxWait = None,
        target_size: TargetSize = None,
    ) -> Response:
        """The next page of a query. 404 unknown query, slug or token; 410 a token that has passed."""
        query, delivery = self._conversation(request, kind, query_id, slug)
        number = _token(token)
        wait = self._wait(max_wait)
        size_text = target_size or query.session.properties.get("target_result_size")
        size = self._target_size(size_text)
        try:
            page = await self._page(delivery, query, kind, number, wait, size)
        except TokenError as error:
            raise ProblemError(error.status, error.text) from error
        max_age = int(self.dispatcher.settings.client_timeout)
        return await self._respond(request, page, query, max_age, size_text)

    async def heartbeat(self, request: Request, kind: str, query_id: str, token: str, slug: Slug = "") -> Response:
        """The client is there still: clients of Trino's say so while they read what they have."""
        query, _ = self._conversation(request, kind, query_id, slug)
        _token(token)
        query.touch()
        return Response()

    async def delete(self, request: Request, kind: str, query_id: str, token: str, slug: Slug = "") -> Response:
        """Cancel, at any moment of the query's life; repeating it is safe."""
        query, _ = self._conversation(request, kind, query_id, slug)
        _token(token)
        self.dispatcher.cancel(query)
        return Response(status_code=204)

    async def end_early(self, request: Request, query_id: str, token: str, slug: Slug = "") -> Response:
        """Stop the engine and end well with the rows so far (partialCancelUri); repeating it is safe."""
        query, _ = self._conversation(request, "executing", query_id, slug)
        _token(token)
        query.end_early()
        return Response(status_code=204)

    async def retry(self, request: Request, query_id: str, slug: Slug = "") -> Response:
        """Run a failed query, or a gateway's placeholder, as a new one; 409 for any other.

        It runs as whoever sent it: for them, or for who knows the slug; to others there is no such query.
        """
        query = self.dispatcher.registry.get(query_id)
        if query is None or (query.error is not None and not query.text) or not self._may_retry(request, query, slug):
            raise ProblemError(404, NOT_FOUND)
        waiting = query.placeholder and not self.dispatcher.delivery(query).begun
        if query.error is None and not waiting:
            raise ProblemError(409, "Query has not failed and cannot be retried")
        try:
            session = await self._admitted(replace(query.session, accessible_catalogs=None))
        except ProcessionError as error:
            raise ProblemError(403, error.message) from error
        return await self._submitted(request, self.dispatcher.retry(query, session))

    def _may_retry(self, request: Request, query: StatementQuery, slug: str) -> bool:
        if is_stranger(request, query):
            return False
        if slug:
            return compare_digest(query.slug.encode(), slug.encode())
        identity = authenticated_identity(request)
        if identity is not None:
            # A header of our own: a page of a stranger cannot make a browser send it, only the password beside it.
            named = RequestHeaders(request.headers).text(USER) is not None
            return named and identity.user == query.session.user
        trusted = self.settings.principal_header
        principal = None if trusted is None else request.headers.get(trusted, "").strip() or None
        user = RequestHeaders(request.headers).text(USER)
        return (user, principal) == (query.session.user, query.session.principal)

    async def _page(
        self, delivery: Delivery, query: StatementQuery, kind: str, token: int, wait: float, size: int
    ) -> Page:
        if kind == "executing":
            return await delivery.executing_page(token, wait, size)
        self.dispatcher.start(query)
        return await delivery.queued_page(token, wait, size)

    async def _submitted(self, request: Request, query: StatementQuery) -> Response:
        page = self.dispatcher.delivery(query).initial_page()
        return await self._respond(request, page, query, self.settings.initial_max_age, None)

    async def _respond(
        self, request: Request, page: Page, query: StatementQuery, max_age: int, target_size: str | None
    ) -> Response:
        answer = Answer(query, uris_of(request), max_age, target_size)
        return await results_response(request, page, answer, self.settings)

    async def _claim(self, query_id: str) -> None:
        """Other coordinators are told whose query it is, of which its id tells nothing."""
        cluster = self.settings.cluster
        if cluster is None:
            return
        try:
            is_ours = await asyncio.to_thread(cluster.claim, query_id)
        except ProcessionError as error:
            raise ProblemError(503, error.message, {"Retry-After": "1"}) from error
        if not is_ours or query_id in self.dispatcher.registry:
            raise ProblemError(409, "Query already exists")

    async def _admitted(self, session: Session) -> Session:
        if self.settings.admit_blocks:
            return await asyncio.to_thread(self.settings.admit, session)
        return self.settings.admit(session)

    async def _submission(
        self,
        request: Request,
        binary_results: bool,
        retry_url: str | None,
        retry_seconds: int | None,
        query_id: str | None = None,
        slug: str | None = None,
    ) -> Submission:
        clock = self.dispatcher.clock
        received_at = clock.monotonic()
        if (retry_url is None) != (retry_seconds is None) or (retry_seconds is not None and retry_seconds < 1):
            raise bad_request("retryUrl and retryExpirationInSeconds must be given together, the latter at least 1")
        uris_of(request)
        client = request.client.host if request.client is not None else None
        text, length = await self._text(request)
        if not text:
            raise bad_request("SQL statement is empty")
        trusted = self.settings.principal_header
        session = session_of(
            request.headers,
            client,
            clock.now(),
            self.prepared,
            principal_header=trusted,
            process_forwarded=self.settings.process_forwarded,
            identity=authenticated_identity(request),
        )
        error, spools = unknown_time_zone(session.time_zone), self.dispatcher.settings.spooling
        try:
            session = await self._admitted(session)
        except ProcessionError as refusal:
            error = refusal
        return Submission(
            text=text,
            session=session,
            length=length,
            query_id=query_id,
            slug=slug,
            retry_url=retry_url,
            retry_seconds=float(retry_seconds or 0),
            placeholder=is_placeholder(request.headers),
            result_format="binary" if binary_results else "json",
            segments=wanted_encoding(request, session) if spools and not binary_results else None,
            error=error,
            received_at=received_at,
        )

    async def _text(self, request: Request) -> tuple[str, int]:
        """The statement, and its length in characters; a text far over the limit is read but not kept."""
        kept_bytes = 4 * self.dispatcher.settings.max_query_length + 4
        kept, total = bytearray(), 0
        async for part in request.stream():
            total += len(part)
            if total > self.settings.max_request_size:
                raise ProblemError(413, f"Request body exceeds {self.settings.max_request_size} bytes")
            if len(kept) < kept_bytes:
                kept += part
        text = kept.decode("utf-8", "replace")
        return text, max(len(text), total // 4 if total > len(kept) else 0)

    def _conversation(self, request: Request, kind: str, query_id: str, slug: str) -> tuple[StatementQuery, Delivery]:
        query = self.dispatcher.registry.get(query_id)
        if query is None or kind not in ("queued", "executing") or query.result_format == "arrow":
            raise ProblemError(404, NOT_FOUND)
        if is_stranger(request, query) or not compare_digest(query.slug.encode(), slug.encode()):
            raise ProblemError(404, NOT_FOUND)
        return query, self.dispatcher.delivery(query)

    def _wait(self, text: str | None) -> float:
        if text is None:
            return self.settings.max_wait
        try:
            return min(parse_duration(text), self.settings.max_wait)
        except ValueError as error:
            raise bad_request(f"Invalid maxWait: {text}") from error

    def _target_size(self, text: str | None) -> int:
        if text is None:
            return self.settings.default_target_size
        try:
            return max(1, min(parse_data_size(text), self.settings.max_target_size))
        except ValueError as error:
            raise bad_request(f"Invalid targetResultSize: {text}") from error


def _token(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ProblemError(404, NOT_FOUND)
    return int(text)
