"""The bounded buffer between an engine's thread and a polling client."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from coordinator.dispatch.pages import Chunk
from coordinator.dispatch.result_space import Place, ResultFile, ResultSpace

_FILE_SIZE = 16 << 20
"""Where a query begins its next file; a file goes when all of it was read."""
_LOOK_AGAIN = 0.1
"""Seconds after which a waiting thread looks whether other queries have made room."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk in a file."""

    file: ResultFile
    offset: int
    size: int
    rows: int

    def load(self) -> Chunk:
        """Raises OSError."""
        return Chunk(self.file.read(self.offset, self.size), self.rows)


def _size(entry: Chunk | StoredChunk) -> int:
    return entry.size if isinstance(entry, StoredChunk) else len(entry.data)


class PageBuffer:
    """Holds encoded rows, in memory up to ``max_size`` bytes and as far as all queries together may.

    Beyond that ``put`` blocks its thread, so that a client that reads steadily costs no file. What no client has made
    room for after ``patience`` seconds goes to files, and so does what memory has no room for, up to ``max_stored``
    bytes: then the engine ends, whatever its client does. A buffer that holds nothing always takes a chunk.

    One producer thread, one consumer; ``notify`` is called (from any thread) whenever a consumer may go on.
    """

    def __init__(
        self,
        max_size: int,
        notify: Callable[[], None],
        space: ResultSpace | None = None,
        *,
        name: str = "results",
        max_stored: int = 0,
        patience: float = 0.0,
    ) -> None:
        self._max_size, self._max_stored, self._patience = max_size, max_stored, patience
        self._notify = notify
        self._space = space if space is not None else ResultSpace(1 << 62)
        self._name = name
        self._entries: deque[Chunk | StoredChunk] = deque()
        self._in_memory = self._size = self._stored = self._files = 0
        self._file: ResultFile | None = None
        self._open_files: set[ResultFile] = set()
        self._finished = self._closed = self._slow_client = False
        self._waits_since = math.inf
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
        return self._finished and not self._entries

    @property
    def next_is_stored(self) -> bool:
        """``take`` will read a file."""
        entries = self._entries
        return bool(entries) and isinstance(entries[0], StoredChunk)

    @property
    def waiting_seconds(self) -> float:
        """For how long the engine has been waiting for its client."""
        return max(0.0, time.monotonic() - self._waits_since)

    def put(self, chunk: Chunk) -> bool:
        """Add ``chunk`` once there is room; False when the buffer was closed."""
        place = self._wait_for_place(len(chunk.data))
        if place == "files" and not self._store(chunk):
            place = self._wait_for_place(len(chunk.data), disk=False)
        if place is None:
            return False
        if place == "memory":
            with self._room:
                if self._closed:
                    self._space.free("memory", len(chunk.data))
                    return False
                self._entries.append(chunk)
                self._in_memory += len(chunk.data)
                self._size += len(chunk.data)
        self._notify()
        return not self._closed

    def _wait_for_place(self, size: int, *, disk: bool = True) -> Place | None:
        """Where ``size`` bytes, now reserved, go; None when the buffer was closed."""
        began = time.monotonic()
        with self._room:
            try:
                while not self._closed:
                    place = self._place(size, time.monotonic() - began, disk=disk)
                    if place is not None:
                        return place
                    self._waits_since = min(self._waits_since, began)
                    self._room.wait(_LOOK_AGAIN)
                return None
            finally:
                self._waits_since = math.inf

    def _place(self, size: int, waited: float, *, disk: bool) -> Place | None:
        if not self._entries:
            self._slow_client = False
            self._space.reserve("memory", size, always=True)
            return "memory"
        full = self._in_memory >= self._max_size
        if not full and self._space.reserve("memory", size):
            return "memory"
        self._slow_client = self._slow_client or not full or waited >= self._patience
        fits = self._stored + size <= self._max_stored
        if disk and fits and self._slow_client and self._space.reserve("files", size):
            return "files"
        return None

    def _store(self, chunk: Chunk) -> bool:
        """Write to a file, on the engine's thread and outside the lock: the client's side never waits for a disk."""
        size = len(chunk.data)
        file = self._file
        if file is None or file.size >= _FILE_SIZE:
            folder = self._space.folder
            if folder is None or not self._space.disk_has_room(_FILE_SIZE):
                self._space.free("files", size)
                return False
            self._files += 1
            file = ResultFile(folder / f"{self._name}.{self._files}", self._space)
        try:
            offset = file.append(chunk.data)
        except OSError:
            self._space.free("files", size)
            self._drop_if_read(file)
            return False
        with self._room:
            if self._closed:
                file.remove()
                return True
            previous, self._file = self._file, file
            self._open_files.add(file)
            file.unread += size
            self._entries.append(StoredChunk(file, offset, size, chunk.rows))
            self._size += size
            self._stored += size
            if previous is not None and previous is not file:
                self._drop_if_read(previous)
        return True

    def _drop_if_read(self, file: ResultFile) -> None:
        """All of ``file`` was read, and nothing is written to it any more."""
        if file.unread == 0 and file is not self._file:
            self._open_files.discard(file)
            file.remove()

    def finish(self) -> None:
        """The producer has nothing more."""
        with self._room:
            self._finished = True
            last, self._file = self._file, None
            if last is not None:
                self._drop_if_read(last)
        self._notify()

    def take(self, size: int) -> list[Chunk]:
        """Chunks worth ``size`` bytes, at least one if any waits. Waits for nothing but a file. Raises OSError."""
        with self._room:
            total, entries = 0, list[Chunk | StoredChunk]()
            while self._entries and (not entries or total + _size(self._entries[0]) <= size):
                total += _size(self._entries[0])
                entries.append(self._entries.popleft())
            held = sum(_size(entry) for entry in entries if isinstance(entry, Chunk))
            self._in_memory -= held
            self._size -= total
            self._space.free("memory", held)
        taken = [entry.load() if isinstance(entry, StoredChunk) else entry for entry in entries]
        with self._room:
            for entry in entries:
                if isinstance(entry, StoredChunk) and not self._closed:
                    self._stored -= entry.size
                    entry.file.unread -= entry.size
                    self._drop_if_read(entry.file)
            if entries:
                self._room.notify_all()
        return taken

    def close(self) -> None:
        """Drop everything and release a waiting producer."""
        with self._room:
            self._closed = self._finished = True
            self._entries.clear()
            self._space.free("memory", self._in_memory)
            self._in_memory = self._size = self._stored = 0
            for file in self._open_files:
                file.remove()
            self._open_files.clear()
            self._room.notify_all()
        self._notify()
