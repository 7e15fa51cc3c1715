"""Rows that deletes of any kind take out of files that DuckDB reads, by their place in the file.

They are marked as bits, of which each part of a file has a row that DuckDB finds by an array. An anti join with the
deleted places costs as much as these are many, and DuckDB orders no joins across it: with one row in a thousand of
lineitem deleted TPC-H's q09 took 11.1 s of CPU time, and takes 0.55 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from coordinator.engine.embedded.sql_text import identifier
from coordinator.kernels.cache import Bits
from coordinator.kernels.deletes import Positions, read_positions
from coordinator.kernels.equality_rows import bits_taken_out
from coordinator.kernels.file_scan import FileScan
from coordinator.kernels.row_groups_needed import footer_of
from coordinator.kernels.storage import normalize
from coordinator.kernels.tasks import Input

FILE, ROW = "file_index", "file_row_number"
"""Columns that DuckDB itself adds to files."""
_PART_BITS = 16
"""Each part has two to the power of so many rows."""


class RowDeletes(NamedTuple):
    """``clause`` follows a ``read_parquet`` that is called ``stored``, after ``make`` over ``rows`` under this name."""

    name: str
    rows: pa.Table
    make: str
    clause: str


def row_deletes(scan: FileScan, files: Sequence[Input], name: str, threads: int = 1) -> RowDeletes:
    """How the deleted rows of ``files`` leave, by tables called ``name`` and what begins so. Raises KernelError."""
    parts = [-(-int(footer_of(item, scan.task.storage).num_rows) >> _PART_BITS) for item in files]
    first = [int(start) for start in np.cumsum([0, *parts[:-1]])]
    equal = bits_taken_out(scan.task, files, threads)
    marked = map(_bits, _positions(scan, files), equal, parts)
    bits = pa.array([part.tobytes() for file in marked for part in file], pa.binary())
    rows = pa.table([pa.array(range(sum(parts)), pa.int64()), bits], names=["part", "bits"])
    table, given = identifier(name), identifier(f"{name}_bytes")
    make = f"CREATE TEMP TABLE {table} AS SELECT part, CAST(bits AS BIT) AS bits FROM {given}"  # noqa: S608 - quoted
    part = f"({first})[CAST(stored.{FILE} AS BIGINT) + 1] + (stored.{ROW} >> {_PART_BITS})"
    place = f"CAST(stored.{ROW} & {(1 << _PART_BITS) - 1} AS INTEGER)"
    clause = f"JOIN {table} AS deleted ON deleted.part = {part} WHERE get_bit(deleted.bits, {place}) = 0"
    return RowDeletes(f"{name}_bytes", rows, make, clause)


def _positions(scan: FileScan, files: Sequence[Input]) -> list[Positions]:
    """The deleted rows of each file, sorted."""
    known = read_positions(scan.task.position_deletes, {normalize(item.path) for item in files}, scan.task.storage)
    result = []
    for item in files:
        path = normalize(item.path)
        parts = [known[i][path] for i in item.positions if path in known[i]]
        result.append(np.unique(np.concatenate([np.zeros(0, np.int64), *parts])) if len(parts) != 1 else parts[0])
    return result


def _bits(rows: Positions, equal: Bits, parts: int) -> Bits:
    """One row of bytes a part. Places outside of the file, which delete nothing, are left out."""
    marked = np.zeros(parts << _PART_BITS, np.bool_)
    first, end = np.searchsorted(rows, (0, len(marked)))
    marked[rows[first:end]] = True
    bits = np.packbits(marked)
    bits[: len(equal)] |= equal
    return bits.reshape(parts, (1 << _PART_BITS) // 8)
