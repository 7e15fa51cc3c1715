"""Every file under a location as a stream: on local disks in constant memory, elsewhere one directory at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.fs as pafs
from pyiceberg.io import FileIO

from coordinator.connectors.iceberg.paths import local_path
from coordinator.connectors.iceberg.storage import ExactFileIO, arrow

_AT_ONCE = 1000
_THREADS = 8


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file as storage tells it, located the way the directory or the question was."""

    location: str
    size: int
    modified: datetime | None


def walk(io: FileIO, location: str, *, hidden: Callable[[str], bool] = lambda _name: False) -> Iterator[FoundFile]:
    """The files under ``location``, at any depth; none when it does not exist.

    Files and directories whose names are ``hidden`` are left out, with what is in them.
    """
    base = location.rstrip("/")
    local = local_path(location)
    list_one = _scanned(local) if local is not None else _listed(io, location)
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        for name, found in list_one(inside):
            if hidden(name):
                continue
            if found is None:
                waiting.append(f"{inside}/{name}")
            else:
                yield FoundFile(f"{base}{inside}/{name}", *found)


_Listing = Iterator[tuple[str, tuple[int, datetime | None] | None]]
"""Names in a directory: a file's size and time, None for a directory."""


def _scanned(root: str) -> Callable[[str], _Listing]:
    def scan(inside: str) -> _Listing:
        try:
            entries = os.scandir(Path(f"{root.rstrip('/')}{inside}"))
        except FileNotFoundError:
            return
        with entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield entry.name, None
                elif entry.is_file():
                    status = entry.stat()
                    yield entry.name, (status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))

    return scan


def _listed(io: FileIO, location: str) -> Callable[[str], _Listing]:
    filesystem, root = _filesystem(io, location)

    def listed(inside: str) -> _Listing:
        for info in filesystem.get_file_info(pafs.FileSelector(f"{root.rstrip('/')}{inside}", allow_not_found=True)):
            if info.type == pafs.FileType.Directory:
                yield info.base_name, None
            elif info.type == pafs.FileType.File:
                yield info.base_name, (info.size, info.mtime)

    return listed


def sizes_of(io: FileIO, locations: Iterable[str]) -> Iterator[tuple[str, int | None]]:
    """Each location with the bytes that storage has there; None where no file is."""
    with ThreadPoolExecutor(_THREADS) as pool:
        for found in pool.map(lambda batch: _sizes(io, batch), _batches(locations)):
            yield from found


def _sizes(io: FileIO, locations: Sequence[str]) -> list[tuple[str, int | None]]:
    found: list[tuple[str, int | None]] = []
    by_storage: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for location in locations:
        scheme, netloc, path = ExactFileIO.parse_location(location, io.properties)
        by_storage.setdefault((scheme, netloc), []).append((location, path))
    for (scheme, netloc), pairs in by_storage.items():
        infos = arrow(io).fs_by_scheme(scheme, netloc).get_file_info([path for _, path in pairs])
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
    scheme, netloc, path = ExactFileIO.parse_location(location, io.properties)
    return arrow(io).fs_by_scheme(scheme, netloc), path
