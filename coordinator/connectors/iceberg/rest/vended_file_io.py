"""PyIceberg's FileIO of a table with vended keys: each file by the keys that hold for it at the moment.

Keys may end between the moment in which they are taken and the request that carries them (a slow store, a machine that
slept): what a store refuses is asked for once more with newer keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

from pyiceberg.io import InputFile, InputStream, OutputFile, OutputStream
from pyiceberg.io.pyarrow import PyArrowFile
from pyiceberg.typedef import Properties

from coordinator.connectors.iceberg.storage import ExactFileIO, FileIOByLocation
from coordinator.kernels.storage import VendedStorage, properties_of
from coordinator.kernels.vended import is_refused_by_store

_T = TypeVar("_T")
_KEPT = 8
"""File systems of as many sets of keys; those of keys that were renewed are dropped in time."""


class VendedFileIO(FileIOByLocation):
    """``properties`` hold no key; ``keys`` are asked for every file that is opened, written or deleted."""

    def __init__(self, properties: Properties, keys: VendedStorage) -> None:
        super().__init__(properties)
        self.keys = keys
        self._by_keys = lru_cache(_KEPT)(_file_io)

    def at(self, location: str) -> ExactFileIO:
        """What opens files beside ``location``, for as long as its keys hold."""
        return self.by(self.keys.current(), location)

    def by(self, keys: Mapping[str, str], location: str) -> ExactFileIO:
        """What opens files beside ``location`` with ``keys``."""
        return self._by_keys(tuple(sorted(properties_of(location, keys).items())))

    def new_input(self, location: str) -> PyArrowFile:
        return VendedFile(self, location)

    def new_output(self, location: str) -> PyArrowFile:
        return VendedFile(self, location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        place = location if isinstance(location, str) else location.location
        once_more(self.keys, lambda keys: self.by(keys, place).delete(place))


class VendedFile(PyArrowFile):
    """A file that is opened with newer keys when a store refuses those that it has."""

    def __init__(self, io: VendedFileIO, location: str) -> None:
        self._io = io
        file = io.at(location).new_input(location)
        super().__init__(file.location, file._path, file._filesystem, file._buffer_size)

    def __len__(self) -> int:
        return self._asked(super().__len__)

    def exists(self) -> bool:
        return self._asked(super().exists)

    def open(self, seekable: bool = True) -> InputStream:
        opening = super().open
        return self._asked(lambda: opening(seekable))

    def create(self, overwrite: bool = False) -> OutputStream:
        opening = super().create
        return self._asked(lambda: opening(overwrite))

    def to_input_file(self) -> PyArrowFile:
        return VendedFile(self._io, self.location)

    def _asked(self, request: Callable[[], _T]) -> _T:
        def by(keys: Mapping[str, str]) -> _T:
            self._filesystem = self._io.by(keys, self.location).new_input(self.location)._filesystem
            return request()

        return once_more(self._io.keys, by)


def once_more(keys: VendedStorage, request: Callable[[Mapping[str, str]], _T]) -> _T:
    """What ``request`` gives with the keys of the moment, or with newer ones when a store refuses those.

    Raises ``OSError`` as the request does when there are no newer keys, or when those are refused too.
    """
    sent = keys.current()
    try:
        return request(sent)
    except OSError as error:
        newer = keys.renewed_after(sent) if is_refused_by_store(str(error)) else sent
        if newer == sent:
            raise
    return request(newer)


def _file_io(items: tuple[tuple[str, str], ...]) -> ExactFileIO:
    return ExactFileIO(dict(items))
