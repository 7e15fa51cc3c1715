"""Presto's functions of t-digests."""

from __future__ import annotations

import pyarrow as pa

from ...types import Type
from ..column_folds import ColumnFold, known_rows
from ..failures import check, invalid
from ..shown import shown
from ..table import Table, plain
from .tdigest import DEFAULT_COMPRESSION, TDigest, from_bytes, quantile, share_below, trimmed_mean


def _agg(types: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    if types[0].base != "double":
        raise invalid(f"Unsupported type {types[0]} supplied")
    columns = known_rows(columns)
    values = columns[0].to_pylist()
    if not values:
        return None
    weights = columns[1].to_pylist() if len(columns) > 1 else [1] * len(values)
    for weight in weights:
        check(weight > 0, f"Weight must be > 0, was {weight}")
    compression = columns[2][0].as_py() if len(columns) > 2 else DEFAULT_COMPRESSION
    check(compression > 0, f"Compression factor must be positive, was {shown(compression)}")
    made = TDigest(compression)
    made.add(values, weights)
    return made.to_bytes()


def merge_tdigests(_: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    """The aggregate ``merge`` of t-digests."""
    return _merged(tuple(columns[0].to_pylist()))


def _merged(parts: tuple[bytes | None, ...]) -> bytes | None:
    made: TDigest | None = None
    for data in parts:
        if data is not None:
            digest = from_bytes(data)
            if made is None:
                made = digest
            else:
                made.merge(digest)
    return None if made is None else made.to_bytes()


def values_at(data: bytes, shares: tuple[float, ...]) -> tuple[float, ...]:
    """``values_at_quantiles``."""
    digest = from_bytes(data)
    return tuple(quantile(digest, share) for share in shares)


def share_of(data: bytes, value: float) -> float:
    """``quantile_at_value``."""
    return share_below(from_bytes(data), value)


def _shares_of(data: bytes, values: tuple[float, ...]) -> tuple[float, ...]:
    digest = from_bytes(data)
    return tuple(share_below(digest, value) for value in values)


def _scaled(data: bytes, factor: float) -> bytes:
    check(factor > 0, "Scale factor should be positive.")
    digest = from_bytes(data)
    digest.scale(factor)
    return digest.to_bytes()


def _destructured(data: bytes) -> tuple[object, ...]:
    digest = from_bytes(data)
    weights = tuple(int(weight) for weight in digest.weights)
    ends = (digest.compression, digest.minimum, digest.maximum, digest.sum, int(digest.total))
    return (tuple(digest.means), weights, *ends)


def _constructed(
    means: tuple[float, ...], weights: tuple[float, ...], compression: float,
    minimum: float, maximum: float, total_sum: float, _count: int,
) -> bytes:  # fmt: skip
    check(len(means) == len(weights), "Centroid means and weights must be as many")
    digest = TDigest(compression, minimum, maximum, total_sum, sum(weights), list(means), list(weights))
    return digest.to_bytes()


TDIGEST_FOLDS: dict[str, ColumnFold] = {"tdigest_agg": _agg}
TDIGESTS: Table = plain(
    merge_tdigest=_merged, quantiles_at_values=_shares_of, scale_tdigest=_scaled, destructure_tdigest=_destructured,
    construct_tdigest=_constructed,
    trimmed_mean=lambda data, low, high: trimmed_mean(from_bytes(data), low, high),
)  # fmt: skip
