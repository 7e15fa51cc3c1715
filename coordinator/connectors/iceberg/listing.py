"""Every file under a location, one directory at a time, so that memory is bounded by the largest directory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

import pyarrow.fs as pafs
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

_AT_ONCE = 1000
_THREADS = 8


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file as storage tells it, located the way the directory or the question was."""

    location: str
    size: int
    modified: datetime | None


def walk(io: FileIO, location: str) -> Iterator[FoundFile]:
    """The files under ``location``, at any depth; none when it does not exist."""
    filesystem, root = _filesystem(io, location)
    base = location.rstrip("/")
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        selector = pafs.FileSelector(f"{root.rstrip('/')}{inside}", allow_not_found=True)
        for info in filesystem.get_file_info(selector):
            if info.type == pafs.FileType.Directory:
                waiting.append(f"{inside}/{info.base_name}")
            elif info.type == pafs.FileType.File:
                yield FoundFile(f"{base}{inside}/{info.base_name}", info.size, info.mtime)


def sizes_of(io: FileIO, locations: Iterable[str]) -> Iterator[tuple[str, int | None]]:
    """Each location with the bytes that storage has there; None where no file is."""
    with ThreadPoolExecutor(_THREADS) as pool:
        for found in pool.map(lambda batch: _sizes(io, batch), _batches(locations)):
            yield from found


def _sizes(io: FileIO, locations: Sequence[str]) -> list[tuple[str, int | None]]:
    found: list[tuple[str, int | None]] = []
    by_storage: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for location in locations:
        scheme, netloc, path = PyArrowFileIO.parse_location(location, io.properties)
        by_storage.setdefault((scheme, netloc), []).append((location, path))
    for (scheme, netloc), pairs in by_storage.items():
        infos = _arrow(io).fs_by_scheme(scheme, netloc).get_file_info([path for _, path in pairs])
        for (location, _), info in zip(pairs, infos, strict=True):
            found.append((location, info.size if info.type == pafs.FileType.File else None))
    return found


def _batches(locations: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for location in locations:
        batch.append(location)
        if len(batch) == _AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _filesystem(io: FileIO, location: str) -> tuple[pafs.FileSystem, str]:
    scheme, netloc, path = PyArrowFileIO.parse_location(location, io.properties)
    return _arrow(io).fs_by_scheme(scheme, netloc), path


def _arrow(io: FileIO) -> PyArrowFileIO:
    return io if isinstance(io, PyArrowFileIO) else PyArrowFileIO(io.properties)
