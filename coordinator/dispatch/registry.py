"""All queries that this coordinator remembers, and when it forgets them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from coordinator.dispatch.clock import Clock
from coordinator.dispatch.failures import abandoned
from coordinator.dispatch.limits import exceeded_limit
from coordinator.dispatch.query import Query
from coordinator.dispatch.settings import DispatchSettings
from shared.errors import ErrorCode, ProcessionError

KEPT_TEXT = 10_000
"""Characters of a statement that the history beyond ``max_history`` keeps."""


class QueryRegistry:
    """Queries by id, oldest first. A sweep costs what is at work, not what is remembered."""

    def __init__(self, settings: DispatchSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._queries: dict[str, Query] = {}
        self._active: dict[str, Query] = {}
        """Those that were active when a sweep saw them last; no query becomes so again."""
        self._ended: deque[Query] = deque()
        """The newest that are not, at most ``max_history`` after a sweep."""
        self._shrunk: deque[Query] = deque()
        """The others, of which less is kept."""

    def __len__(self) -> int:
        return len(self._queries)

    def __iter__(self) -> Iterator[Query]:
        return iter(tuple(self._queries.values()))

    def __contains__(self, query_id: str) -> bool:
        return query_id in self._queries

    def get(self, query_id: str) -> Query | None:
        return self._queries.get(query_id)

    def add(self, query: Query) -> None:
        """Remember ``query``; its id must be new."""
        if query.id in self._queries:
            raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, f"Query id {query.id} is taken")
        self._queries[query.id] = self._active[query.id] = query

    def active(self) -> list[Query]:
        """Queries that run or whose rows wait for their client."""
        return [query for query in tuple(self._active.values()) if query.active]

    def sweep(self) -> list[Query]:
        """Abandon what no client asks for, drop its rows, forget what ended long ago, which is returned."""
        for query in tuple(self._active.values()):
            self._look_at(query)
            if not query.active:
                self._ended.append(self._active.pop(query.id))
        return self._expire()

    def _look_at(self, query: Query) -> None:
        if not query.state.done and (error := exceeded_limit(query, self._settings)) is not None:
            query.fail(error)
        if query.idle_seconds <= self._settings.client_timeout:
            return
        if not query.state.done:
            query.fail(abandoned(query.id, query.last_access_time, self._clock.now()))
        elif query.active:
            query.drop_results()

    def _expire(self) -> list[Query]:
        while len(self._ended) > self._settings.max_history:
            query = self._ended.popleft()
            query.shrink(KEPT_TEXT)
            self._shrunk.append(query)
        forgotten = []
        while self._shrunk and self._is_expired(self._shrunk[0]):
            forgotten.append(self._queries.pop(self._shrunk.popleft().id))
        return forgotten

    def _is_expired(self, oldest: Query) -> bool:
        too_many = len(self._ended) + len(self._shrunk) > self._settings.max_tracked
        return too_many or oldest.ended_seconds > self._settings.min_expire_age
