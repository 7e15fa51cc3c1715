"""HyperLogLog with the bytes and the estimates of airlift's, which Presto stores: sparse (tag 2) and dense (tag 3).

Sparse: the top 26 bits of each hash with the count of zeros behind them. Dense: the largest rank of each bucket.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import KernelError
from ..failures import check
from ..shown import shown
from .bias import corrected

PREFIX_BITS = 26
_VALUE_BITS = 6
_SMALLEST, _LARGEST = 0.0040625, 0.26
_SPARSE, _DENSE, _OLD_DENSE, _OLD_SPARSE = 2, 3, 1, 0
_MOST_BITS = 16
_DELTA = 15
APPROX_SET_ERROR, APPROX_DISTINCT_ERROR = 0.01625, 0.023


@dataclass(frozen=True, slots=True)
class HyperLogLog:
    """``entries`` of a sparse one (prefix and zeros, four bytes), ``ranks`` by bucket of a dense one."""

    bits: int
    entries: npt.NDArray[np.uint32] | None = None
    ranks: npt.NDArray[np.uint8] | None = None

    def to_bytes(self) -> bytes:
        """As Presto stores it."""
        if self.entries is not None:
            return struct.pack("<BBh", _SPARSE, self.bits, len(self.entries)) + self.entries.astype("<u4").tobytes()
        assert self.ranks is not None
        baseline = int(self.ranks.min())
        deltas = self.ranks - np.uint8(baseline)
        capped = np.minimum(deltas, _DELTA).astype(np.uint8)
        nibbles = (capped[::2] << 4) | capped[1::2]
        over = np.flatnonzero(deltas > _DELTA)
        return b"".join(
            (struct.pack("<BBB", _DENSE, self.bits, baseline), nibbles.tobytes(), struct.pack("<H", len(over)),
             over.astype("<u2").tobytes(), (deltas[over] - _DELTA).astype(np.uint8).tobytes())
        )  # fmt: skip

    def cardinality(self) -> int:
        """The estimate."""
        if self.entries is not None:
            buckets = 1 << PREFIX_BITS
            return _rounded(buckets * math.log(buckets / (buckets - len(self.entries))))
        assert self.ranks is not None
        buckets = 1 << self.bits
        empty = int(np.count_nonzero(self.ranks == 0))
        if empty > 0.4 * buckets:
            return _rounded(buckets * math.log(buckets / empty))
        # Powers of two add up exactly, in any order.
        total = float(np.ldexp(1.0, -self.ranks.astype(np.int32)).sum())
        return _rounded(corrected(_alpha(self.bits) * buckets * buckets / total, self.bits))


def bits_of(error: float) -> int:
    """The number of bits that choose a bucket, for a largest standard error; raises INVALID_FUNCTION_ARGUMENT."""
    inside = _SMALLEST <= error <= _LARGEST
    check(inside, f"Max standard error must be in [{_SMALLEST}, {_LARGEST}]: {shown(error)}")
    return (math.ceil(1.0816 / (error * error)) - 1).bit_length()


def of_hashes(hashes: npt.NDArray[np.uint64], bits: int) -> HyperLogLog:
    """The sketch of what was inserted, dense as soon as Presto's array for the sparse one would be larger."""
    below = np.uint64(64 - bits)
    zeros = 64 - _bit_lengths((hashes << np.uint64(bits)) | np.uint64(1 << (bits - 1)))
    ranks = np.zeros(1 << bits, np.uint8)
    np.maximum.at(ranks, (hashes >> below).astype(np.int64), (zeros + 1).astype(np.uint8))
    if not _grown_past(int(np.count_nonzero(ranks)), bits):
        lower = (hashes << np.uint64(PREFIX_BITS)) | np.uint64(1 << (PREFIX_BITS - 1))
        values = 64 - _bit_lengths(lower)
        prefixes = (hashes >> np.uint64(64 - PREFIX_BITS)) << np.uint64(_VALUE_BITS)
        entries = _largest(np.sort((prefixes | values.astype(np.uint64)).astype(np.uint32)))
        if not _grown_past(len(entries), bits):
            return HyperLogLog(bits, entries=entries)
    return HyperLogLog(bits, ranks=ranks)


def of_ranks(pairs: npt.NDArray[np.int64], bits: int) -> HyperLogLog:
    """The dense sketch of numbers that hold a bucket and, in the last six bits, a rank that was met in it."""
    ranks = np.zeros(1 << bits, np.uint8)
    np.maximum.at(ranks, pairs >> _VALUE_BITS, (pairs & 63).astype(np.uint8))
    return HyperLogLog(bits, ranks=ranks)


def most_sparse(bits: int) -> int:
    """The most different prefixes of a sketch that grew to be sparse."""
    most = 1
    while not _grown_past(most + 1, bits):
        most += 1
    return most


def merged(first: HyperLogLog, other: HyperLogLog, mismatch: str = "INVALID_FUNCTION_ARGUMENT") -> HyperLogLog:
    """Both together; ``mismatch`` is the error when their numbers of buckets differ."""
    if first.entries is not None and other.entries is not None:
        entries = _united(first.entries, other.entries)
        made = HyperLogLog(first.bits, entries=entries)
        return dense(made) if _too_large(len(entries), first.bits) else made
    if first.bits != other.bits:
        message = f"Cannot merge HLLs with different number of buckets: {1 << first.bits} vs {1 << other.bits}"
        raise KernelError(mismatch, message)
    return HyperLogLog(first.bits, ranks=np.maximum(dense(first).ranks, dense(other).ranks))  # type: ignore[arg-type]


def dense(sketch: HyperLogLog) -> HyperLogLog:
    """The dense form, whatever the size."""
    if sketch.entries is None:
        return sketch
    bits, entries = sketch.bits, sketch.entries
    zeros = 32 - _bit_lengths((entries << np.uint32(bits)).astype(np.uint64))
    known = PREFIX_BITS - bits
    zeros = np.where(zeros >= known, known + (entries & 63).astype(np.int64), zeros)
    ranks = np.zeros(1 << bits, np.uint8)
    np.maximum.at(ranks, (entries >> np.uint32(32 - bits)).astype(np.int64), (zeros + 1).astype(np.uint8))
    return HyperLogLog(bits, ranks=ranks)


def densified(data: bytes) -> bytes:
    """The bytes of the dense form: what a P4HyperLogLog is."""
    return dense(from_bytes(data)).to_bytes()


def from_bytes(data: bytes) -> HyperLogLog:
    """Read what Presto stored; raises GENERIC_INTERNAL_ERROR with Presto's texts."""
    _need(data, 1)
    match data[0]:
        case tag if tag == _SPARSE:
            return _read_sparse(data)
        case tag if tag in (_DENSE, _OLD_DENSE):
            return _read_dense(data)
        case tag if tag == _OLD_SPARSE:
            raise _bad("Sparse v1 encoding no longer supported")
    raise _bad("Cannot deserialize HyperLogLog")


def _read_sparse(data: bytes) -> HyperLogLog:
    if len(data) < 2:
        raise _bad("Internal error")
    bits = data[1]
    if not 1 <= bits <= PREFIX_BITS:
        raise _bad("indexBitLength is out of range")
    _need(data, 4)
    (count,) = struct.unpack_from("<h", data, 2)
    if count < 0:
        raise _bad(str(count))
    for place in range(count):
        _need(data, 8 + 4 * place)
    if len(data) > 4 + 4 * count:
        raise _bad("input is too big")
    return HyperLogLog(bits, entries=np.frombuffer(data, "<u4", count, 4).astype(np.uint32))


def _read_dense(data: bytes) -> HyperLogLog:
    if len(data) < 2:
        raise _bad("Internal error")
    bits = data[1]
    if not 1 <= bits <= _MOST_BITS:
        raise _bad("indexBitLength is out of range")
    half = (1 << bits) // 2
    _need(data, 3 + half)
    nibbles = np.frombuffer(data, np.uint8, half, 3)
    deltas = np.stack((nibbles >> 4, nibbles & 15), axis=1).reshape(-1).astype(np.int64)
    places, values, end = _overflows(data, 3 + half)
    if len(data) > end:
        raise _bad("input is too big")
    if any(place > 1 << bits for place in places):
        raise _bad("Overflow bucket index is out of range")
    for place, value in zip(places, values, strict=True):
        # What overflows a bucket that is not full is never looked at.
        if place < 1 << bits and deltas[place] == _DELTA:
            deltas[place] += value
    return HyperLogLog(bits, ranks=(deltas + data[2]).astype(np.uint8))


def _overflows(data: bytes, start: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    if data[0] == _OLD_DENSE:
        _need(data, start + 3)
        place, value = struct.unpack_from("<hb", data, start)
        return ((place,), (value,), start + 3) if place >= 0 and value > 0 else ((), (), start + 3)
    _need(data, start + 2)
    (count,) = struct.unpack_from("<H", data, start)
    end = start + 2 + 3 * count
    _need(data, end)
    places = struct.unpack_from(f"<{count}H", data, start + 2)
    values = struct.unpack_from(f"<{count}b", data, start + 2 + 2 * count)
    if any(value <= 0 for value in values):
        raise _bad("Overflow bucket value must be > 0")
    return places, values, end


def _bad(message: str) -> KernelError:
    return KernelError("GENERIC_INTERNAL_ERROR", message)


def _need(data: bytes, end: int) -> None:
    if len(data) < end:
        raise _bad(f"end index ({end}) must not be greater than size ({len(data)})")


def _bit_lengths(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    high, low = words >> np.uint64(32), words & np.uint64(0xFFFFFFFF)
    parts = np.frexp(np.where(high > 0, high, low).astype(np.float64))[1].astype(np.int64)
    return np.where(high > 0, parts + 32, parts)


def _largest(entries: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Of sorted entries, the largest of each prefix."""
    prefixes = entries >> np.uint32(_VALUE_BITS)
    last = np.ones(len(entries), bool)
    last[:-1] = prefixes[1:] != prefixes[:-1]
    return entries[last]


def _united(a: npt.NDArray[np.uint32], b: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    shift = np.uint32(_VALUE_BITS)
    if all(bool(np.all((e >> shift)[1:] > (e >> shift)[:-1])) for e in (a, b)):
        return _largest(np.sort(np.concatenate((a, b))))
    # Entries that are out of order stay so: two heads at a time, as Presto does it.
    made: list[object] = []
    i = j = 0
    while i < len(a) and j < len(b):
        one, other = a[i] >> shift, b[j] >> shift
        made.append(max(a[i], b[j]) if one == other else a[i] if one < other else b[j])
        i, j = i + (one <= other), j + (other <= one)
    return np.array([*made, *a[i:], *b[j:]], np.uint32)


def _too_large(capacity: int, bits: int) -> bool:
    """Whether Presto counts more bytes for the sparse form: its array of so many entries, and objects of the JVM."""
    return 24 + 16 + 4 * capacity > 40 + 16 + (1 << bits) // 2


def _grown_past(count: int, bits: int) -> bool:
    """The same for a sketch that grew to ``count`` entries: its array begins with one place and grows by ten."""
    return _too_large(1 + 10 * math.ceil(max(count - 1, 0) / 10), bits)


def _alpha(bits: int) -> float:
    return {4: 0.673, 5: 0.697, 6: 0.709}.get(bits, 0.7213 / (1 + 1.079 / (1 << bits)))


def _rounded(value: float) -> int:
    return math.floor(value + 0.5)
