"""Every file under a location as a stream: on local disks in constant memory, elsewhere some directories at a time."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.fs as pafs
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from coordinator.connectors.iceberg.paths import local_path
from coordinator.connectors.iceberg.storage import ExactFileIO, arrow
from coordinator.kernels import google_store

_AT_ONCE = 1000
_THREADS = 8
_TREE = {pafs.FileType.File, pafs.FileType.Directory}


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
    base, local = location.rstrip("/"), local_path(location)
    if local is None and (found_at_once := _listed_at_once(io, location)) is not None:
        for inside, name, size, modified in found_at_once:
            if not any(map(hidden, (*inside.split("/"), name))):
                yield FoundFile(f"{base}/{inside}{name}", size, modified)
        return
    waiting = [""]
    for inside, found in _scanned(local, waiting) if local is not None else _listed(io, location, waiting):
        for name, file in found:
            if hidden(name):
                continue
            if file is None:
                waiting.append(f"{inside}/{name}")
            else:
                yield FoundFile(f"{base}{inside}/{name}", *file)


_Listing = Iterable[tuple[str, tuple[int, datetime | None] | None]]
"""Names in a directory: a file's size and time, None for a directory."""


def _scanned(root: str, waiting: list[str]) -> Iterator[tuple[str, _Listing]]:
    """Each directory of ``waiting``, which grows meanwhile, on a disk of this machine."""

    def scan(inside: str) -> _Listing:
        try:
            entries = os.scandir(Path(f"{root.rstrip('/')}{inside}"))
        except FileNotFoundError:
            return
        with entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield entry.name, None
                    continue
                with suppress(FileNotFoundError):  # somebody removed it since
                    if entry.is_file() and not (entry.is_symlink() and _leads_out(entry.path, root)):
                        status = entry.stat()
                        yield entry.name, (status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))

    while waiting:
        inside = waiting.pop()
        yield inside, scan(inside)


def _leads_out(link: str, root: str) -> bool:
    return not Path(os.path.realpath(link)).is_relative_to(os.path.realpath(root))


def _listed(io: FileIO, location: str, waiting: list[str]) -> Iterator[tuple[str, _Listing]]:
    """As ``_scanned`` in a store, where each directory is a request or more: some of them side by side."""

    def listed(inside: str) -> _Listing:
        filesystem, root = _filesystem(io, location)  # each time: keys may be renewed meanwhile
        selector = pafs.FileSelector(f"{root.rstrip('/')}{inside}", allow_not_found=True)
        found = filesystem.get_file_info(selector)
        return [(i.base_name, (i.size or 0, i.mtime) if i.is_file else None) for i in found if i.type in _TREE]

    running: deque[tuple[str, Future[_Listing]]] = deque()
    with ThreadPoolExecutor(_THREADS) as pool:
        while waiting or running:
            while waiting and len(running) < 2 * _THREADS:
                inside = waiting.pop()
                running.append((inside, pool.submit(listed, inside)))
            inside, future = running.popleft()
            yield inside, future.result()


def _listed_at_once(io: FileIO, location: str) -> Iterator[tuple[str, str, int, datetime | None]] | None:
    """Folder, name, size and time of all files; None of stores where folders can be listed one by one.

    Google's store knows folders by their files alone, and Arrow lists of a folder's own only what is no other folder.
    """
    if location.partition("://")[0] not in google_store.SCHEMES:
        return None
    filesystem, root = _filesystem(io, location)
    top = root.rstrip("/") + "/"
    found = filesystem.get_file_info(pafs.FileSelector(top.rstrip("/"), allow_not_found=True, recursive=True))
    names = ((info, info.path.removeprefix(top).rpartition("/")) for info in found if info.is_file)
    return ((folder + slash, name, info.size or 0, info.mtime) for info, (folder, slash, name) in names)


def sizes_of(io: FileIO, locations: Iterable[str]) -> Iterator[tuple[str, int | None]]:
    """Each location with the bytes that storage has there; None where no file is."""
    with ThreadPoolExecutor(_THREADS) as pool:
        for found in pool.map(lambda batch: _sizes(io, batch), _batches(locations)):
            yield from found


def _sizes(io: FileIO, locations: Sequence[str]) -> list[tuple[str, int | None]]:
    found: list[tuple[str, int | None]] = []
    by_storage: dict[tuple[PyArrowFileIO, str, str], list[tuple[str, str]]] = {}
    for location in locations:
        scheme, netloc, path = ExactFileIO.parse_location(location, io.properties)
        by_storage.setdefault((arrow(io, location), scheme, netloc), []).append((location, path))
    for (of, scheme, netloc), pairs in by_storage.items():
        infos = of.fs_by_scheme(scheme, netloc).get_file_info([path for _, path in pairs])
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
    return arrow(io, location).fs_by_scheme(scheme, netloc), path
