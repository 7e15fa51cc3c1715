"""Manifests and their lists in turn, those of object stores fetched ahead: a request takes longer than decoding."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestEntry, ManifestFile

from coordinator.connectors.iceberg.manifests.reader import Statistics, read_entries
from coordinator.connectors.iceberg.paths import local_path
from coordinator.connectors.iceberg.traced_services import store_call

T = TypeVar("T")
Fetched = Future[bytes]
"""A file's bytes, or why they could not be read."""
_AHEAD_FILES, _AHEAD_BYTES = 8, 64 << 20


def fetched_ahead(
    io: FileIO, items: Iterable[T], location: Callable[[T], str], size: Callable[[T], int] = lambda _item: 0
) -> Iterator[tuple[T, Fetched | None]]:
    """Each item, with its file on the way when that is in a store; None for files of this machine."""
    running: deque[tuple[T, Fetched | None]] = deque()
    ahead = 0
    with ThreadPoolExecutor(_AHEAD_FILES) as pool:
        try:
            for item in items:
                while running and (len(running) >= _AHEAD_FILES or ahead + size(item) > _AHEAD_BYTES):
                    ahead -= size(running[0][0])
                    yield running.popleft()
                where = location(item)
                # With the context of the statement, whose trace the request belongs to.
                asked = pool.submit(copy_context().run, _bytes, io, where) if local_path(where) is None else None
                running.append((item, asked))
                ahead += size(item)
            while running:
                yield running.popleft()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def each_entries(
    io: FileIO, manifests: Iterable[ManifestFile], *, statistics: Statistics = True
) -> Iterator[tuple[ManifestFile, list[ManifestEntry]]]:
    """The live entries of each manifest, sequence numbers inherited; raises as ``read_entries``."""
    for manifest, fetched in fetched_ahead(io, manifests, lambda m: m.manifest_path, lambda m: m.manifest_length):
        data = None if fetched is None else fetched.result()
        yield manifest, read_entries(io, manifest, statistics=statistics, data=data)


def _bytes(io: FileIO, location: str) -> bytes:
    with store_call("read", location), io.new_input(location).open() as stream:
        data: bytes = stream.read()
        return data
