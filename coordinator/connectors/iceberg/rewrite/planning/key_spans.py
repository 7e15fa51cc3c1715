"""Between which sort keys the rows of files lie, from the bounds in manifests, as numbers that compare as keys do.

A span never leaves out a key that its file has: what manifests do not tell reaches from the least key to the greatest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.transforms import parse_transform
from pyiceberg.types import IcebergType

from coordinator.connectors.iceberg.bounds import bound_value
from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.kernels.sort_tasks import KeyColumn, RowOrder

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Spans:
    """The least and the greatest key of each file; every row lies between, both included."""

    low: Numbers
    high: Numbers


def spans_of(files: Sequence[LiveFile], order: RowOrder, schema: Schema) -> list[Spans]:
    """One for the order of columns; along a curve one for each column, as no column alone tells where a file lies."""
    columns = [_spans(files, column, schema.find_type(column.id)) for column in order.columns]
    return columns if order.curve is not None else [_together(columns)]


def _spans(files: Sequence[LiveFile], column: KeyColumn, type_: IcebergType) -> Spans:
    """The ranks of the values among those of all files from 1 on; 0 and the last are for nulls and what is unknown."""
    transform = parse_transform(column.transform)
    if not transform.preserves_order:  # buckets, say: keys are anywhere
        return Spans(np.zeros(len(files), np.int64), np.ones(len(files), np.int64))
    apply = None if column.transform == "identity" else transform.transform(type_)
    bounds = [_bounds(file.file, column.id, type_, apply) for file in files]
    ranks = {value: rank for rank, value in enumerate(sorted({v for found in bounds for v in found or ()}), 1)}
    last = len(ranks) + 1
    low, high = np.zeros(len(files), np.int64), np.full(len(files), last, np.int64)
    for place, (file, found) in enumerate(zip(files, bounds, strict=True)):
        low[place], high[place] = _span(file.file, column, found, ranks, last)
    return Spans(low, high)


def _span(
    file: DataFile, column: KeyColumn, bounds: tuple[object, object] | None, ranks: Mapping[object, int], last: int
) -> tuple[int, int]:
    nulls = (file.null_value_counts or {}).get(column.id)
    at_nulls = 0 if column.nulls_first else last
    if nulls is not None and 0 < file.record_count <= nulls:
        return at_nulls, at_nulls
    if bounds is None:
        return 0, last
    low, high = ranks[bounds[0]], ranks[bounds[1]]
    if column.descending:
        low, high = last - high, last - low
    if nulls:
        low, high = min(low, at_nulls), max(high, at_nulls)
    if (file.nan_value_counts or {}).get(column.id):  # above every number
        low, high = (0, high) if column.descending else (low, last)
    return low, high


def _bounds(
    file: DataFile, column: int, type_: IcebergType, apply: Callable[[Any], Any] | None
) -> tuple[Any, Any] | None:
    low = bound_value(type_, (file.lower_bounds or {}).get(column))
    high = bound_value(type_, (file.upper_bounds or {}).get(column))
    # NaN is no bound, and compares with nothing.
    if low is None or high is None or low != low or high != high:
        return None
    if apply is not None:
        low, high = apply(low), apply(high)
    return (low, high) if low <= high else None


def _together(columns: Sequence[Spans]) -> Spans:
    """Spans of the columns one behind the other: a row between the bounds of each column is between these."""
    if len(columns) == 1:
        return columns[0]
    count = len(columns[0].low)
    found = np.concatenate([columns[0].low, columns[0].high])
    for column in columns[1:]:
        ends = np.concatenate([column.low, column.high])
        # Ranks anew at each column, so that the products stay small.
        _, found = np.unique(found, return_inverse=True)
        found = found.astype(np.int64) * (int(ends.max(initial=0)) + 1) + ends
    _, dense = np.unique(found, return_inverse=True)
    return Spans(dense[:count], dense[count:])
