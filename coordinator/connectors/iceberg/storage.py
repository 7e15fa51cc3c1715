"""Listing and removing files of a table: what PyIceberg's FileIO has no words for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import pyarrow.fs as pafs
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file under a directory, located the way the directory was."""

    location: str
    modified: datetime | None


def list_directory(io: FileIO, directory: str) -> list[ListedFile]:
    """The files directly under ``directory``; none when it does not exist."""
    arrow = io if isinstance(io, PyArrowFileIO) else PyArrowFileIO(io.properties)
    scheme, netloc, path = PyArrowFileIO.parse_location(directory, io.properties)
    filesystem = arrow.fs_by_scheme(scheme, netloc)
    found = filesystem.get_file_info(pafs.FileSelector(path, allow_not_found=True))
    base = directory.rstrip("/")
    return [ListedFile(f"{base}/{i.base_name}", i.mtime) for i in found if i.type == pafs.FileType.File]


def delete_files(io: FileIO, locations: Iterable[str]) -> None:
    """Delete files; those that are gone already are fine."""
    for location in locations:
        try:
            io.delete(location)
        except FileNotFoundError:
            continue
