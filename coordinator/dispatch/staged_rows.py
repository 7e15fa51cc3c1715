"""Rows that a client sends, in a Parquet file on this machine until its statement has ended.

The file lies among those of results that wait for clients and counts as they do: no stream fills a disk that others
need. Memory holds one row group of it, however long the stream is.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from coordinator.dispatch.result_space import ResultSpace
from coordinator.engine.execution import Execution, QueryProgress, StagedRows
from shared.errors import ErrorCode, ProcessionError

_GROUP_BYTES = 32 << 20
_GROUP_ROWS = 1 << 20


@contextmanager
def staged_rows(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    space: ResultSpace,
    execution: Execution,
    most_bytes: int | None = None,
) -> Iterator[StagedRows]:
    """All rows of ``batches``. Raises what they raise, and ProcessionError: no room, or more than ``most_bytes``."""
    path = _new_path(space)
    written = _Written(space, most_bytes)
    try:
        with _opened(path) as file, _writer(file, schema) as writer:
            rows = 0
            for group in _groups(batches):
                execution.check_cancelled()
                written.check_disk(group.nbytes)
                writer.write_table(group, row_group_size=_GROUP_ROWS)
                written.grown_to(file.tell())
                rows += group.num_rows
                execution.report_progress(_progress(rows, written.size, "receiving rows"))
        execution.report_progress(_progress(rows, written.size, "writing rows"))
        yield StagedRows((str(path),), path.stat().st_size)
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        written.free()


def _writer(file: BinaryIO, schema: pa.Schema) -> pq.ParquetWriter:
    """For one reader that reads all: what it would skip rows by, and dictionaries, cost half of the time."""
    return pq.ParquetWriter(
        file, schema, compression="snappy", use_dictionary=False, write_statistics=False, store_schema=False
    )


def _progress(rows: int, size: int, phase: str) -> QueryProgress:
    return QueryProgress(processed_rows=rows, processed_bytes=size, phase=phase)


class _Written:
    """Bytes of one file, as the space of all counts them. Raises ProcessionError for those that have no room."""

    def __init__(self, space: ResultSpace, most_bytes: int | None) -> None:
        self._space, self._most, self.size = space, most_bytes, 0

    def check_disk(self, more: int) -> None:
        if not self._space.disk_has_room(more):
            raise _no_room("the disk of node.data-dir is nearly full")

    def grown_to(self, size: int) -> None:
        if self._most is not None and size > self._most:
            message = f"Spark runs elsewhere and sees no files of this machine: rows take at most {self._most >> 20} MB"
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
        if not self._space.reserve("files", size - self.size):
            raise _no_room("query.max-total-stored-bytes are reached")
        self.size = size

    def free(self) -> None:
        self._space.free("files", self.size)
        self.size = 0


def _no_room(reason: str) -> ProcessionError:
    message = f"No room for the rows that the client sends: {reason}"
    return ProcessionError(ErrorCode.GENERIC_INSUFFICIENT_RESOURCES, message)


def _new_path(space: ResultSpace) -> Path:
    if space.folder is None:
        raise _no_room("there is no folder for them")
    space.folder.mkdir(parents=True, exist_ok=True)
    return space.folder / f"sent-{uuid.uuid4().hex}.parquet"


def _opened(path: Path) -> BinaryIO:
    """For the owner of the process alone."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb")


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches together, or parts of one, of as many bytes as a row group holds in memory."""
    held: list[pa.RecordBatch] = []
    size = rows = 0
    for batch in batches:
        for part in _parts(batch):
            held.append(part)
            size, rows = size + part.nbytes, rows + part.num_rows
            if size >= _GROUP_BYTES or rows >= _GROUP_ROWS:
                yield pa.Table.from_batches(held)
                held, size, rows = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def _parts(batch: pa.RecordBatch) -> Sequence[pa.RecordBatch]:
    count = max(-(-batch.nbytes // _GROUP_BYTES), -(-batch.num_rows // _GROUP_ROWS), 1)
    length = -(-batch.num_rows // count)
    return [batch.slice(start, length) for start in range(0, batch.num_rows, length)] if batch.num_rows else []
