"""Listing and removing files of a table: what PyIceberg's FileIO has no words for."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import pyarrow.fs as pafs
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table
from pyiceberg.typedef import EMPTY_DICT, Properties

from coordinator.connectors.iceberg.traced_services import store_call
from coordinator.kernels import azure_store, google_store
from coordinator.kernels.signed_store import ADDRESS, SignedStore
from coordinator.kernels.storage import VendedStorage

_HEAD = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:[^?#]*)([?#].*)", re.DOTALL)


class ExactFileIO(PyArrowFileIO):
    """PyArrowFileIO for names as they are: for PyIceberg's own, ``a.parquet#old`` is the file ``a.parquet``."""

    @staticmethod
    def parse_location(location: str, properties: Properties = EMPTY_DICT) -> tuple[str, str, str]:
        """Scheme, authority and path; ``?`` and ``#`` are letters of a path like any other."""
        if (store := location.partition("://")[0]) in azure_store.SCHEMES:
            return store, *azure_store.azure_place(location)
        found = _HEAD.fullmatch(location)
        if found is None:
            return PyArrowFileIO.parse_location(location, properties)
        head, tail = found.groups()
        scheme, netloc, path = PyArrowFileIO.parse_location(head, properties)
        return scheme, netloc, path + tail

    def delete(self, location: str | InputFile | OutputFile) -> None:
        with store_call("delete", location if isinstance(location, str) else location.location):
            super().delete(location)

    def _initialize_fs(self, scheme: str, netloc: str | None = None) -> pafs.FileSystem:
        """The file systems of Google's and Azure's stores are those of the kernels; ``netloc`` is an account's host."""
        items = tuple(sorted((name, str(value)) for name, value in self.properties.items()))
        if scheme in google_store.SCHEMES:
            return google_store.google_files(items)
        if scheme in azure_store.SCHEMES:
            return azure_store.azure_files(netloc or "", items)
        return super()._initialize_fs(scheme, netloc)

    def _initialize_s3_fs(self, netloc: str | None) -> pafs.FileSystem:
        if ADDRESS in self.properties:
            return pafs.PyFileSystem(SignedStore(self.properties))
        return super()._initialize_s3_fs(netloc)


EXACT_FILE_IO = f"{__name__}.{ExactFileIO.__name__}"


def exact(io: FileIO) -> FileIO:
    """What deletes exactly the file of a name, over the same storage."""
    return ExactFileIO(io.properties) if type(io) is PyArrowFileIO else io


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file under a directory, located the way the directory was."""

    location: str
    modified: datetime | None


class FileIOByLocation(ExactFileIO):
    """One whose file systems differ by what lies where, with the keys of the moment; ``keys`` is for other readers."""

    keys: VendedStorage

    @abstractmethod
    def at(self, location: str) -> ExactFileIO:
        """What opens files at ``location`` and beside it, for now."""


def arrow(io: FileIO, location: str) -> PyArrowFileIO:
    """Arrow's file systems for what ``io`` has at ``location``."""
    if isinstance(io, FileIOByLocation):
        return io.at(location)
    return io if isinstance(io, PyArrowFileIO) else ExactFileIO(io.properties)


def storage_of(table: Table, given: Mapping[str, str]) -> Mapping[str, str]:
    """What opens the files of a table: the keys that its catalog lends, else ``given``, the catalog file's."""
    return table.io.keys if isinstance(table.io, FileIOByLocation) else given


def list_directory(io: FileIO, directory: str) -> list[ListedFile]:
    """The files directly under ``directory``; none when it does not exist."""
    scheme, netloc, path = ExactFileIO.parse_location(directory, io.properties)
    filesystem = arrow(io, directory).fs_by_scheme(scheme, netloc)
    with store_call("list", directory):
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
