"""``Accept: application/vnd.apache.arrow.stream``, or of Parquet: all rows of a statement in the answer to its POST.

What fails before the first row is an HTTP status with the error as JSON. What fails later breaks the answer off, so
that no client takes the rows that it has for all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import msgspec
import pyarrow as pa
import structlog
from fastapi import Response
from starlette.types import Message, Receive, Scope, Send

from coordinator.dispatch.arrow_stream import ArrowStream
from coordinator.dispatch.arrow_types import client_schema
from coordinator.dispatch.failures import wire_failure
from coordinator.dispatch.pages import Chunk
from coordinator.server.results import session_headers
from coordinator.server.streamed_files import StreamedFile
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ProcessionError
from shared.protocol.headers import header_name

QUERY_ID = "Query-Id"
_STATUS = {"USER_ERROR": 400, "INTERNAL_ERROR": 500, "INSUFFICIENT_RESOURCES": 503, "EXTERNAL": 502}
_STATUS_OF = {ErrorCode.PERMISSION_DENIED: 403, ErrorCode.SERVER_SHUTTING_DOWN: 503}
_log = structlog.get_logger(__name__)


class StreamResponse(Response):
    """Runs the statement while it answers; a client that goes away, or takes nothing for ``patience`` s, ends it."""

    def __init__(self, stream: ArrowStream, file: Callable[[], StreamedFile], patience: float) -> None:
        super().__init__()
        self._stream = stream
        self._file = file()
        self._patience = patience

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        answering = asyncio.create_task(self._answer(send))
        gone = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait((answering, gone), return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()
        finally:
            self._stream.leave()
            for task in (answering, gone):
                task.cancel()
            await asyncio.gather(answering, gone, return_exceptions=True)

    async def _answer(self, send: Send) -> None:
        stream = self._stream
        chunks = stream.chunks()
        try:
            stream.begin()
            await stream.planned()
            planned = await stream.dispatched()
            first: list[Chunk] = await anext(chunks, [])
        except ProcessionError as error:
            await self._refuse(send, error)
            return
        await send(self._start(planned))
        file, schema = self._file, client_schema(planned.columns)
        try:
            await self._send(send, await self._made(lambda: file.begin(schema) + file.add(first)))
            async for more in chunks:
                await self._send(send, await self._made(partial(file.add, more)))
            end = await self._made(file.end)
        except (ProcessionError, TimeoutError, pa.ArrowException) as error:
            _log.info("stream broken off", query_id=stream.query.id, reason=str(error) or "the client reads nothing")
            return
        await send({"type": "http.response.body", "body": end, "more_body": False})

    async def _made(self, make: Callable[[], bytes]) -> bytes:
        return await asyncio.to_thread(make) if self._file.computes else make()

    def _start(self, planned: PlannedStatement) -> Message:
        query = self._stream.query
        headers = [
            ("Content-Type", self._media_type()),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            (header_name(query.session.protocol, QUERY_ID), query.id),
            *session_headers(planned.session_change, query.session.protocol),
        ]
        raw = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers]
        return {"type": "http.response.start", "status": 200, "headers": raw}

    def _media_type(self) -> str:
        """Compressed or not, readers of Arrow's see that by themselves; people and proxies see it here."""
        compression = self._stream.query.compression
        return self._file.media_type + ("" if compression == "none" else f"; codecs={compression}")

    async def _send(self, send: Send, body: bytes) -> None:
        if not body:
            return
        async with asyncio.timeout(self._patience):
            await send({"type": "http.response.body", "body": body, "more_body": True})

    async def _refuse(self, send: Send, error: ProcessionError) -> None:
        special = _STATUS_OF.get(error.code) if isinstance(error.code, ErrorCode) else None
        status = special or _STATUS[error.code.type]
        body = msgspec.json.encode({"id": self._stream.query.id, "error": wire_failure(error)})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
