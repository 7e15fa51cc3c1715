"""Statements that were sent and never asked for: a user may have some, which are kept until they are abandoned."""

from __future__ import annotations

from collections import Counter

from coordinator.dispatch.query import Query
from coordinator.dispatch.settings import DispatchSettings
from shared.errors import ErrorCode, ProcessionError


class UnpolledStatements:
    """By user: how many, and how many characters."""

    def __init__(self, settings: DispatchSettings) -> None:
        self._settings = settings
        self._texts: dict[str, tuple[str, int]] = {}
        self._count: Counter[str] = Counter()
        self._size: Counter[str] = Counter()

    def refusal(self, user: str, size: int) -> ProcessionError | None:
        """Why a user cannot send another statement of so many characters now."""
        full = self._count[user] >= self._settings.max_unpolled
        if not full and self._size[user] + size <= self._settings.max_unpolled_size:
            return None
        message = f"Too many statements of user {user} wait for their client to ask for the first result"
        return ProcessionError(ErrorCode.QUERY_QUEUE_FULL, message)

    def add(self, query: Query) -> None:
        """It was sent."""
        user, size = query.session.user, len(query.text)
        self._texts[query.id] = (user, size)
        self._count[user] += 1
        self._size[user] += size
        query.on_done(self.discard)

    def discard(self, query: Query) -> None:
        """It was asked for, or has ended."""
        user, size = self._texts.pop(query.id, ("", 0))
        for counter, less in ((self._count, 1), (self._size, size)):
            counter[user] -= less
            if counter[user] <= 0:
                del counter[user]
