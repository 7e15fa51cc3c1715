"""All rows of a statement as one Arrow stream, for a client that stays connected until it has read them.

The engine's thread makes IPC messages of its batches, which wait in the query's buffer as encoded pages do: within
the same bounds of memory, in the same files, and with the same way to make an engine wait for a slow reader.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

from coordinator.dispatch.delivery import settle, take_chunks
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.pages import Chunk
from coordinator.dispatch.query import Query
from coordinator.dispatch.states import QueryState
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ProcessionError

_LOOK_AGAIN = 1.0
"""Seconds after which a client that waits is seen to be there still; sooner where clients have few."""
_UNPLANNED = frozenset({QueryState.WAITING_FOR_PREREQUISITES, QueryState.PLANNING})


class ArrowStream:
    """One statement and its reader. Belongs to the dispatcher's event loop."""

    def __init__(self, dispatcher: Dispatcher, query: Query, target_size: int = 4 << 20) -> None:
        """``target_size``: bytes that are given at a time, about."""
        self.query = query
        self._dispatcher = dispatcher
        self._target_size = target_size

    async def planned(self) -> PlannedStatement:
        """Start it, and wait until it has passed its checks. Raises the ProcessionError that ended it."""
        self._dispatcher.start(self.query)
        await self._wait(self._is_planned)
        return self._plan()

    async def dispatched(self) -> PlannedStatement:
        """The plan that runs, once the statement has left its queue. Raises the ProcessionError that ended it."""
        await self._wait(lambda: self.query.state.dispatched and self._is_planned())
        return self._plan()

    def begin(self) -> None:
        """Rows are given once: raises ProcessionError for whoever asks for them again."""
        if self.query.stream_begun:
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Results of query {self.query.id} were read already")
        self.query.stream_begun = True

    async def chunks(self) -> AsyncGenerator[list[Chunk]]:
        """Rows as they come, until the end. Raises the ProcessionError that ended the statement."""
        query = self.query
        while True:
            await self._wait(self._has_more)
            self._check()
            settle(query, self._dispatcher.results)
            chunks = await take_chunks(query, self._target_size)
            self._check()
            if chunks:
                yield chunks
            elif query.state is QueryState.FINISHED and query.buffer.drained:
                query.results_delivered = True
                query.timeline.stop("deliver")
                return

    def leave(self) -> None:
        """The reader goes: what it has not read nobody needs."""
        if not self.query.results_delivered:
            self._dispatcher.cancel(self.query)

    def _has_more(self) -> bool:
        state = self.query.state
        return bool(self.query.buffer.size) or state is QueryState.FINISHING or state.done

    def _is_planned(self) -> bool:
        return self.query.planned is not None and self.query.state not in _UNPLANNED

    async def _wait(self, ready: Callable[[], bool]) -> None:
        query = self.query
        query.touch()
        look_again = min(_LOOK_AGAIN, self._dispatcher.settings.client_timeout / 10)
        while not await query.wait_until(lambda: query.state.done or ready(), look_again):
            query.touch()
        query.touch()

    def _plan(self) -> PlannedStatement:
        self._check()
        if self.query.planned is None:
            raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, "The statement has no plan")
        return self.query.planned

    def _check(self) -> None:
        if self.query.error is not None:
            raise self.query.error.apart()
        if self.query.results_dropped:
            raise ProcessionError(ErrorCode.ABANDONED_QUERY, "Results of the query are gone: no client asked for them")
