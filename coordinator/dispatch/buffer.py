"""The bounded buffer between an engine's thread and a polling client."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from coordinator.dispatch.pages import Chunk


class PageBuffer:
    """Holds encoded rows; ``put`` blocks its thread while ``max_size`` bytes or more wait.

    One producer thread, one consumer; ``notify`` is called (from any thread) whenever a consumer may go on.
    """

    def __init__(self, max_size: int, notify: Callable[[], None]) -> None:
        self._max_size = max_size
        self._notify = notify
        self._chunks: deque[Chunk] = deque()
        self._size = 0
        self._finished = False
        self._closed = False
        self._room = threading.Condition()

    @property
    def size(self) -> int:
        """Bytes that wait for the client."""
        return self._size

    @property
    def finished(self) -> bool:
        """No further chunk will come."""
        return self._finished

    @property
    def drained(self) -> bool:
        """No further chunk will come and none waits."""
        return self._finished and not self._chunks

    def put(self, chunk: Chunk) -> bool:
        """Add ``chunk`` once there is room; False when the buffer was closed."""
        with self._room:
            self._room.wait_for(lambda: self._size < self._max_size or self._closed)
            if self._closed:
                return False
            self._chunks.append(chunk)
            self._size += len(chunk.json)
        self._notify()
        return True

    def finish(self) -> None:
        """The producer has nothing more."""
        with self._room:
            self._finished = True
        self._notify()

    def take(self, size: int) -> list[Chunk]:
        """Chunks worth ``size`` bytes, at least one if any waits. Never blocks."""
        taken: list[Chunk] = []
        with self._room:
            total = 0
            while self._chunks and (not taken or total + len(self._chunks[0].json) <= size):
                chunk = self._chunks.popleft()
                total += len(chunk.json)
                taken.append(chunk)
            self._size -= total
            if taken:
                self._room.notify_all()
        return taken

    def close(self) -> None:
        """Drop everything and release a waiting producer."""
        with self._room:
            self._closed = self._finished = True
            self._chunks.clear()
            self._size = 0
            self._room.notify_all()
        self._notify()
