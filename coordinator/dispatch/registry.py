"""All queries that this coordinator remembers, and when it forgets them."""

from __future__ import annotations

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
    """Queries by id, oldest first."""

    def __init__(self, settings: DispatchSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._queries: dict[str, Query] = {}

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
        self._queries[query.id] = query

    def active(self) -> list[Query]:
        """Queries that run or whose rows wait for their client."""
        return [query for query in self if query.active]

    def sweep(self) -> None:
        """Abandon what no client asks for, drop its rows, forget what ended long ago."""
        for query in self:
            if not query.state.done and (error := exceeded_limit(query, self._settings)) is not None:
                query.fail(error)
            if query.idle_seconds <= self._settings.client_timeout:
                continue
            if not query.state.done:
                query.fail(abandoned(query.id, query.last_access_time, self._clock.now()))
            elif query.active:
                query.drop_results()
        self._expire()

    def _expire(self) -> None:
        ended = [query for query in self if not query.active]
        for index, query in enumerate(ended[: max(0, len(ended) - self._settings.max_history)]):
            too_many = len(ended) - index > self._settings.max_tracked
            if too_many or query.ended_seconds > self._settings.min_expire_age:
                del self._queries[query.id]
            else:
                query.shrink(KEPT_TEXT)
