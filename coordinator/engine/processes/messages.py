"""What the coordinator and a process of the local engine tell each other.

Each frame begins with eight bytes that say what follows. The process is told pickles, which are ours; it answers in
Arrow and JSON alone, since it computes what users wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

SCHEMA, BATCH, WANTED, END, BROKEN = b"schema  ", b"batch   ", b"wanted  ", b"end     ", b"broken  "
"""Of the rows that follow; some rows; the next rows of the input of this number, please; no more rows, or how the
statement ended, as JSON; the input's stream broke."""
KIND = 8
_PIECE_BYTES = 4 << 20
_JOINED_BYTES, _JOINED_BATCHES = 2 << 20, 32


@dataclass(frozen=True, slots=True)
class LocalProcessSettings:
    """Of one process: bytes beyond those that it starts with, of which the database has two thirds."""

    memory_bytes: int = 1536 << 20
    threads: int = 1


@dataclass(frozen=True, slots=True)
class LocalStatement:
    """SQL in DuckDB's dialect, over Parquet files by name and streams by name, which have schemas as Arrow writes."""

    sql: str
    files: dict[str, tuple[str, ...]]
    streams: dict[str, bytes]
    profiled: bool = False


def joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches become larger ones: each costs its reader some calls, whatever its size."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _JOINED_BYTES or len(held) >= _JOINED_BATCHES:
            yield held[0] if len(held) == 1 else pa.concat_batches(held)
            held, size = [], 0
    if held:
        yield held[0] if len(held) == 1 else pa.concat_batches(held)


def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Rows may be a megabyte each; who reads a batch has to hold it."""
    rows = max(1, _PIECE_BYTES * batch.num_rows // max(1, batch.nbytes))
    return (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))
