"""Sketch-Flip-Merge summaries: distinct values with differential privacy, with Presto's bytes.

Source: Hehir, Ting, Cormode, "Sketch-Flip-Merge: Mergeable Sketches for Private Distinct Counting" (2023), theorem
4.8 and section 4, and Presto's SfmSketch for the layout: a tag, the bits of an index, the levels, the probability of
a flipped bit, and the bits level by level without the zeros at their end.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...types import Type
from ..bounds import VALUE_BYTES
from ..column_folds import ColumnFold, known_rows
from ..failures import check, invalid
from ..table import Table, plain
from .hyperloglog_functions import check_xx_hashed
from .value_hashes import Hashes, xx_hashes

_HEAD = struct.Struct("<biidi")
_TAG = 7
_BUCKETS, _LEVELS = 4096, 24
_WORD = 64
_MOST_STEPS, _CLOSE = 1000, 0.1
_LARGEST = (1 << 63) - 1
Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sfm:
    """A row of bits for each level, a column for each bucket; each was flipped with the probability ``flipped``."""

    bits: Bits
    flipped: float = 0.0

    @property
    def levels(self) -> int:
        """Runs of zeros that are told apart."""
        return int(self.bits.shape[0])

    @property
    def buckets(self) -> int:
        """A power of two."""
        return int(self.bits.shape[1])


def to_bytes(sketch: Sfm) -> bytes:
    """Presto's form of a sketch."""
    packed = np.packbits(sketch.bits.reshape(-1), bitorder="little").tobytes().rstrip(b"\0")
    index_bits = sketch.buckets.bit_length() - 1
    return _HEAD.pack(_TAG, index_bits, sketch.levels, sketch.flipped, len(packed)) + packed


def from_bytes(data: bytes) -> Sfm:
    """Raises INVALID_FUNCTION_ARGUMENT for bytes that are no sketch."""
    if len(data) < _HEAD.size or data[0] != _TAG:
        raise invalid("Wrong format tag")
    _, index_bits, levels, flipped, size = _HEAD.unpack_from(data)
    if not (1 <= index_bits <= 32 and 0 < levels <= _WORD and 0 <= flipped <= 0.5 and size >= 0):
        raise invalid("Not an SfmSketch")
    count = _size(1 << index_bits, levels)
    packed = np.frombuffer(data, np.uint8)[_HEAD.size : _HEAD.size + size]
    if len(packed) != size or size * 8 > count + 7:
        raise invalid("Not an SfmSketch")
    bits = np.zeros(count, bool)
    found = np.unpackbits(packed, bitorder="little")[:count]
    bits[: len(found)] = found
    return Sfm(bits.reshape(levels, -1), flipped)


def _size(buckets: int, levels: int) -> int:
    check(buckets * levels <= 8 * VALUE_BYTES, f"An SfmSketch of {buckets} buckets and {levels} levels is too large")
    return buckets * levels


def _empty(epsilon: float, buckets: int, levels: int) -> Bits:
    check(epsilon > 0, "epsilon must be positive")
    check(buckets > 0 and buckets & (buckets - 1) == 0, "numberOfBuckets must be a power of 2")
    check(levels > 0 and levels % 8 == 0, "precision must be a multiple of 8")
    check(buckets > 1, "indexBitLength is out of range")
    check(levels + buckets.bit_length() - 1 <= _WORD, f"precision + indexBitLength cannot exceed {_WORD}")
    return np.zeros(_size(buckets, levels), bool).reshape(levels, buckets)


def _chances(count: int) -> npt.NDArray[np.float64]:
    """Numbers from 0 to 1 that nobody can guess."""
    words = np.frombuffer(os.urandom(8 * count), np.uint64) >> np.uint64(11)
    return words.astype(np.float64) * np.float64(2.0**-53)


def _private(bits: Bits, epsilon: float) -> Sfm:
    """Lemma 4.7: each bit is flipped with the same probability."""
    flipped = 0.0 if epsilon == math.inf else 1 / (math.exp(min(epsilon, 700.0)) + 1)
    return Sfm(bits ^ (_chances(bits.size) < flipped).reshape(bits.shape), flipped)


def _merged(a: Sfm, b: Sfm) -> Sfm:
    """Theorem 4.8: the union, with the noise of both."""
    texts = "cannot merge two SFM sketches with different"
    check(a.levels == b.levels, f"{texts} precision: {a.levels} vs. {b.levels}")
    lengths = [s.buckets.bit_length() - 1 for s in (a, b)]
    check(a.buckets == b.buckets, f"{texts} indexBitLength: {lengths[0]} vs. {lengths[1]}")
    if not a.flipped and not b.flipped:
        return Sfm(a.bits | b.bits)
    p, q = a.flipped, b.flipped
    flipped = (p + q - 3 * p * q) / (1 - 2 * p * q)
    if flipped >= 0.5:
        return Sfm((_chances(a.bits.size) < 0.5).reshape(a.bits.shape), 0.5)
    scale = (1 - 2 * flipped) / ((1 - 2 * p) * (1 - 2 * q))
    chance = 1 - flipped - scale * (1 - p - a.bits) * (1 - q - b.bits)
    return Sfm(_chances(a.bits.size).reshape(a.bits.shape) < chance, flipped)


def cardinality(data: bytes) -> int:
    """The number of values of the greatest pseudo-likelihood, by Newton's method from 1."""
    sketch = from_bytes(data)
    on = sketch.bits.sum(axis=1).astype(float)
    log, guess, change = np.log1p(-(0.5 ** np.arange(1, sketch.levels + 1)) / sketch.buckets), 1.0, math.inf
    kept, spread = 1 - sketch.flipped, 1 - 2 * sketch.flipped
    with np.errstate(all="ignore"):
        for _ in range(_MOST_STEPS):
            if not abs(change) > _CLOSE:
                break
            unseen = spread * np.exp(log * guess)
            first = second = 0.0
            for sign, base, count in ((-1, kept, on), (1, 1 - kept, sketch.buckets - on)):
                whole = base + sign * unseen
                first += _sum(count, log * (1 - base / whole))
                second += _sum(count, sign * base * log**2 * unseen / whole**2)
            change = float(-np.float64(first) / np.float64(second))
            guess += change
    return 0 if math.isnan(guess) or guess < 0 else min(_LARGEST, math.floor(min(guess, 2.0**63) + 0.5))


def _sum(counts: npt.NDArray[np.float64], terms: npt.NDArray[np.float64]) -> float:
    return float(np.where(counts > 0, counts * terms, 0.0).sum())


def _merge_all(parts: Iterable[bytes | None]) -> bytes | None:
    made: Sfm | None = None
    for data in parts:
        if data is not None:
            made = from_bytes(data) if made is None else _merged(made, from_bytes(data))
    return None if made is None else to_bytes(made)


def merge_sfms(_: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    """The aggregate ``merge``."""
    return _merge_all(columns[0].to_pylist())


def _noisy_empty(epsilon: float, buckets: int = _BUCKETS, levels: int = _LEVELS) -> bytes:
    return to_bytes(_private(_empty(epsilon, buckets, levels), epsilon))


def _parameters(columns: list[pa.Array]) -> tuple[float, int, int]:
    """Those of the first row; later ones are ignored."""
    epsilon, *sizes = (column[0].as_py() for column in columns)
    return epsilon, sizes[0] if sizes else _BUCKETS, sizes[1] if len(sizes) > 1 else _LEVELS


def _of_hashes(hashes: Hashes, columns: list[pa.Array]) -> Sfm:
    epsilon, buckets, levels = _parameters(columns)
    bits, index_bits = _empty(epsilon, buckets, levels), np.uint64(buckets.bit_length() - 1)
    index = (hashes >> (np.uint64(_WORD) - index_bits)).astype(np.int64)
    ended = hashes | np.uint64(1) << (np.uint64(_WORD) - index_bits)
    lowest = ended & (~ended + np.uint64(1))
    zeros = np.log2(lowest.astype(np.float64)).astype(np.int64)
    bits[np.minimum(levels - 1, zeros), index] = True
    return _private(bits, epsilon)


def _noisy(show: Callable[[bytes], object]) -> ColumnFold:
    def fold(types: tuple[Type, ...], columns: list[pa.Array]) -> object:
        check_xx_hashed(types[0])
        known = known_rows(columns)
        return show(to_bytes(_of_hashes(xx_hashes(known[0], types[0]), known[1:]))) if len(known[0]) else None

    return fold


def _of_places(_: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    known = known_rows(columns)
    if not len(known[0]):
        return None
    epsilon, buckets, levels = _parameters(known[2:])
    bits = _empty(epsilon, buckets, levels)
    for index, zeros in zip(known[0].to_pylist(), known[1].to_pylist(), strict=True):
        most = f"the number of buckets-1 {buckets - 1}"
        check(0 <= index < buckets, f"index {index} must be between zero (inclusive) and {most}")
        check(0 <= zeros <= _WORD, f"zeros {zeros} must be between 0 and 64")
        bits[min(levels - 1, zeros), index] = True
    return to_bytes(_private(bits, epsilon))


SFMS: Table = plain(merge_sfm=_merge_all, noisy_empty_approx_set_sfm=_noisy_empty)
SFM_FOLDS: dict[str, ColumnFold] = {
    "noisy_approx_set_sfm": _noisy(lambda data: data), "noisy_approx_distinct_sfm": _noisy(cardinality),
    "noisy_approx_set_sfm_from_index_and_zeros": _of_places,
}  # fmt: skip
