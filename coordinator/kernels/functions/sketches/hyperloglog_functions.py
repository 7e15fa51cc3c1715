"""Presto's functions of HyperLogLog."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import KernelError
from ...types import Type
from ..arrow_forms import arrow_type, writer
from ..column_folds import ColumnFold, known_rows
from ..table import Function, Signature, Table, plain
from .hyperloglog import (
    APPROX_DISTINCT_ERROR,
    APPROX_SET_ERROR,
    HyperLogLog,
    bits_of,
    from_bytes,
    merged,
    of_hashes,
    of_ranks,
)
from .value_hashes import Hashes, murmur_hashes, murmur_of_longs, xx_hashes

_NO_OPERATOR = ("interval day to second", "interval year to month", "json")
_NESTED = ("array", "map", "row")


def _bits(columns: list[pa.Array], standard: float) -> int:
    """Of the first row's error; later ones are ignored."""
    return bits_of(columns[1][0].as_py() if len(columns) > 1 else standard)


def _sketch(
    columns: list[pa.Array], type_: Type, hashes: Callable[[pa.Array, Type], Hashes], standard: float
) -> HyperLogLog:
    return of_hashes(hashes(columns[0], type_), _bits(columns, standard))


def _approx_set(types: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    columns = known_rows(columns)
    return _sketch(columns, types[0], murmur_hashes, APPROX_SET_ERROR).to_bytes() if len(columns[0]) else None


def check_xx_hashed(type_: Type) -> None:
    """Raise what Presto says of a type without the hash of ``approx_distinct``."""
    if type_.base in _NO_OPERATOR:
        raise KernelError("OPERATOR_NOT_FOUND", f"'XX HASH 64' cannot be applied to {type_}")
    if type_.base in _NESTED:
        bound = f"BoundVariables{{typeVariables={{T={type_}}}, longVariables={{}}}}"
        message = f"Unsupported type parameters ({bound}) for presto.default.approx_distinct<T>(T):bigint"
        raise KernelError("FUNCTION_IMPLEMENTATION_MISSING", message)


def _approx_distinct(types: tuple[Type, ...], columns: list[pa.Array]) -> int:
    type_ = types[0]
    check_xx_hashed(type_)
    columns = known_rows(columns)
    if not len(columns[0]):
        return 0
    if type_.base == "boolean":
        return len(pc.unique(columns[0]))
    return _sketch(columns, type_, xx_hashes, APPROX_DISTINCT_ERROR).cardinality()


def merge_hyperloglogs(_: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    """The aggregate ``merge`` of HyperLogLog."""
    return _merged((data for data in columns[0].to_pylist() if data is not None), "INVALID_FUNCTION_ARGUMENT")


def _merged(parts: Iterable[bytes], mismatch: str) -> bytes | None:
    made: HyperLogLog | None = None
    for data in parts:
        sketch = from_bytes(data)
        made = sketch if made is None else merged(made, sketch, mismatch)
    return None if made is None else made.to_bytes()


def _merge_hll(parts: tuple[bytes | None, ...]) -> bytes | None:
    return _merged((data for data in parts if data is not None), "GENERIC_INTERNAL_ERROR")


def _empty(error: float = APPROX_SET_ERROR) -> bytes:
    return of_hashes(np.empty(0, np.uint64), bits_of(error)).to_bytes()


def _create(value: object, error: float = APPROX_SET_ERROR) -> bytes:
    return of_hashes(murmur_of_longs([value]), bits_of(error)).to_bytes()


def _estimate_of_ranks(pairs: tuple[int, ...], bits: int) -> int:
    return of_ranks(np.array(pairs, np.int64), bits).cardinality()


def xx_hash_column(type_: Type, values: pa.Array) -> pa.Array:
    """The hashes of a column as ``bigint``, NULL where it is NULL."""
    known = values.drop_null()
    hashes = np.zeros(len(values), np.int64)
    hashes[values.is_valid().to_numpy(zero_copy_only=False)] = xx_hashes(known, type_).view(np.int64)
    return pa.array(hashes, mask=values.is_null().to_numpy(zero_copy_only=False))


def _xx_hash(signature: Signature, value: object) -> int:
    (type_,) = signature.arguments
    (found,) = xx_hash_column(type_, pa.array([writer(type_)(value)], arrow_type(type_))).to_pylist()
    return int(found)


HYPERLOGLOG_FOLDS: dict[str, ColumnFold] = {"approx_set": _approx_set, "approx_distinct": _approx_distinct}
HYPERLOGLOG: Table = {
    **plain(create_hll=_create, empty_approx_set=_empty, merge_hll=_merge_hll),
    "$xx_hash_64": Function(_xx_hash, typed=True),
    "$estimate_of_ranks": Function(_estimate_of_ranks),
}
"""Those with a dollar begin and end an ``approx_distinct`` whose ranks an engine collects."""
