"""Manifests in turn, those of object stores fetched ahead: a request takes longer than decoding what it brings."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestEntry, ManifestFile

from coordinator.connectors.iceberg.manifests.reader import Statistics, read_entries
from coordinator.connectors.iceberg.paths import local_path

_AHEAD_FILES, _AHEAD_BYTES = 8, 64 << 20


def each_entries(
    io: FileIO, manifests: Iterable[ManifestFile], *, statistics: Statistics = True
) -> Iterator[tuple[ManifestFile, list[ManifestEntry]]]:
    """The live entries of each manifest, sequence numbers inherited; raises as ``read_entries``."""
    running: deque[tuple[ManifestFile, Future[bytes] | None]] = deque()
    ahead = 0

    def first() -> tuple[ManifestFile, list[ManifestEntry]]:
        manifest, fetched = running.popleft()
        data = None if fetched is None else fetched.result()
        return manifest, read_entries(io, manifest, statistics=statistics, data=data)

    with ThreadPoolExecutor(_AHEAD_FILES) as pool:
        try:
            for manifest in manifests:
                while running and (len(running) >= _AHEAD_FILES or ahead + manifest.manifest_length > _AHEAD_BYTES):
                    ahead -= running[0][0].manifest_length
                    yield first()
                is_far = local_path(manifest.manifest_path) is None
                running.append((manifest, pool.submit(_bytes, io, manifest.manifest_path) if is_far else None))
                ahead += manifest.manifest_length
            while running:
                yield first()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _bytes(io: FileIO, location: str) -> bytes:
    with io.new_input(location).open() as stream:
        data: bytes = stream.read()
        return data
