"""What the coordinator and a process of the local engine tell each other.

Each frame begins with eight bytes that say what follows. The process is told pickles, which are ours; it answers in
Arrow and JSON alone, since it computes what users wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

SCHEMA, BATCH, WANTED, END, BROKEN = b"schema  ", b"batch   ", b"wanted  ", b"end     ", b"broken  "
"""Of the rows that follow; some rows; the next rows of the input of this number, please; no more rows, or how the
statement ended, as JSON; the input's stream broke."""
KIND = 8
_PIECE_BYTES = 4 << 20


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


def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Rows may be a megabyte each; who reads a batch has to hold it."""
    rows = max(1, _PIECE_BYTES * batch.num_rows // max(1, batch.nbytes))
    return (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))
