"""Parquet footers that this executor process has read: bounded, keyed by file and size, cleared by ``cache:clear``."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from .tasks import Cleared
from .wire import encode

_LIMIT_BYTES = 32 << 20


class FooterCache:
    """Least recently used footers up to a number of serialized bytes; thread-safe."""

    def __init__(self, limit: int = _LIMIT_BYTES) -> None:
        self._limit = limit
        self._bytes = 0
        self._footers: OrderedDict[tuple[str, int], Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: str, size: int) -> Any | None:
        """The footer of a file of ``size`` bytes, if it is here; data files never change under their name."""
        with self._lock:
            if (path, size) not in self._footers:
                return None
            self._footers.move_to_end((path, size))
            return self._footers[(path, size)]

    def put(self, path: str, size: int, footer: Any) -> None:
        """Keep a footer; the least recently used ones go when the limit is passed."""
        with self._lock:
            if (path, size) not in self._footers:
                self._footers[(path, size)] = footer
                self._bytes += footer.serialized_size
            while self._bytes > self._limit and len(self._footers) > 1:
                _, dropped = self._footers.popitem(last=False)
                self._bytes -= dropped.serialized_size

    def clear(self) -> tuple[int, int]:
        """Drop everything; what was dropped as (entries, bytes)."""
        with self._lock:
            dropped = len(self._footers), self._bytes
            self._footers.clear()
            self._bytes = 0
            return dropped


FOOTERS = FooterCache()
"""Of this process: an executor keeps it from task to task, which is what a cache is for."""


def clear(payload: bytes) -> bytes:
    """Kernel: clear this process's cache; the answer is a Cleared."""
    del payload
    return encode(Cleared(*FOOTERS.clear()))
