"""``approx_percentile`` without an error: of the values in order that below which, or at which, a share of them lies.

Presto's answers from a digest, whose error depends on the order in which its workers hand their parts over; of as few
values as a digest tells apart both are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..types import Type
from .column_folds import known_rows
from .failures import check
from .shown import shown
from .sketches.qdigest import DEFAULT_ACCURACY
from .sketches.qdigest_functions import keys_of, value_of

_FEW = 1000
"""Rows a group, up to which all groups are put in order in one go; larger ones are looked through each by itself."""
Longs = npt.NDArray[np.int64]


def percentile(types: tuple[Type, ...], columns: list[pa.Array]) -> object:
    """Of the values with their weights, if any, the percentile or percentiles, and the accuracy, if any."""
    columns = known_rows(columns)
    if not len(columns[0]):
        return None
    weighted, place = _places(types)
    weights = columns[1].to_numpy(zero_copy_only=False) if weighted else None
    if weights is not None:
        check(bool((weights > 0).all()), "percentile weight must be > 0")
    accuracy = columns[place + 1][0].as_py() if len(types) > place + 1 else DEFAULT_ACCURACY
    check(0 < accuracy < 1, "Percentile accuracy must be strictly between 0 and 1")
    many = types[place].base == "array"
    shares: list[float] = columns[place][0].as_py() if many else [_only(columns[place])]
    for share in shares:
        check(share is not None, "Percentile cannot be null")
        check(0 <= share <= 1, "Percentile must be between 0 and 1")
    keys = keys_of(columns[0], types[0])
    found = [value_of(key, types[0].base) for key in _quantiles(keys, weights, shares)]
    return tuple(found) if many else found[0]


def _places(types: tuple[Type, ...]) -> tuple[bool, int]:
    """Whether there are weights, and the place of the percentile."""
    weighted = len(types) > 2 and types[1].base == "bigint"
    return weighted, 2 if weighted else 1


def _only(shares: pa.Array) -> float:
    """The percentile of all rows."""
    first: float = shares[0].as_py()
    for other in shares.unique().to_pylist():
        check(0 <= other <= 1, "Percentile must be between 0 and 1")
        differ = f"{shown(other)} vs. {shown(first)}"
        check(other == first, f"Percentile argument must be constant for all input rows: {differ}")
    return first


def _quantiles(keys: Longs, weights: npt.NDArray[np.int64] | None, shares: Sequence[float]) -> list[int]:
    if weights is None:
        places = [min(int(share * len(keys)), len(keys) - 1) for share in shares]
        ordered = np.partition(keys, sorted(set(places)))
    else:
        order = np.argsort(keys, kind="stable")
        ordered, reached = keys[order], np.cumsum(weights[order].astype(np.float64))
        found = np.searchsorted(reached, np.array(shares) * reached[-1], side="right")
        places = np.minimum(found, len(keys) - 1).tolist()
    return [int(ordered[place]) for place in places]


def percentiles(types: tuple[Type, ...], columns: list[pa.Array], groups: Longs, count: int) -> list[object] | None:
    """The same of many small groups; None where they have to be gone through one by one.

    ``groups`` has the number of each row's group, from 0 to ``count`` - 1, in order.
    """
    if len(types) != 2 or types[1].base != "double" or len(groups) > _FEW * count:
        return None
    valid = ~(columns[0].is_null().to_numpy(zero_copy_only=False) | columns[1].is_null().to_numpy(zero_copy_only=False))
    kept = pa.array(valid)
    shares = columns[1].filter(kept).to_numpy(zero_copy_only=False)
    if not len(shares) or (shares != shares[0]).any() or not 0 <= shares[0] <= 1:
        return None
    of_rows, keys = groups[valid], keys_of(columns[0].filter(kept), types[0])
    ordered = keys[np.lexsort((keys, of_rows))]
    sizes = np.bincount(of_rows, minlength=count)
    ends = np.cumsum(sizes)
    places = ends - sizes + np.minimum((shares[0] * sizes).astype(np.int64), np.maximum(sizes - 1, 0))
    base = types[0].base
    return [
        value_of(int(ordered[place]), base) if size else None
        for place, size in zip(places.tolist(), sizes.tolist(), strict=True)
    ]
