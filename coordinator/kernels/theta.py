"""Theta sketches of distinct values, in the compact form that every DataSketches library reads.

Values are hashed as Iceberg's single-value bytes with MurmurHash3 (x64, 128 bits, DataSketches' default seed) and the
smallest hashes are kept; up to ``NOMINAL`` distinct values the count is exact. Sources: Iceberg's Puffin specification
("apache-datasketches-theta-v1"), DataSketches ``PreambleUtil`` (serialization version 3), MurmurHash3 by A. Appleby.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

NOMINAL = 4096
"""Hashes that are kept; the standard error of an estimate is about 1 / sqrt(NOMINAL), 1.6 %."""
Words = npt.NDArray[np.uint64]
SEED = 9001
_MAX = (1 << 63) - 1
_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_ORDERED, _COMPACT, _READ_ONLY, _EMPTY, _SINGLE = 16, 8, 2, 4, 32


def _no_hashes() -> Words:
    return np.empty(0, np.uint64)


@dataclass(slots=True)
class Theta:
    """The smallest distinct hashes, sorted, all below ``theta``; hashes and theta have 63 bits."""

    hashes: Words = field(default_factory=_no_hashes)
    theta: int = _MAX

    def add(self, values: pa.Array) -> None:
        """Count the values of an Arrow array; nulls and empty strings are nothing, as in DataSketches."""
        for keys in single_values(_distinct(values)):
            self.merge(Theta(np.unique(murmur3(keys) >> np.uint64(1))))

    def merge(self, other: Theta) -> None:
        """Make this the sketch of both."""
        theta = min(self.theta, other.theta)
        hashes = np.union1d(self.hashes, other.hashes)
        hashes = hashes[(hashes < np.uint64(theta)) & (hashes > 0)]
        if len(hashes) > NOMINAL:
            theta, hashes = int(hashes[NOMINAL]), hashes[:NOMINAL]
        self.hashes, self.theta = hashes, theta

    def estimate(self) -> float:
        """The number of distinct values; exact while no hash was left out."""
        return len(self.hashes) if self.theta == _MAX else len(self.hashes) * (_MAX / self.theta)

    def to_bytes(self) -> bytes:
        """The compact ordered sketch."""
        flags, count = _READ_ONLY | _COMPACT | _ORDERED, len(self.hashes)
        seed = seed_hash()
        if self.theta == _MAX and count == 0:
            return struct.pack("<BBBBBBH", 1, 3, 3, 0, 0, flags | _EMPTY, seed)
        data: bytes = self.hashes.astype("<u8").tobytes()
        if self.theta == _MAX and count == 1:
            return struct.pack("<BBBBBBH", 1, 3, 3, 0, 0, flags | _SINGLE, seed) + data
        longs = 2 if self.theta == _MAX else 3
        head = struct.pack("<BBBBBBHIf", longs, 3, 3, 0, 0, flags, seed, count, 1.0)
        return head + (struct.pack("<Q", self.theta) if longs == 3 else b"") + data


def seed_hash() -> int:
    """The two bytes by which sketches of different seeds are told apart."""
    seed = np.frombuffer(struct.pack("<Q", SEED), np.uint8).reshape(1, 8)
    return int(murmur3(seed, seed=0)[0]) & 0xFFFF


def single_values(values: pa.Array) -> Iterator[Any]:
    """Arrow values without nulls as Iceberg's single-value bytes: arrays of shape (values, bytes), one a length."""
    type_ = values.type
    if pa.types.is_boolean(type_):
        yield pc.cast(values, pa.uint8()).to_numpy(zero_copy_only=False).reshape(-1, 1)
    elif pa.types.is_decimal(type_):
        yield from _decimals(values)
    elif pa.types.is_fixed_size_binary(type_):
        width = type_.byte_width
        data = np.frombuffer(memoryview(values.buffers()[1] or b""), np.uint8)
        yield data[values.offset * width : (values.offset + len(values)) * width].reshape(-1, width)
    elif pa.types.is_string(type_) or pa.types.is_binary(type_):
        yield from _texts(values, "<i4")
    elif pa.types.is_large_string(type_) or pa.types.is_large_binary(type_):
        yield from _texts(values, "<i8")
    else:
        width = type_.bit_width // 8
        data = np.frombuffer(memoryview(values.buffers()[1] or b""), np.uint8)
        yield data[values.offset * width : (values.offset + len(values)) * width].reshape(-1, width)


def murmur3(keys: npt.NDArray[np.uint8], seed: int = SEED) -> Words:
    """First half of MurmurHash3 x64 128 of each row of ``keys`` (values, bytes), unsigned."""
    count, length = keys.shape
    blocks = length // 16
    low = np.full(count, seed, np.uint64)
    high = low.copy()
    padded = np.zeros((count, (blocks + 1) * 16), np.uint8)
    padded[:, :length] = keys
    words = padded.view("<u8")
    with np.errstate(over="ignore"):
        for i in range(blocks):
            low ^= _rotated(words[:, 2 * i] * _C1, 31) * _C2
            low = (_rotated(low, 27) + high) * np.uint64(5) + np.uint64(0x52DCE729)
            high ^= _rotated(words[:, 2 * i + 1] * _C2, 33) * _C1
            high = (_rotated(high, 31) + low) * np.uint64(5) + np.uint64(0x38495AB5)
        # The rest is padded with zeros, which change nothing.
        high ^= _rotated(words[:, 2 * blocks + 1] * _C2, 33) * _C1
        low ^= _rotated(words[:, 2 * blocks] * _C1, 31) * _C2
        low ^= np.uint64(length)
        high ^= np.uint64(length)
        low += high
        high += low
        low, high = _finished(low), _finished(high)
        return low + high


def _rotated(words: Words, bits: int) -> Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))


def _finished(words: Words) -> Words:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        words = (words ^ (words >> np.uint64(33))) * np.uint64(factor)
    return words ^ (words >> np.uint64(33))


def _distinct(values: pa.Array) -> pa.Array:
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary.take(pc.drop_null(pc.unique(values.indices)))
    if pa.types.is_null(values.type):
        return pa.array([], pa.int64())
    if pa.types.is_floating(values.type):
        # As bits: every kind of zero and NaN is a value of its own, as with Java's raw bits.
        bits = pa.int32() if pa.types.is_float32(values.type) else pa.int64()
        values = values.view(bits)
    return pc.drop_null(pc.unique(values))


def _texts(values: pa.Array, offset_type: str) -> Iterator[object]:
    _, offset_buffer, data_buffer = values.buffers()
    if len(values) == 0 or data_buffer is None:
        return
    offsets = np.frombuffer(memoryview(offset_buffer or b""), offset_type)[
        values.offset : values.offset + len(values) + 1
    ].astype(np.int64)
    data = np.frombuffer(memoryview(data_buffer or b""), np.uint8)
    lengths = np.diff(offsets)
    order = np.argsort(lengths, kind="stable")
    bounds = np.flatnonzero(np.diff(lengths[order])) + 1
    for same in np.split(order, bounds):
        length = int(lengths[same[0]])
        if length:
            yield data[offsets[same][:, None] + np.arange(length)]


def _decimals(values: pa.Array) -> Iterator[object]:
    """Unscaled values as big-endian two's complement without needless leading bytes."""
    width = values.type.byte_width
    data = np.frombuffer(memoryview(values.buffers()[1] or b""), np.uint8)
    rows = data[values.offset * width : (values.offset + len(values)) * width].reshape(-1, width)[:, ::-1]
    if len(rows) == 0:
        return
    fill = np.where(rows[:, :1] >= 0x80, np.uint8(0xFF), np.uint8(0))
    # A leading byte can go when it only repeats the sign of the byte behind it.
    needless = (rows[:, :-1] == fill) & ((rows[:, 1:] >= 0x80) == (fill == 0xFF))
    skipped = np.cumprod(needless, axis=1).sum(axis=1)
    for first in np.unique(skipped):
        yield np.ascontiguousarray(rows[skipped == first][:, first:])
