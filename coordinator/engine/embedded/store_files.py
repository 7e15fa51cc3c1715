"""Files of object stores as DuckDB reads them: the ranges that it asks for, many at once, by Arrow's file systems.

DuckDB leaves out row groups and columns that a statement does not need, and asks for what is left of a scan before it
decodes it. Ends of files, which have their footers, are kept from statement to statement (``ends``).
"""

from __future__ import annotations

import datetime
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from coordinator.kernels.cache import ENDS, FOOTERS, FileEnd
from coordinator.kernels.errors import KernelError, reading
from coordinator.kernels.fetching import side_by_side
from coordinator.kernels.storage import properties_of, resolve
from coordinator.kernels.tasks import Input

SCHEME = "store"
_PREFIX = f"{SCHEME}://"
_FIRST_END, _LEAST_END = 256 << 10, 32 << 10
"""Bytes of a file's end: asked for first, as footers seldom have more, and those that DuckDB looks at in any case."""
_LENGTH_AND_MAGIC, _MAGIC = 8, b"PAR1"
_PART, _AT_ONCE = 8 << 20, 16
"""Bytes of a request at most, as a connection is slower than a store, and the requests for parts that run at once."""
_MOST_OPEN = 512
"""Files; an open one holds no connection."""
_NEVER = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
"""When data files were changed: they never are under their names."""

Properties = tuple[tuple[str, str], ...]
"""Of a file's storage."""


def database_path(path: str) -> str:
    """What a file of a store is called in SQL."""
    return _PREFIX + path


def without_scheme(message: str) -> str:
    """An error's text, with files by their own names."""
    return message.replace(_PREFIX, "")


@dataclass(frozen=True, slots=True)
class StoreFile:
    """``end`` are its last bytes, among them the whole footer; ``source`` is None where they are all."""

    path: str
    size: int
    end: bytes
    source: pa.NativeFile | None = None
    properties: Properties = field(default=(), repr=False)

    def kept(self, start: int, length: int) -> bytes | None:
        """Bytes that are here already."""
        inside = start - (self.size - len(self.end))
        return self.end[inside : inside + length] if inside >= 0 else None

    def read(self, start: int, length: int) -> bytes:
        """In one request. Raises KernelError."""
        with reading(self.path):
            assert self.source is not None
            try:
                return bytes(self.source.read_at(length, start))
            except OSError:
                _opened_now(self.path, self.properties)  # which tells a file that has gone
                raise


class StoreFiles(fsspec.AbstractFileSystem):
    """The files that one statement may read, for DuckDB's ``register_filesystem``.

    ``count`` learns of bytes read. DuckDB holds what it wants of a whole row group: up to ``most_group_bytes``.
    """

    protocol = SCHEME
    cachable = False

    def __init__(self, count: Callable[[int], None], most_group_bytes: int = sys.maxsize) -> None:
        super().__init__()
        self.most_group_bytes = most_group_bytes
        self.failure: KernelError | None = None
        """The first one: DuckDB tells its text at best."""
        self.files: dict[str, StoreFile] = {}
        self._count = count
        self._pool = ThreadPoolExecutor(_AT_ONCE)

    def add(self, inputs: Sequence[Input], storage: Mapping[str, str]) -> None:
        """Open files, side by side. Raises KernelError."""
        for file in side_by_side(lambda item: _opened(item, storage), inputs, lambda item: item.path):
            self.files[database_path(file.path)] = file

    def open(self, path: str, mode: str = "rb", **_: object) -> StoreHandle:
        """For DuckDB, which opens a file several times."""
        if mode != "rb":
            raise PermissionError(path)
        return StoreHandle(self._file(path), self._read)

    def info(self, path: str, **_: object) -> dict[str, object]:
        """What DuckDB asks for: the size."""
        return {"name": path, "size": self._file(path).size, "type": "file"}

    def glob(self, path: str, **_: object) -> Iterable[str]:
        """The file itself: names are no patterns."""
        self._file(path)
        return [path]

    def modified(self, path: str) -> datetime.datetime:
        """Always the same."""
        self._file(path)
        return _NEVER

    def _file(self, path: str) -> StoreFile:
        if (file := self.files.get(path)) is None:
            raise FileNotFoundError(path)
        return file

    def end_requests(self) -> None:
        """The statement has ended; what it asked for last may still come."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _read(self, file: StoreFile, start: int, length: int) -> bytes:
        length = max(0, min(length, file.size - start))
        if (data := file.kept(start, length)) is not None:
            return data
        try:
            if length <= _PART:
                data = file.read(start, length)
            else:
                parts = [(at, min(_PART, start + length - at)) for at in range(start, start + length, _PART)]
                data = b"".join(self._pool.map(lambda part: file.read(*part), parts))
        except KernelError as error:
            self.failure = self.failure or error
            raise
        self._count(len(data))
        return data


class StoreHandle:
    """A file object. DuckDB moves to a place and reads there in one go, on many threads: each has its own place."""

    def __init__(self, file: StoreFile, read: Callable[[StoreFile, int, int], bytes]) -> None:
        self._file, self._read, self._at = file, read, threading.local()

    def seek(self, offset: int, whence: int = 0) -> int:
        """From the file's begin, from here or from its end."""
        base = (0, self.tell(), self._file.size)[whence]
        self._at.place = base + offset
        return self.tell()

    def tell(self) -> int:
        """Of this thread."""
        return int(getattr(self._at, "place", 0))

    def read(self, length: int = -1) -> bytes:
        """From this thread's place on. Raises KernelError."""
        place = self.tell()
        data = self._read(self._file, place, self._file.size if length < 0 else length)
        self._at.place = place + len(data)
        return data

    def close(self) -> None:
        """The file stays open for the statement."""


def _opened(item: Input, storage: Mapping[str, str]) -> StoreFile:
    with reading(item.path):
        end = ENDS.get(item.path, item.size)
        if end is not None and len(end.data) == end.size:
            return StoreFile(item.path, *end)
        properties = tuple(sorted(properties_of(item.path, storage).items()))
        source = _source(item.path, properties)
        if end is None:
            size = int(source.size())
            end = FileEnd(size, _end(source, size))
            FOOTERS.put(item.path, item.size, pq.read_metadata(pa.BufferReader(end.data)))
            ENDS.put(item.path, item.size, end)
        return StoreFile(item.path, end.size, end.data, source, properties)


@lru_cache(maxsize=_MOST_OPEN)
def _source(path: str, properties: Properties) -> pa.NativeFile:
    """An open file, from statement to statement: to open one is a request of its own."""
    return _opened_now(path, properties)


def _opened_now(path: str, properties: Properties) -> pa.NativeFile:
    filesystem, inner = resolve(path, dict(properties))
    return filesystem.open_input_file(inner)


def _end(source: pa.NativeFile, size: int) -> bytes:
    """The whole file where that is small, else its footer."""
    length = min(size, _FIRST_END)
    end = bytes(source.read_at(length, size - length))
    footer = int.from_bytes(end[-_LENGTH_AND_MAGIC:-4], "little") + _LENGTH_AND_MAGIC
    if end[-4:] != _MAGIC or footer > size:
        raise pa.ArrowInvalid("it does not end as a Parquet file does")
    if footer > length:
        end = bytes(source.read_at(footer, size - footer))
    return end if len(end) == size else end[-max(footer, _LEAST_END) :]
