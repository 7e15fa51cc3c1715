"""Sort keys of rows as numbers whose order is the wanted one: directions, null orders, NaN last, transforms.

Orders are Spark's: NaN above every number, -0.0 equal to 0.0, text and binary by unsigned bytes.
Source: Iceberg specification, "Sorting" and "Partition transforms".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .sort_tasks import KeyColumn
from .transforms import transformed

Words = npt.NDArray[np.uint64]
Values = pa.Array | pa.ChunkedArray
_SIGN = np.uint64(1 << 63)
_MOST_DIGITS_OF_A_WORD = 18


def plain_array(array: Values) -> pa.Array:
    """One Arrow array, dictionaries and extension types undone."""
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    if isinstance(whole, pa.ExtensionArray):
        whole = whole.storage
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def key_array(array: Values, column: KeyColumn) -> pa.Array:
    """The plain Arrow array that ``column`` compares."""
    whole = plain_array(array)
    found = whole if column.transform == "identity" else transformed(whole, column.transform)
    if column.prefix is not None and is_bytes(found.type):
        found = pc.binary_slice(found.cast(pa.binary()), 0, column.prefix)
    return found.cast(pa.binary()) if is_bytes(found.type) else found


def is_bytes(type_: pa.DataType) -> bool:
    """Whether values are compared as bytes of any length."""
    checks = (pa.types.is_string, pa.types.is_binary, pa.types.is_fixed_size_binary, pa.types.is_large_string)
    return any(check(type_) for check in (*checks, pa.types.is_large_binary))


def _nulls(array: pa.Array) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return found


def fixed_words(array: pa.Array) -> list[Words]:
    """Values of a fixed width as unsigned words, the first one deciding; nulls are 0."""
    type_ = array.type
    if pa.types.is_decimal(type_):
        return _decimal_words(array)
    if pa.types.is_boolean(type_):
        return [pc.fill_null(array, False).to_numpy(zero_copy_only=False).astype(np.uint64)]
    if pa.types.is_floating(type_):
        return [_float_words(pc.fill_null(array.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False))]
    if pa.types.is_null(type_):
        return [np.zeros(len(array), np.uint64)]
    width = pa.int32() if getattr(type_, "bit_width", 64) == 32 else pa.int64()
    values = array.cast(width) if pa.types.is_temporal(type_) else array
    numbers = pc.fill_null(values, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return [numbers.view(np.uint64) ^ _SIGN]


def _float_words(values: npt.NDArray[np.float64]) -> Words:
    plain = np.where(np.isnan(values), np.nan, values) + 0.0
    bits = plain.view(np.uint64)
    words: Words = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    words[np.isnan(values)] = np.uint64((1 << 64) - 1)
    return words


def _decimal_words(array: pa.Array) -> list[Words]:
    wide = array.cast(pa.decimal128(38, array.type.scale)) if not pa.types.is_decimal128(array.type) else array
    filled = (
        pc.fill_null(wide, pa.scalar(0, pa.int64()).cast(pa.decimal128(38, 0)).cast(wide.type))
        if (wide.null_count)
        else wide
    )
    raw = np.frombuffer(memoryview(filled.buffers()[1] or b""), np.uint64).reshape(-1, 2)[
        filled.offset : filled.offset + len(filled)
    ]
    if array.type.precision <= _MOST_DIGITS_OF_A_WORD:
        return [raw[:, 0] ^ _SIGN]
    return [raw[:, 1] ^ _SIGN, raw[:, 0].copy()]


def ordered(codes: Words, array: pa.Array, column: KeyColumn, most: int) -> Words:
    """Codes up to ``most`` turned by direction, with nulls first as 0 or last as the greatest."""
    turned = np.uint64(most) - codes if column.descending else codes
    if column.nulls_first:
        turned = turned + np.uint64(1)
    if array.null_count:
        turned[_nulls(array)] = np.uint64(0 if column.nulls_first else most + 1)
    return turned


def sort_order(arrays: Sequence[Values], columns: Sequence[KeyColumn]) -> npt.NDArray[np.int64]:
    """The rows' order by all columns, equal rows in the order that they have."""
    keys: list[Words] = []
    for array, column in zip(arrays, columns, strict=True):
        keys += _sort_words(key_array(array, column), column)
    if len(keys) == 1:
        return np.argsort(keys[0], kind="stable")
    return np.lexsort(keys[::-1])


def _sort_words(array: pa.Array, column: KeyColumn) -> list[Words]:
    words = [byte_ranks(array)] if is_bytes(array.type) else fixed_words(array)
    if column.descending:
        words = [~word for word in words]
    if not array.null_count:
        return words
    flags = _nulls(array)
    return [(~flags if column.nulls_first else flags).astype(np.uint64), *words]


def byte_ranks(array: pa.Array) -> Words:
    """The place of each value among the distinct ones; nulls are 0."""
    encoded = pc.fill_null(array, b"").dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order), np.uint64)
    ranks[order] = np.arange(len(order), dtype=np.uint64)
    found: Words = ranks[encoded.indices.to_numpy()] if len(order) else np.zeros(len(array), np.uint64)
    return found


class Scale:
    """Where values of one column stand among those of a sample: even codes lie between sampled values, odd on them."""

    def __init__(self, sample: Values, column: KeyColumn) -> None:
        self._column = column
        values = key_array(sample, column).drop_null()
        self._bytes = is_bytes(values.type)
        self._levels: list[Words] = []
        self._folds: list[Words] = []
        if self._bytes:
            distinct = pc.unique(values)
            self._values = distinct.take(pc.sort_indices(distinct))
            self.most = 2 * len(self._values)
        else:
            self._folded(fixed_words(values), learn=True)
            self.most = 2 * len((self._folds or self._levels)[-1])

    def codes(self, array: Values) -> Words:
        """One number a row, at most ``most``; nulls and directions as the column says."""
        plain = key_array(array, self._column)
        found = self._byte_codes(plain) if self._bytes else self._folded(fixed_words(plain), learn=False)
        return ordered(found, plain, self._column, self.most)

    def _byte_codes(self, array: pa.Array) -> Words:
        filled = pc.fill_null(array, b"")
        if len(self._values) == 0:
            return np.zeros(len(array), np.uint64)
        left = pc.search_sorted(self._values, filled).to_numpy(zero_copy_only=False).astype(np.uint64)
        right = pc.search_sorted(self._values, filled, side="right").to_numpy(zero_copy_only=False).astype(np.uint64)
        codes: Words = left + right
        return codes

    def _folded(self, words: Sequence[Words], *, learn: bool) -> Words:
        codes: Words | None = None
        for number, word in enumerate(words):
            if learn:
                self._levels.append(np.unique(word))
            inner = between(self._levels[number], word)
            if codes is None:
                codes = inner
                continue
            pairs = codes * np.uint64(2 * len(self._levels[number]) + 1) + inner
            if learn:
                self._folds.append(np.unique(pairs))
            codes = between(self._folds[number - 1], pairs)
        assert codes is not None, "a key has at least one word"
        return codes


def between(distinct: Words, values: Words) -> Words:
    """Twice the place of each value among sorted ``distinct`` ones, and one more where it is equal to one."""
    left = np.searchsorted(distinct, values, "left")
    at = np.minimum(left, max(0, len(distinct) - 1))
    equal = distinct[at] == values if len(distinct) else np.zeros(len(values), np.bool_)
    return (2 * left + equal).astype(np.uint64)


class Composite:
    """Rows as one number by several columns, as fine as a sample of rows tells them apart."""

    def __init__(self, sample: Sequence[Values], columns: Sequence[KeyColumn]) -> None:
        self._scales = [Scale(array, column) for array, column in zip(sample, columns, strict=True)]
        self._folds: list[Words] = []
        self.sampled = self._combined(sample, learn=True)

    def codes(self, arrays: Sequence[Values]) -> Words:
        """One number a row; rows equal to a sampled one have its number."""
        return self._combined(arrays, learn=False)

    def _combined(self, arrays: Sequence[Values], *, learn: bool) -> Words:
        codes = self._scales[0].codes(arrays[0])
        for number, (scale, array) in enumerate(zip(self._scales[1:], arrays[1:], strict=True)):
            pairs = codes * np.uint64(scale.most + 2) + scale.codes(array)
            if learn:
                self._folds.append(np.unique(pairs))
            codes = between(self._folds[number], pairs)
        return codes
