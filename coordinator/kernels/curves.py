"""Space-filling curves: several columns as one number that keeps rows close which are close in every column.

Columns enter by their rank in a sample, so that each counts alike whatever its type, range or skew.
Sources: Morton (1966); Skilling, "Programming the Hilbert curve" (2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .keys import Values, Words, fixed_words, is_bytes, key_array, ordered
from .sort_tasks import KeyColumn

_MOST_BITS = 16


class Curve:
    """The place of rows on a curve through the ranks of ``columns``."""

    def __init__(
        self, kind: str, sample: Sequence[Values], columns: Sequence[KeyColumn], most_bits: int | None = None
    ) -> None:
        self._kind = kind
        self._ranks = [_Rank(array, column) for array, column in zip(sample, columns, strict=True)]
        total = 64 if most_bits is None else max(len(columns), min(64, most_bits))
        self._bits = max(1, min(_MOST_BITS, total // len(columns)))

    def keys(self, arrays: Sequence[Values]) -> Words:
        """One number a row."""
        axes = [rank.of(array, self._bits) for rank, array in zip(self._ranks, arrays, strict=True)]
        if self._kind == "hilbert" and len(axes) > 1:
            axes = _hilbert(axes, self._bits)
        return interleaved(axes, self._bits)


class _Rank:
    """Ranks of values among those of a sample, equal values sharing one."""

    def __init__(self, sample: Values, column: KeyColumn) -> None:
        self._column = column
        values = key_array(sample, column).drop_null()
        self._bytes = is_bytes(values.type)
        self._sorted: Any = _sorted_bytes(values) if self._bytes else _sorted_words(values)

    def of(self, array: Values, bits: int) -> Words:
        plain = key_array(array, self._column)
        count = len(self._sorted)
        if self._bytes:
            places = _search(self._sorted, plain)
        else:
            places = np.searchsorted(self._sorted, _one_word(plain), "left").astype(np.uint64)
        codes = ordered(places, plain, self._column, count)
        # Halves of the sample fall on halves of the axis, so that the highest bits tell most.
        scaled = codes * np.uint64(1 << bits) // np.uint64(count + 1)
        limited: Words = np.minimum(scaled, np.uint64((1 << bits) - 1))
        return limited


def _one_word(array: pa.Array) -> Words:
    # Of a wide decimal the first word would say little: as a double, ranks are close enough.
    if pa.types.is_decimal(array.type) and array.type.precision > 18:
        return fixed_words(array.cast(pa.float64()))[0]
    return fixed_words(array)[0]


def _sorted_words(values: pa.Array) -> Words:
    return np.sort(_one_word(values))


def _sorted_bytes(values: pa.Array) -> pa.Array:
    return values.take(pc.sort_indices(values))


def _search(values: pa.Array, array: pa.Array) -> Words:
    if len(values) == 0:
        return np.zeros(len(array), np.uint64)
    found = pc.search_sorted(values, pc.fill_null(array, b""))
    return found.to_numpy(zero_copy_only=False).astype(np.uint64)


def interleaved(axes: Sequence[Words], bits: int) -> Words:
    """The bits of all axes in turn, highest first."""
    out = np.zeros(len(axes[0]), np.uint64)
    for bit in range(bits - 1, -1, -1):
        for axis in axes:
            out = (out << np.uint64(1)) | ((axis >> np.uint64(bit)) & np.uint64(1))
    return out


def _hilbert(axes: Sequence[Words], bits: int) -> list[Words]:
    """Skilling's transform from coordinates to the transposed index, for all rows at once."""
    x = [axis.copy() for axis in axes]
    top = 1 << (bits - 1)
    q = top
    while q > 1:
        low = np.uint64(q - 1)
        for i in range(len(x)):
            high = (x[i] & np.uint64(q)) != 0
            swap = (x[0] ^ x[i]) & low
            x[0] = np.where(high, x[0] ^ low, x[0] ^ swap)
            if i:
                x[i] = np.where(high, x[i], x[i] ^ swap)
        q >>= 1
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    turn = np.zeros(len(x[0]), np.uint64)
    q = top
    while q > 1:
        turn = np.where((x[-1] & np.uint64(q)) != 0, turn ^ np.uint64(q - 1), turn)
        q >>= 1
    return [axis ^ turn for axis in x]
