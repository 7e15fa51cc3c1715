"""Positions of rows as work for look-ups: each row once, by file, and the way back to every row of the first pass."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Rows = npt.NDArray[np.int64]
_POSITION_BITS = 40


@dataclass(frozen=True, slots=True)
class RowList:
    """``files`` are paths, or row sources that stand for them, with sorted, distinct positions.

    ``place`` is where each row of the first pass is in them.
    It counts through all files; it is NULL where the position was.
    """

    files: list[tuple[Any, Rows]]
    place: pa.Array

    @property
    def count(self) -> int:
        """Distinct rows."""
        return sum(len(rows) for _, rows in self.files)

    def runs(self, long: int) -> list[tuple[bool, RowList]]:
        """Runs of files whose concatenation is ``files``: with True those of more than ``long`` rows."""
        made = itertools.groupby(self.files, lambda file: len(file[1]) > long)
        return [(many, RowList(list(files), self.place)) for many, files in made]

    def split(self, parts: int) -> list[list[tuple[str, Rows]]]:
        """Up to ``parts`` runs of about as many rows each, whose concatenation is ``files``."""
        share = -(-self.count // max(1, parts))
        runs: list[list[tuple[str, Rows]]] = [[]]
        size = 0
        for path, rows in self.files:
            start = 0
            while start < len(rows):
                if size >= share:
                    runs.append([])
                    size = 0
                taken = rows[start : start + share - size]
                runs[-1].append((path, taken))
                size += len(taken)
                start += len(taken)
        return [run for run in runs if run]


def row_list(sources: pa.ChunkedArray, positions: pa.ChunkedArray) -> RowList:
    """The rows at ``positions`` in ``sources`` (chunked arrays of row sources and of row numbers, NULL for no row)."""
    coded = _whole(sources).dictionary_encode()
    codes = pc.fill_null(coded.indices, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    numbers = pc.fill_null(_whole(positions), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    known = pc.and_(pc.is_valid(coded.indices), pc.is_valid(_whole(positions))).to_numpy(zero_copy_only=False)
    keys, inverse = np.unique((codes << _POSITION_BITS | numbers)[known], return_inverse=True)
    place = np.zeros(len(codes), np.int64)
    place[known] = inverse
    paths = coded.dictionary.to_pylist()
    owners, rows = keys >> _POSITION_BITS, keys & ((1 << _POSITION_BITS) - 1)
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    bounds = itertools.pairwise([*starts.tolist(), len(owners)])
    files = [(paths[int(owners[start])], rows[start:end]) for start, end in bounds]
    return RowList(files, pa.array(place, mask=~known))


def _whole(array: pa.ChunkedArray) -> pa.Array:
    combined = array.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined


def gather(parts: Sequence[tuple[RowList, pa.ChunkedArray]], early: object) -> pa.ChunkedArray:
    """One column of the result: each row's value from the look-up that has its position; NULL when none has.

    ``early`` is never given beside look-ups: a column is read early or late.
    """
    assert early is None
    if len(parts) == 1:
        rows, column = parts[0]
        return column.take(rows.place)
    columns = [column.cast(parts[0][1].type) for _, column in parts]
    place = pa.nulls(len(parts[0][0].place), pa.int64())
    before = 0
    for (rows, _), column in zip(parts, columns, strict=True):
        place = pc.coalesce(place, pc.add(rows.place, before))
        before += len(column)
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks]).take(place)
