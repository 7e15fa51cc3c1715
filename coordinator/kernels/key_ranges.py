"""Ranges of a sort key with about equal numbers of rows, from a sample; the same for every task that has the sample."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .curves import Curve
from .keys import Composite, Values, Words
from .sort_tasks import KeyColumn, RowOrder


@dataclass(frozen=True, slots=True)
class Cuts:
    """Range ``i`` holds the rows from ``starts[i - 1]`` up to ``starts[i]``; ``single`` ones have equal keys alone."""

    starts: Words
    single: frozenset[int]

    @property
    def count(self) -> int:
        return len(self.starts) + 1


def cut(sampled: Words, ranges: int) -> Cuts:
    """Cuts between about ``ranges`` ranges; a key that would fill a whole one gets a range of its own."""
    ordered = np.sort(sampled)
    if len(ordered) == 0 or ranges < 2:
        return Cuts(np.zeros(0, np.uint64), frozenset())
    chosen = ordered[[len(ordered) * i // ranges for i in range(1, ranges)]]
    heavy = chosen[:-1][chosen[1:] == chosen[:-1]]
    starts = np.unique(np.concatenate([chosen, heavy, heavy + np.uint64(1)]))
    single = {int(i) + 1 for i in np.searchsorted(starts, np.unique(heavy))}
    return Cuts(starts, frozenset(single))


class Ranges:
    """Assigns rows to ranges by their key columns, and gives the key itself when that is a place on a curve."""

    def __init__(self, order: RowOrder, sample: Sequence[Values], ranges: int) -> None:
        self.columns: list[KeyColumn] = order.columns
        self.curve: Curve | None = None
        if order.curve:
            self.curve = Curve(order.curve, sample, self.columns, order.bits)
            sampled = self.curve.keys(sample) if sample else np.zeros(0, np.uint64)
        else:
            self._composite = Composite(sample, self.columns)
            sampled = self._composite.sampled
        self.cuts = cut(sampled, ranges)

    def of(self, arrays: Sequence[Values]) -> tuple[npt.NDArray[np.int64], Words | None]:
        """The range of each row, and its place on the curve if there is one."""
        keys = self.curve.keys(arrays) if self.curve is not None else self._composite.codes(arrays)
        found = np.searchsorted(self.cuts.starts, keys, "right")
        return found, keys if self.curve is not None else None


def packed(table: pa.Table) -> str:
    """A small table as text."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def unpacked(texts: Sequence[str]) -> list[pa.ChunkedArray]:
    """The columns of several packed tables of one schema, one below the other."""
    tables = [pa.ipc.open_stream(base64.b64decode(text)).read_all() for text in texts]
    whole = pa.concat_tables(tables).combine_chunks()
    return [whole.column(i) for i in range(whole.num_columns)]
