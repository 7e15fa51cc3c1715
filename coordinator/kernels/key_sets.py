"""Distinct values of a column, or rows of several, each with a number, to look others up in.

NULL is a value like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Codes = npt.NDArray[np.int64]
_NOT_THERE = -1


class KeySet(Protocol):
    """As many values as its length."""

    def __len__(self) -> int: ...

    def codes(self, array: pa.Array) -> Codes:
        """The number of each value of ``array``, below the length; -1 for those that are not among them."""


def key_set(values: pa.Array) -> KeySet:
    """The set of distinct ``values``, an array."""
    return _Numbers(values) if _number_type(values.type) is not None else _Others(values)


def _number_type(type_: pa.DataType) -> Any:
    """The integer type that has the same bits; None for types whose values are not integers of up to 64 bits."""
    t = pa.types
    if t.is_integer(type_):
        return type_
    if t.is_date32(type_) or t.is_time32(type_):
        return pa.int32()
    return pa.int64() if t.is_time64(type_) or t.is_timestamp(type_) else None


def _numbers(array: pa.Array) -> npt.NDArray[Any]:
    """The bits as integers, 0 for NULL."""
    bits = array.view(_number_type(array.type))
    found: npt.NDArray[Any] = (bits.fill_null(0) if bits.null_count else bits).to_numpy(zero_copy_only=False)
    return found


class _Numbers:
    """Sorted once, then searched: files often have such keys in order, which makes that fast."""

    def __init__(self, values: pa.Array) -> None:
        self._sorted: npt.NDArray[Any] = np.sort(_numbers(values.drop_null()))
        self._has_null: bool = values.null_count > 0

    def __len__(self) -> int:
        return len(self._sorted) + self._has_null

    def codes(self, array: pa.Array) -> Codes:
        nulls = pc.is_null(array).to_numpy(zero_copy_only=False) if array.null_count else None
        numbers = _numbers(array)
        if len(self._sorted):
            at = np.minimum(np.searchsorted(self._sorted, numbers), len(self._sorted) - 1)
            found = np.where(self._sorted[at] == numbers, at, _NOT_THERE)
        else:
            found = np.full(len(array), _NOT_THERE)
        if nulls is not None:
            found[nulls] = len(self._sorted) if self._has_null else _NOT_THERE
        return found.astype(np.int64, copy=False)


class _Others:
    """Arrow makes its hash table anew for each look-up: arrays had better be long."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values

    def __len__(self) -> int:
        found: int = len(self._values)
        return found

    def codes(self, array: pa.Array) -> Codes:
        found = pc.fill_null(pc.index_in(array, value_set=self._values, skip_nulls=False), _NOT_THERE)
        codes: Codes = found.to_numpy(zero_copy_only=False).astype(np.int64)
        return codes


class RowSet:
    """The distinct rows of some columns of one length.

    Rows are compared as tuples of small integers: each column's value is looked up among those that are here, and the
    numbers are folded column by column. Memory grows with the rows that are here alone.
    """

    def __init__(self, values: Sequence[KeySet], folds: Sequence[Codes]) -> None:
        self._values = values
        self._folds = folds

    @classmethod
    def of(cls, columns: Sequence[pa.Array]) -> tuple[RowSet, Codes]:
        """The set, and the number of each row."""
        sets = [key_set(pc.unique(column)) for column in columns]
        folds: list[Codes] = []
        numbers = sets[0].codes(columns[0])
        for values, column in zip(sets[1:], columns[1:], strict=True):
            pairs = numbers * (len(values) + 1) + values.codes(column)
            folds.append(np.unique(pairs))
            numbers = np.searchsorted(folds[-1], pairs)
        return cls(sets, folds), numbers

    def codes(self, columns: Sequence[pa.Array]) -> Codes:
        """The number of each row of ``columns``; -1 for those that are not among them."""
        found = self._values[0].codes(columns[0])
        for values, fold, column in zip(self._values[1:], self._folds, columns[1:], strict=True):
            other = values.codes(column)
            pairs = np.where((found < 0) | (other < 0), _NOT_THERE, found * (len(values) + 1) + other)
            at = np.minimum(np.searchsorted(fold, pairs), len(fold) - 1)
            found = np.where(fold[at] == pairs, at, _NOT_THERE)
        return found
