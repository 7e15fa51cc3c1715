"""Which records something in this process finishes already, so that nothing else does."""

from __future__ import annotations

import threading


class AtWork:
    """Ids of records; thread-safe."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._lock = threading.Lock()

    def claim(self, record_id: str) -> bool:
        """Whether nothing here finishes it yet: the caller does, until ``release``."""
        with self._lock:
            is_new = record_id not in self._ids
            self._ids.add(record_id)
            return is_new

    def release(self, record_id: str) -> None:
        """The caller does no more."""
        with self._lock:
            self._ids.discard(record_id)
