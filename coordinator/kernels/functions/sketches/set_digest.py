"""Set digests with the bytes and the estimates of Presto's: a HyperLogLog and the smallest hashes with their counts."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ...errors import KernelError
from ...types import Type
from ..column_folds import ColumnFold, known_rows
from .hyperloglog import HyperLogLog, from_bytes, merged, of_hashes
from .min_hashes import VERSION, Input, jaccard, rounded, smallest
from .value_hashes import murmur_hashes

_BITS, _MOST, _LARGEST_COUNT = 11, 8192, 32767
_NO_HASH = ("double", "boolean", "array", "map", "row", "unknown")
_OPAQUE = ("geometry", "sphericalgeography", "hyperloglog", "setdigest", "function")
"""Presto hashes its own bytes of them."""


@dataclass(frozen=True, slots=True)
class SetDigest:
    """``counts``: how often each of the ``most`` smallest hashes was met, in order."""

    sketch: HyperLogLog
    most: int
    counts: dict[int, int]

    @property
    def exact(self) -> bool:
        """Whether all hashes are kept."""
        return len(self.counts) < self.most

    def cardinality(self) -> int:
        """The number of different values, estimated unless all are kept."""
        return len(self.counts) if self.exact else self.sketch.cardinality()

    def to_bytes(self) -> bytes:
        """As Presto stores it."""
        sketch, count = self.sketch.to_bytes(), len(self.counts)
        return b"".join((
            struct.pack("<bi", VERSION, len(sketch)), sketch, struct.pack("<ii", self.most, count),
            struct.pack(f"<{count}q", *self.counts), struct.pack(f"<{count}h", *self.counts.values()),
        ))  # fmt: skip


def read(data: bytes) -> SetDigest:
    """What Presto stored."""
    source = Input(data)
    source.version()
    (length,) = source.numbers("i", 1)
    sketch = from_bytes(source.bytes(length))
    most, count = source.numbers("i", 2)
    keys, counts = source.numbers("q", count), source.numbers("h", count)
    return SetDigest(sketch, most, dict(sorted(zip(keys, counts, strict=True))))


def _make(types: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    type_ = types[0]
    if type_.base in _NO_HASH:
        bound = f"BoundVariables{{typeVariables={{T={type_}}}, longVariables={{}}}}"
        message = f"Unsupported type parameters ({bound}) for presto.default.make_set_digest<T>(T):SetDigest"
        raise KernelError("FUNCTION_IMPLEMENTATION_MISSING", message)
    if type_.base in _OPAQUE:
        raise KernelError("NOT_SUPPORTED", f"make_set_digest of {type_} is not supported")
    (values,) = known_rows(columns)
    if not len(values):
        return None
    hashes = murmur_hashes(values, type_)
    keys, counts = np.unique(hashes.view(np.int64), return_counts=True)
    capped = np.minimum(counts[:_MOST], _LARGEST_COUNT)
    made = dict(zip(keys[:_MOST].tolist(), capped.tolist(), strict=True))
    return SetDigest(of_hashes(hashes, _BITS), _MOST, made).to_bytes()


def _both(first: SetDigest, other: SetDigest) -> SetDigest:
    counts = dict(first.counts)
    for key, count in other.counts.items():
        counts[key] = min(counts.get(key, 0) + count, _LARGEST_COUNT)
    kept = smallest(counts, first.most)
    return SetDigest(merged(first.sketch, other.sketch), first.most, {key: counts[key] for key in kept})


def merge_set_digests(_: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    """The aggregates ``merge_set_digest`` and ``merge``."""
    made: SetDigest | None = None
    for data in columns[0].drop_null().to_pylist():
        made = read(data) if made is None else _both(made, read(data))
    return None if made is None else made.to_bytes()


def cardinality(data: bytes) -> int:
    """The function of SQL."""
    return read(data).cardinality()


def jaccard_index(a: bytes, b: bytes) -> float:
    """The function of SQL."""
    return jaccard(read(a).counts.keys(), read(b).counts.keys())


def intersection_cardinality(a: bytes, b: bytes) -> int:
    """The number of values in both; never more than the smaller set has."""
    first, other = read(a), read(b)
    if first.exact and other.exact:
        return len(first.counts.keys() & other.counts.keys())
    share = jaccard(first.counts.keys(), other.counts.keys())
    least = min(first.cardinality(), other.cardinality())
    return min(rounded(share * _both(first, other).cardinality()), least)


def hash_counts(data: bytes) -> dict[int, int]:
    """The function of SQL."""
    return read(data).counts


SET_DIGEST_FOLDS: dict[str, ColumnFold] = {"make_set_digest": _make, "merge_set_digest": merge_set_digests}
