"""What this process has read of files that never change: bounded, by file and size, cleared by ``cache:clear``."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from .tasks import Cleared
from .wire import encode

T = TypeVar("T")

_LIMIT_BYTES = 32 << 20


class FileCache(Generic[T]):
    """The least recently used things go beyond ``limit`` bytes, by ``size_of`` each; thread-safe."""

    def __init__(self, size_of: Callable[[T], int], limit: int = _LIMIT_BYTES) -> None:
        self._size_of, self._limit = size_of, limit
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, int], T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: str, size: int) -> T | None:
        """What is kept of a file of ``size`` bytes, if it is here; data files never change under their name."""
        with self._lock:
            if (path, size) not in self._kept:
                return None
            self._kept.move_to_end((path, size))
            return self._kept[(path, size)]

    def put(self, path: str, size: int, found: T) -> None:
        """Keep it instead of what was kept; the least recently used others go when the limit is passed."""
        with self._lock:
            before = self._kept.pop((path, size), None)
            self._bytes += self._size_of(found) - (0 if before is None else self._size_of(before))
            self._kept[(path, size)] = found
            while self._bytes > self._limit and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= self._size_of(dropped)

    def clear(self) -> tuple[int, int]:
        """Drop everything; what was dropped as (entries, bytes)."""
        with self._lock:
            dropped = len(self._kept), self._bytes
            self._kept.clear()
            self._bytes = 0
            return dropped


FOOTERS: FileCache[Any] = FileCache(lambda footer: int(footer.serialized_size))
"""Parquet footers. Of this process: an executor keeps it from task to task, which is what a cache is for."""


class FileEnd(NamedTuple):
    """The last bytes of a file in an object store, with its whole footer, and how large the file is in truth."""

    size: int
    data: bytes


ENDS: FileCache[FileEnd] = FileCache(lambda end: len(end.data))
"""For those who read such files by themselves."""
Bits = npt.NDArray[np.uint8]


class TakenOut(NamedTuple):
    """Which rows of a data file some equality deletes, by their names, take out: a bit a row, or none for no row."""

    deletes: frozenset[str]
    bits: Bits


_DELETE_BYTES = 40
"""In a set, which files mostly share."""
TAKEN_OUT: FileCache[TakenOut] = FileCache(lambda found: len(found.bits) + _DELETE_BYTES * len(found.deletes))
"""For those who ask for the rows of the same files again."""


def clear(payload: bytes) -> bytes:
    """Kernel: clear this process's cache; the answer is a Cleared."""
    del payload
    entries, size = (sum(counts) for counts in zip(FOOTERS.clear(), ENDS.clear(), TAKEN_OUT.clear(), strict=True))
    return encode(Cleared(entries, size))
