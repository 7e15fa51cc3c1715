"""How far a statement has come, which its process cannot tell while the database works.

Bytes of the files that the database reads by itself are the system's to count; rows that the kernels read are written
down in a file of a few bytes. DuckDB's own percentage is of the pipelines of a plan, of which most take no time.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import pyarrow as pa

_FORMAT = struct.Struct("<5q")
_NOT_DONE = 99.0
"""Per cent, once everything is read: joins and sorts may go on."""


@dataclass(frozen=True, slots=True)
class ScanProgress:
    """Of one statement: rows that the kernels have read and those of all their files, and what the database reads."""

    kernel_rows: int = 0
    all_kernel_rows: int = 0
    direct_rows: int = 0
    direct_bytes: int = 0
    fetched_bytes: int = 0
    """Read of object stores, which the system does not count."""

    def rows(self, bytes_read: int) -> int:
        """Read so far, when the process has read so many bytes of files on disks."""
        bytes_read += self.fetched_bytes
        share = min(1.0, max(0, bytes_read) / self.direct_bytes) if self.direct_bytes else 1.0
        return self.kernel_rows + int(self.direct_rows * share)

    def percentage(self, bytes_read: int) -> float:
        """The share of all rows that is read."""
        total = self.all_kernel_rows + self.direct_rows
        return min(_NOT_DONE, 100.0 * self.rows(bytes_read) / total) if total else 0.0


def progress_file(scratch: str, pid: int) -> Path:
    """Where the process writes it."""
    return Path(scratch) / f"progress-{pid}"


class Written:
    """The process's end, for one statement."""

    def __init__(self, scratch: str) -> None:
        self._path = progress_file(scratch, os.getpid())
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # whoever has removed it meanwhile
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self._progress, self._lock = ScanProgress(), threading.Lock()

    def begin(self, all_kernel_rows: int, direct_rows: int, direct_bytes: int) -> None:
        """What will be read."""
        self._write(ScanProgress(0, all_kernel_rows, direct_rows, direct_bytes))

    def counted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same batches, whose rows count as read."""
        for batch in batches:
            yield batch
            with self._lock:
                now = self._progress
                self._write(replace(now, kernel_rows=min(now.all_kernel_rows, now.kernel_rows + batch.num_rows)))

    def fetched(self, size: int) -> None:
        """So many bytes more have come from an object store, on any thread."""
        with self._lock:
            self._write(replace(self._progress, fetched_bytes=self._progress.fetched_bytes + size))

    def close(self) -> None:
        """The statement has ended."""
        with self._lock:
            os.close(self._file)
            self._file = -1
        self._path.unlink(missing_ok=True)

    def _write(self, progress: ScanProgress) -> None:
        self._progress = progress
        if self._file >= 0:  # the database may still be reading ahead when its statement has ended
            os.pwrite(self._file, _FORMAT.pack(*astuple(progress)), 0)


def seen(scratch: str, pid: int) -> ScanProgress:
    """The coordinator's end."""
    with contextlib.suppress(OSError, struct.error):
        return ScanProgress(*_FORMAT.unpack(progress_file(scratch, pid).read_bytes()))
    return ScanProgress()


def bytes_read(pid: int) -> int:
    """By a process from files so far; 0 where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/io").read_text(encoding="ascii").split()[1])
    return 0
