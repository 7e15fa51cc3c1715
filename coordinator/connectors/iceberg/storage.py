"""Listing and removing files of a table: what PyIceberg's FileIO has no words for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import pyarrow.fs as pafs
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import EMPTY_DICT, Properties

_HEAD = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:[^?#]*)([?#].*)", re.DOTALL)


class ExactFileIO(PyArrowFileIO):
    """PyArrowFileIO for names as they are: for PyIceberg's own, ``a.parquet#old`` is the file ``a.parquet``."""

    @staticmethod
    def parse_location(location: str, properties: Properties = EMPTY_DICT) -> tuple[str, str, str]:
        """Scheme, authority and path; ``?`` and ``#`` are letters of a path like any other."""
        found = _HEAD.fullmatch(location)
        if found is None:
            return PyArrowFileIO.parse_location(location, properties)
        head, tail = found.groups()
        scheme, netloc, path = PyArrowFileIO.parse_location(head, properties)
        return scheme, netloc, path + tail


EXACT_FILE_IO = f"{__name__}.{ExactFileIO.__name__}"


def exact(io: FileIO) -> FileIO:
    """What deletes exactly the file of a name, over the same storage."""
    return ExactFileIO(io.properties) if type(io) is PyArrowFileIO else io


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file under a directory, located the way the directory was."""

    location: str
    modified: datetime | None


def arrow(io: FileIO) -> PyArrowFileIO:
    """Arrow's file systems for the storage of ``io``."""
    return io if isinstance(io, PyArrowFileIO) else ExactFileIO(io.properties)


def list_directory(io: FileIO, directory: str) -> list[ListedFile]:
    """The files directly under ``directory``; none when it does not exist."""
    scheme, netloc, path = ExactFileIO.parse_location(directory, io.properties)
    filesystem = arrow(io).fs_by_scheme(scheme, netloc)
    found = filesystem.get_file_info(pafs.FileSelector(path, allow_not_found=True))
    base = directory.rstrip("/")
    return [ListedFile(f"{base}/{i.base_name}", i.mtime) for i in found if i.type == pafs.FileType.File]


def delete_files(io: FileIO, locations: Iterable[str]) -> None:
    """Delete files; those that are gone already are fine."""
    deleting = exact(io)
    for location in locations:
        try:
            deleting.delete(location)
        except FileNotFoundError:
            continue
