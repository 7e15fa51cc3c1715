"""Query ids and slugs in Presto's form."""

from __future__ import annotations

import secrets
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


def new_suffix() -> str:
    """Five characters at random, by which the ids of one start of a coordinator end."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(5))


class QueryIdGenerator:
    """Mints ``yyyyMMdd_HHmmss_NNNNN_ccccc``: UTC time, a daily counter, a suffix of this coordinator."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC), suffix: str | None = None) -> None:
        self._now = now
        self._suffix = suffix or new_suffix()
        self._day = ""
        self._counter = 0
        self._lock = threading.Lock()

    def next(self) -> str:
        """A new id; thread-safe."""
        with self._lock:
            now = self._now()
            day = now.strftime("%Y%m%d")
            if day != self._day or self._counter > 99_999:
                self._day, self._counter = day, 0
            query_id = f"{now:%Y%m%d_%H%M%S}_{self._counter:05d}_{self._suffix}"
            self._counter += 1
            return query_id


def new_slug() -> str:
    """An unguessable ``x`` + 32 hex digits that a client must show to read a query's results."""
    return "x" + uuid.uuid4().hex
