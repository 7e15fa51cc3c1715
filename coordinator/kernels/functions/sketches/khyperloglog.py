"""KHyperLogLog with the bytes and the estimates of Presto's: of the smallest hashes of values, a HyperLogLog each of
the identifiers that came with them.

Source: P. Chia and others, "KHyperLogLog: Estimating Reidentifiability and Joinability of Large Data at Scale", 2019.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ...types import Type
from ..column_folds import ColumnFold, known_rows
from ..failures import check
from .hyperloglog import HyperLogLog, from_bytes, merged, of_hashes
from .min_hashes import VERSION, Input, jaccard, rounded, smallest
from .value_hashes import murmur_hashes, murmur_of_longs, xx_hashes

_MOST, _BITS = 4096, 8
_MOST_BUCKETS = 1_000_000
_HALF_RANGE = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class KHyperLogLog:
    """``sketches``: of each of the ``most`` smallest hashes, in order."""

    most: int
    buckets: int
    sketches: dict[int, HyperLogLog]

    @property
    def exact(self) -> bool:
        """Whether all hashes are kept."""
        return len(self.sketches) < self.most

    def cardinality(self) -> int:
        """The number of different values: from the density of the kept hashes unless all are kept."""
        if self.exact:
            return len(self.sketches)
        span = max(self.sketches) + (1 << 63)
        return int(_HALF_RANGE / (span // (len(self.sketches) - 1) / 2))

    def to_bytes(self) -> bytes:
        """As Presto stores it."""
        parts, count = [sketch.to_bytes() for sketch in self.sketches.values()], len(self.sketches)
        return b"".join((
            struct.pack("<biiii", VERSION, self.most, self.buckets, count, sum(map(len, parts))),
            struct.pack(f"<{count}i", *map(len, parts)), struct.pack(f"<{count}q", *self.sketches), *parts,
        ))  # fmt: skip


def read(data: bytes) -> KHyperLogLog:
    """What Presto stored."""
    source = Input(data)
    source.version()
    most, buckets, count, _ = source.numbers("i", 4)
    sizes, keys = source.numbers("i", count), source.numbers("q", count)
    sketches = {key: from_bytes(source.bytes(size)) for key, size in zip(keys, sizes, strict=True)}
    return KHyperLogLog(most, buckets, dict(sorted(sketches.items())))


def _aggregate(types: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    values, others = known_rows(columns)
    if not len(values):
        return None
    keys = murmur_hashes(values, types[0]).view(np.int64)
    # A text that identifies is a number first.
    text = types[1].base in ("varchar", "char", "varbinary")
    hashes = murmur_of_longs(xx_hashes(others, types[1]).view(np.int64)) if text else murmur_hashes(others, types[1])
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=~keys[order[0]]))
    groups = np.split(hashes[order], starts[1:])[:_MOST]
    found = keys[order][starts[:_MOST]].tolist()
    made = {key: of_hashes(group, _BITS) for key, group in zip(found, groups, strict=True)}
    return KHyperLogLog(_MOST, 1 << _BITS, made).to_bytes()


def _both(first: KHyperLogLog, other: KHyperLogLog) -> KHyperLogLog:
    """Into the one that keeps fewer, the first of two alike."""
    if first.most > other.most:
        first, other = other, first
    made = dict(first.sketches)
    for key, sketch in other.sketches.items():
        made[key] = merged(made[key], sketch, "GENERIC_INTERNAL_ERROR") if key in made else sketch
    return KHyperLogLog(first.most, first.buckets, {key: made[key] for key in smallest(made, first.most)})


def _merged(parts: Iterable[bytes]) -> bytes | None:
    made: KHyperLogLog | None = None
    for data in parts:
        made = read(data) if made is None else _both(made, read(data))
    return None if made is None else made.to_bytes()


def merge_khyperloglogs(_: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    """The aggregate ``merge``."""
    return _merged(columns[0].drop_null().to_pylist())


def merge_khll(parts: tuple[bytes | None, ...]) -> bytes | None:
    """The function of SQL."""
    return _merged(data for data in parts if data is not None)


def cardinality(data: bytes) -> int:
    """The function of SQL."""
    return read(data).cardinality()


def jaccard_index(a: bytes, b: bytes) -> float:
    """The function of SQL."""
    return jaccard(read(a).sketches.keys(), read(b).sketches.keys())


def intersection_cardinality(a: bytes, b: bytes) -> int:
    """The number of values in both; never more than the smaller set has."""
    first, other = read(a), read(b)
    if first.exact and other.exact:
        return len(first.sketches.keys() & other.sketches.keys())
    share = jaccard(first.sketches.keys(), other.sketches.keys())
    least = min(first.cardinality(), other.cardinality())
    return min(rounded(share * _both(first, other).cardinality()), least)


def uniqueness_distribution(data: bytes, size: int | None = None) -> dict[int, float]:
    """The share of values that came with one identifier, with two, and so on; the last stands for more."""
    sketches = read(data).sketches
    size = len(sketches) if size is None else size
    check(size > 0, "histogram size must be positive")
    check(size <= _MOST_BUCKETS, f"histogram size must be at most {_MOST_BUCKETS}")
    made = dict.fromkeys(range(1, size + 1), 0.0)
    for sketch in sketches.values():
        made[min(sketch.cardinality(), size)] += 1 / len(sketches)
    return made


def reidentification_potential(data: bytes, threshold: int) -> float:
    """The share of values that came with at most so many identifiers."""
    sketches = read(data).sketches
    return sum(sketch.cardinality() <= threshold for sketch in sketches.values()) / len(sketches)


KHYPERLOGLOG_FOLDS: dict[str, ColumnFold] = {"khyperloglog_agg": _aggregate}
