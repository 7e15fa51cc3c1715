"""Hands a query's results to its client page by page, under the protocol's token rules."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from time import monotonic
from typing import Literal

import structlog

from coordinator.dispatch.pages import Chunk
from coordinator.dispatch.query import Query
from coordinator.dispatch.replays import Replays
from coordinator.dispatch.result_space import ResultFile, ResultSpace
from coordinator.dispatch.segments import Segment, SpooledSegments
from coordinator.dispatch.states import QueryState
from coordinator.dispatch.stats import statement_stats
from coordinator.dispatch.wire_results import update_type
from coordinator.vocabulary.planned_statement import Column, SessionChange
from shared.errors import ErrorCode, ProcessionError
from shared.protocol.statement import Stats
from shared.spi.plan_checker import PrestoWarning

_FEW_BYTES = 16 << 10
_log = structlog.get_logger(__name__)

LINGER = 0.005
"""Seconds that a page waits for more rows, or for the end, once it has its first rows: saves a round trip."""
_SEGMENT_LINGER = 0.5
"""The same for a page whose rows are fetched apart, which is another round trip."""


class TokenError(Exception):
    """A token that the protocol does not allow: 410 (already passed) or 404 (not there)."""

    def __init__(self, status: Literal[404, 410], text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class Page:
    """A frozen answer: the same token always gets the same page. ``data`` is JSON or None: an array of rows, or, where
    ``binary``, of base64 SerializedPages. With a ``segment`` it is the segment's bytes, None if they are elsewhere.

    ``kind`` and ``next_token`` say where the client goes next; no ``next_token`` ends the conversation.
    ``may_end_early``: the client may have the rest left out.
    ``retry_url`` replaces both when a gateway shall run the statement elsewhere.
    """

    kind: Literal["queued", "executing"]
    next_token: int | None
    stats: Stats
    warnings: tuple[PrestoWarning, ...] = ()
    columns: tuple[Column, ...] | None = None
    data: bytes | None = None
    binary: bool = False
    segment: Segment | None = None
    error: ProcessionError | None = None
    update_type: str | None = None
    update_count: int | None = None
    session_change: SessionChange | None = None
    retry_url: str | None = None
    may_end_early: bool = False


class Delivery:
    """The conversation about one query. Polls of one query are answered one after another."""

    def __init__(self, query: Query, space: ResultSpace, segments: SpooledSegments, replays: Replays) -> None:
        self.query = query
        self._space, self._segments, self._replays = space, segments, replays
        self._row_offset = 0
        self._queued_token = 0
        self._executing_token = -1
        self._last: Page | None = None
        self._aside: ResultFile | None = None
        self._sent_rows = False
        self._over = False
        self._turn = asyncio.Lock()

    @property
    def begun(self) -> bool:
        """A client has polled."""
        return self._queued_token > 0

    def initial_page(self) -> Page:
        """The answer to the POST; nothing has happened yet."""
        return Page("queued", 1, self._stats())

    async def queued_page(self, token: int, wait: float, target_size: int) -> Page:
        """The answer to a queued poll: executing page 0 once the query has been dispatched or has failed.

        Raises TokenError.
        """
        async with self._turn:
            if token not in (self._queued_token, self._queued_token + 1):
                raise TokenError(410, "Gone")
            self._queued_token = token
            self.query.touch()
            started = monotonic()
            if not await self.query.wait_until(lambda: self.query.state.dispatched, wait):
                return Page("queued", token + 1, self._stats(), self.query.warnings)
            return await self._executing(0, max(0.0, wait - (monotonic() - started)), target_size)

    async def executing_page(self, token: int, wait: float, target_size: int) -> Page:
        """The answer to an executing poll; waits for rows up to ``wait`` seconds. Raises TokenError."""
        async with self._turn:
            self.query.touch()
            return await self._executing(token, wait, target_size)

    async def _executing(self, token: int, wait: float, target_size: int) -> Page:
        if token == self._executing_token and self._last is not None:
            return await self._replayed(self._last)
        if token < self._executing_token:
            raise TokenError(410, "Gone")
        if token != self._executing_token + 1 or self._over or not self.query.state.dispatched:
            raise TokenError(404, "Query not found")
        if self.query.results_dropped:
            raise TokenError(410, "Results of the query are gone: no client asked for them in time")
        if self.query.segments is not None:
            target_size = self._segments.target_size
        await self._wait_for_rows(wait, target_size)
        chunks = await take_chunks(self.query, target_size)
        if chunks is None:
            raise TokenError(410, "Results of the query are gone")
        segment, data = await self._rows_of(chunks)
        last = self._last = self._next_page(token, data, segment)
        self._executing_token = token
        self._forget_file()
        if last.data is None:
            self._replays.forget(self)
        else:
            self._replays.keep(self, len(last.data))
        return last

    async def _replayed(self, last: Page) -> Page:
        self._replays.asked(self)
        file = self._aside
        if file is None:
            return last
        try:
            data = await asyncio.to_thread(file.read, 0, file.size)
        except OSError as error:
            raise TokenError(410, "The page is gone") from error
        return replace(last, data=data)

    async def _wait_for_rows(self, wait: float, target_size: int) -> None:
        query, buffer = self.query, self.query.buffer
        await query.wait_until(lambda: bool(buffer.size) or buffer.finished or query.state.done, wait)
        if buffer.size < target_size and not query.state.done:
            linger = LINGER if query.segments is None or not buffer.size else _SEGMENT_LINGER
            await query.wait_until(lambda: query.state.done or buffer.size >= target_size, min(wait, linger))

    async def _rows_of(self, chunks: list[Chunk]) -> tuple[Segment | None, bytes | None]:
        """How a page has its rows, and what of them is in itself."""
        if not chunks:
            return None, None
        self._sent_rows = True
        encoding = self.query.segments
        if encoding is None:
            return None, b"[" + b",".join(chunk.data for chunk in chunks) + b"]"
        segment, data = await self._segments.made(self.query.id, chunks, encoding, self._row_offset)
        self._row_offset += segment.rows
        if self.query.state is QueryState.FAILED or self.query.results_dropped:
            self._segments.drop(self.query.id)
            return None, None
        return segment, data or None

    def _next_page(self, token: int, data: bytes | None, segment: Segment | None) -> Page:
        query = self.query
        settle(query, self._space)
        over = query.state is QueryState.FAILED or (query.state is QueryState.FINISHED and query.buffer.drained)
        if over:
            self._over = query.results_delivered = True
            query.timeline.stop("deliver")
        retry = self._retry_url() if over else None
        planned = query.planned
        return Page(
            "executing",
            None if over else token + 1,
            self._stats(),
            query.warnings,
            columns=planned.columns if planned is not None and query.entered(QueryState.DISPATCHING) else None,
            binary=query.result_format == "binary",
            segment=segment,
            data=data,
            error=None if retry else query.error,
            update_type=update_type(planned) if planned is not None else None,
            update_count=query.update_count,
            session_change=planned.session_change if planned is not None and query.error is None else None,
            retry_url=retry,
            may_end_early=query.may_end_early,
        )

    def _retry_url(self) -> str | None:
        """Where another cluster takes over: only before any row was sent, and while the gateway remembers."""
        order, error = self.query.retry_order, self.query.error
        if order is None or error is None or not error.retriable or self._sent_rows or order.expired():
            return None
        return order.url

    def _stats(self) -> Stats:
        return statement_stats(self.query, trino=self.query.session.protocol == "Trino", stages=True)

    def release(self) -> None:
        """Forget the last page's rows; asking for it again is 404 from now on."""
        if self._aside is not None or (self._last is not None and self._last.data is not None):
            self._last = None
        self._forget_file()
        self._replays.forget(self)

    async def set_aside(self) -> None:
        """Put the last page's rows of a conversation that goes on into a file, on a thread, if there is room."""
        if self._turn.locked():
            return  # its client asks just now, and mostly for the page after it
        async with self._turn:
            last, folder = self._last, self._space.folder
            if self._over or last is None or last.data is None or folder is None:
                return
            file = ResultFile(folder / f"{self.query.id}.page{self._executing_token}", self._space)
            if not await asyncio.to_thread(file.written, last.data):
                return
            if self._last is not last:
                file.remove()  # forgotten meanwhile
                return
            self._last, self._aside = replace(last, data=None), file
            self._replays.moved(self)

    def _forget_file(self) -> None:
        file, self._aside = self._aside, None
        if file is not None:
            file.remove()


async def take_chunks(query: Query, target_size: int) -> list[Chunk] | None:
    """What waits for the client. What cannot be read back fails the query; None where that had ended well already."""
    if query.state is QueryState.FAILED:
        return []
    if not query.buffer.next_is_stored:
        return query.buffer.take(target_size)
    try:
        return await asyncio.to_thread(query.buffer.take, target_size)
    except OSError as error:
        _log.error("results cannot be read back", query_id=query.id, reason=error.strerror or str(error))
        if not query.fail(ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, "Results of the query are lost")):
            query.drop_results()
            return None
        return []


def settle(query: Query, space: ResultSpace) -> None:
    """FINISHING becomes FINISHED, which gives back the slot: as in Presto, once the last row is on the coordinator.

    While results have no room left, what waits with more than a few rows keeps its slot: submitting without reading
    runs into the resource group's limits instead of into the memory's.
    """
    if query.state is QueryState.FINISHING and (query.buffer.size <= _FEW_BYTES or not space.exceeded):
        query.transition(QueryState.FINISHED)
