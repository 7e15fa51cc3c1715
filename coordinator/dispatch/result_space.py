"""What the results of all queries may hold together: bytes of memory first, then scratch files."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pyarrow as pa

_RETURNED = 16 << 20
"""Bytes that have to be free again before the allocators are asked to give them back: asking costs milliseconds."""
_ASKED_AFTER = 60.0
"""Seconds after which they are asked anyway: plans and texts come and go, too."""

_CHUNK = 256 << 10
"""With less room than this there is none."""

Place = Literal["memory", "files"]


class ResultSpace:
    """Counts what is reserved; in any thread. ``folder`` None means that nothing is written to files.

    ``keep_free``: of the volume, so that results never fill a disk that others need.
    """

    def __init__(self, memory: int, files: int = 0, folder: Path | None = None, keep_free: int = 1 << 30) -> None:
        self.folder = folder
        self._limits: dict[Place, int] = {"memory": memory, "files": files if folder is not None else 0}
        self._used: dict[Place, int] = {"memory": 0, "files": 0}
        self._keep_free = keep_free
        self._highest, self._asked = 0, 0.0
        self._lock = threading.Lock()

    def used(self, place: Place) -> int:
        """Bytes reserved now."""
        return self._used[place]

    @property
    def exceeded(self) -> bool:
        """Neither memory nor files have room."""
        return all(self._used[place] + _CHUNK > self._limits[place] for place in self._used)

    def reserve(self, place: Place, size: int, *, always: bool = False) -> bool:
        """Take ``size`` bytes if they are there, or in any case."""
        with self._lock:
            if not always and self._used[place] + size > self._limits[place]:
                return False
            self._used[place] += size
            self._highest = max(self._highest, self._used["memory"])
            return True

    def free(self, place: Place, size: int) -> None:
        """Give back what was reserved."""
        with self._lock:
            self._used[place] -= size

    def disk_has_room(self, size: int) -> bool:
        """Whether the volume keeps its reserve with ``size`` bytes more on it."""
        if self.folder is None:
            return False
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return shutil.disk_usage(self.folder).free >= self._keep_free + size
        except OSError:
            return False

    def clear(self) -> None:
        """Remove files that an earlier process left. Before any query."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def worth_returning(self, now: float) -> bool:
        """Much less is held than was before, or it was long ago that this said so, by a clock's ``now`` in seconds."""
        with self._lock:
            used = self._used["memory"]
            if self._highest - used < _RETURNED and now - self._asked < _ASKED_AFTER:
                return False
            self._highest, self._asked = used, now
            return True


def return_memory() -> None:
    """Ask the allocators to give freed memory back to the machine; takes milliseconds, on a thread."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


class ResultFile:
    """One scratch file of a query, appended to by its engine's thread; private to the owner of the process."""

    def __init__(self, path: Path, space: ResultSpace) -> None:
        self.path = path
        self.size = 0
        self.unread = 0
        self._space = space
        self._freed = 0

    def append(self, data: bytes | memoryview) -> int:
        """The offset of ``data``, for which space is reserved. Raises OSError."""
        flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if self.size == 0 else 0) | os.O_NOFOLLOW
        descriptor = os.open(self.path, flags, 0o600)
        try:
            view, offset = memoryview(data), self.size
            while view:
                written = os.pwrite(descriptor, view, offset)
                view, offset = view[written:], offset + written
        finally:
            os.close(descriptor)
        start, self.size = self.size, offset
        return start

    def written(self, data: bytes | memoryview) -> bool:
        """Put ``data`` there if space and disk have room; blocks."""
        if not self._space.disk_has_room(len(data)) or not self._space.reserve("files", len(data)):
            return False
        try:
            self.append(data)
        except OSError:
            self._space.free("files", len(data))
            self.remove()
            return False
        return True

    def read(self, offset: int, size: int) -> bytes:
        """Raises OSError."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            data = os.pread(descriptor, size, offset)
        finally:
            os.close(descriptor)
        if len(data) != size:
            raise OSError(f"{self.path.name} is shorter than what was written to it")
        return data

    def remove(self) -> None:
        """Delete it and give its space back; again, what was appended meanwhile."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        self._space.free("files", self.size - self._freed)
        self._freed = self.size
