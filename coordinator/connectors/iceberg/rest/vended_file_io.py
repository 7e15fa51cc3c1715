"""PyIceberg's FileIO of a table with vended keys: each file by the keys that hold for it at the moment."""

from __future__ import annotations

from functools import lru_cache

from pyiceberg.io import InputFile, OutputFile
from pyiceberg.io.pyarrow import PyArrowFile
from pyiceberg.typedef import Properties

from coordinator.connectors.iceberg.storage import ExactFileIO, FileIOByLocation
from coordinator.kernels.storage import VendedStorage, properties_of

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
        return self._by_keys(tuple(sorted(properties_of(location, self.keys).items())))

    def new_input(self, location: str) -> PyArrowFile:
        return self.at(location).new_input(location)

    def new_output(self, location: str) -> PyArrowFile:
        return self.at(location).new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        place = location if isinstance(location, str) else location.location
        self.at(place).delete(place)


def _file_io(items: tuple[tuple[str, str], ...]) -> ExactFileIO:
    return ExactFileIO(dict(items))
