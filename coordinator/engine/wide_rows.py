"""Fetched rows that are too many bytes to be held: decoded once, in the files' order, and kept on disk.

Each row is then copied from there when its turn in the result comes, a piece of the result at a time. What is in memory
is one portion while files are read, and one piece while the result is given out.
"""

from __future__ import annotations

import errno
import itertools
import mmap
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from coordinator.engine.row_lists import RowList, Rows
from coordinator.kernels import lookup
from coordinator.kernels.ranges import Traffic
from coordinator.kernels.tasks import LookUpTask

MOST_HELD = 64 << 20
"""Bytes of fetched columns: more are kept on disk."""
_MOST_PAGE = 256 << 20
"""Of pages that are decoded at once, which takes more than twice as much; who wrote larger ones has to read them."""
_MOST_KEPT = 4 << 30
_PIECE = 16 << 20
_READING = threading.Semaphore(2)
"""Portions that are decoded at one time, of all queries."""


class TooLargeError(Exception):
    """More than this coordinator takes; the query can run in one pass, where the engine takes a page of ``page``."""

    def __init__(self, message: str, page: int = 0) -> None:
        super().__init__(message)
        self.page = page


@dataclass(frozen=True, slots=True)
class KeptRows:
    """Fetched rows on disk, in the order of their row list; ``starts`` is where each batch begins."""

    batches: tuple[pa.RecordBatch, ...]
    starts: Rows
    width: float
    """Bytes a row."""
    mapped: mmap.mmap

    def take(self, places: pa.Array) -> tuple[pa.Table, pa.Array]:
        """The distinct rows at ``places`` (numbers, NULL for no row) as a table, and each place's number in it."""
        known = places.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
        wanted, inverse = np.unique(known, return_inverse=True)
        owners = np.searchsorted(self.starts, wanted, side="right") - 1
        if not len(wanted):
            return pa.Table.from_batches([], self.batches[0].schema), pa.nulls(len(places), pa.int64())
        parts = [
            self.batches[owner].take(pa.array(wanted[owners == owner] - self.starts[owner]))
            for owner in np.unique(owners).tolist()
        ]
        # What was looked at counts as this process's memory until it is told apart.
        self.mapped.madvise(mmap.MADV_DONTNEED)
        valid = places.is_valid().to_numpy(zero_copy_only=False)
        numbers = np.zeros(len(places), np.int64)
        numbers[valid] = inverse
        return pa.Table.from_batches(parts, self.batches[0].schema), pa.array(numbers, mask=~valid)


def keep_rows(task: LookUpTask, rows: RowList, traffic: Traffic, check_cancelled: Callable[[], None]) -> KeptRows:
    """Read ``rows`` portion by portion onto the disk. Raises KernelError and TooLargeError."""
    found = lookup.portions(lookup.with_rows(task, rows.files), traffic)
    total, page = sum(p.size for p in found), max((p.pages for p in found), default=0)
    if total > _MOST_KEPT or page > _MOST_PAGE:
        raise TooLargeError(f"rows of {total >> 20} MB, on pages of up to {page >> 20} MB", page)
    try:
        with tempfile.NamedTemporaryFile(prefix="procession-rows-") as file:
            counts = _write(file, task, list(_together(found)), traffic, check_cancelled)
            # The mapping keeps the file's space until the last batch is forgotten; its name goes now.
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped)))
            batches = tuple(reader.get_batch(i) for i in range(reader.num_record_batches))
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise TooLargeError(f"no space left for {total >> 20} MB of rows") from error
        raise
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    return KeptRows(batches, starts, len(mapped) / max(1, sum(counts)), mapped)


def _together(found: Sequence[lookup.Portion]) -> Iterator[list[tuple[str, Rows]]]:
    """Portions as work that is decoded at once: neighbours, as long as their pages are few bytes."""
    work: list[tuple[str, Rows]] = []
    size = 0
    for portion in found:
        if work and size + portion.pages > MOST_HELD:
            yield _merged(work)
            work, size = [], 0
        work.append((portion.path, portion.rows))
        size += portion.pages
    if work:
        yield _merged(work)


def _merged(work: Sequence[tuple[str, Rows]]) -> list[tuple[str, Rows]]:
    grouped = itertools.groupby(work, key=lambda part: part[0])
    return [(path, np.concatenate([rows for _, rows in parts])) for path, parts in grouped]


def _write(
    file: Any, task: LookUpTask, work: Sequence[Any], traffic: Traffic, check_cancelled: Callable[[], None]
) -> list[int]:
    counts, writer = [], None
    table: pa.Table | None
    batch: pa.RecordBatch | None
    for files in work:
        check_cancelled()
        with _READING:
            table = lookup.read_rows(lookup.with_rows(task, files), traffic).combine_chunks()
            writer = writer or pa.ipc.new_file(file, table.schema)
            for batch in table.to_batches():
                writer.write_batch(batch)
                counts.append(batch.num_rows)
            table = batch = None
    assert writer is not None, "a list without rows is not kept"
    writer.close()
    file.flush()
    return counts


def pieces(count: int, kept: Sequence[KeptRows]) -> Iterator[tuple[int, int]]:
    """Begin and length of runs of the result's rows that are few bytes each."""
    length = count if not kept else max(1, int(_PIECE / max(1.0, sum(rows.width for rows in kept))))
    return ((start, min(length, count - start)) for start in range(0, count, length))


def piece_of(rows: RowList, found: pa.Table | KeptRows, start: int, length: int) -> tuple[RowList, pa.Table]:
    """The part of a look-up that some rows of the result need."""
    place = rows.place.slice(start, length)
    if isinstance(found, KeptRows):
        found, place = found.take(place)
    return replace(rows, place=place), found
