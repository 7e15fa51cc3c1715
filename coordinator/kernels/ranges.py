"""Byte ranges of one file: near ones merged into one request, requests side by side, all of them counted."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .errors import reading
from .storage import is_local, resolve

LOCAL_GAP, REMOTE_GAP = 64 << 10, 1 << 20
"""Bytes that are cheaper to read along than to leave out: a seek of a disk, a request to an object store."""
_LARGEST_REQUEST = 16 << 20

Range = tuple[int, int]
"""Start and length."""


class Traffic:
    """Requests and bytes of one look-up, over all of its files."""

    def __init__(self) -> None:
        self.requests = 0
        self.bytes = 0
        self._lock = threading.Lock()

    def add(self, requests: int, size: int) -> None:
        with self._lock:
            self.requests += requests
            self.bytes += size


class RangeReader:
    """An open file of any storage; a context manager. Raises KernelError naming the file."""

    def __init__(self, path: str, storage: Mapping[str, str], pool: ThreadPoolExecutor, traffic: Traffic) -> None:
        self._path = path
        self.seeks = is_local(path)
        """Whether a small read costs next to nothing, as on a disk."""
        self._gap = LOCAL_GAP if self.seeks else REMOTE_GAP
        self._pool = pool
        self._traffic = traffic
        with reading(path):
            filesystem, inner = resolve(path, storage)
            self._source: Any = filesystem.open_input_file(inner)
            self.size = int(self._source.size())

    def __enter__(self) -> RangeReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self._source.close()

    def read_at(self, size: int, start: int) -> bytes:
        """``size`` bytes from ``start`` on, in one request."""
        self._traffic.add(1, size)
        with reading(self._path):
            data = self._source.read_at(size, start)
        if len(data) != size:
            with reading(self._path):
                raise EOFError(f"{size} bytes at {start} end early")
        return bytes(data)

    def read(self, ranges: Sequence[Range]) -> list[memoryview]:
        """The bytes of each range, in order."""
        merged = merge(ranges, self._gap)
        parts = list(self._pool.map(lambda r: self.read_at(r[1], r[0]), merged))
        starts = [start for start, _ in merged]
        found = []
        at = sorted(range(len(ranges)), key=lambda i: ranges[i][0])
        views: list[memoryview] = [memoryview(b"")] * len(ranges)
        place = 0
        for i in at:
            start, length = ranges[i]
            while place + 1 < len(starts) and starts[place + 1] <= start:
                place += 1
            inside = start - starts[place]
            views[i] = memoryview(parts[place])[inside : inside + length]
        found.extend(views)
        return found


def merge(ranges: Sequence[Range], gap: int) -> list[Range]:
    """Ranges in order of start, those no further apart than ``gap`` as one; none grows past the largest request.

    >>> merge([(100, 10), (0, 10), (15, 5)], 10)
    [(0, 20), (100, 10)]
    """
    merged: list[Range] = []
    for start, length in sorted(ranges):
        if merged:
            first, size = merged[-1]
            end = max(first + size, start + length)
            near = start - (first + size) <= gap and end - first <= _LARGEST_REQUEST
            if near or start < first + size:
                merged[-1] = (first, end - first)
                continue
        merged.append((start, length))
    return merged
