"""``checksum`` over whole columns: the sum of the hashes of ``type_hashes``, without a look at each value."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..types import Type
from .arrow_forms import reader
from .sketches.value_hashes import long_values, xx_hashes
from .type_hashes import FIRST, SECOND, type_hash

_MASK = (1 << 64) - 1
_SHORT_DECIMAL = 18
_LONGS = ("tinyint", "smallint", "integer", "bigint", "double", "real", "date", "timestamp", "timestamp with time zone")
Hashes = npt.NDArray[np.uint64]


def checksum(types: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    """The aggregate; None of no rows. NULL counts, too."""
    (column,), (type_,) = columns, types
    if not len(column):
        return None
    known = column.drop_null()
    found = _hashes(known, type_)
    if found is None:
        read = reader(type_)
        total = sum(type_hash(read(value), type_) for value in known.to_pylist())
    else:
        total = int(found.sum(dtype=np.uint64))
    return struct.pack("<Q", (total + column.null_count) * SECOND & _MASK)


def _hashes(values: pa.Array, type_: Type) -> Hashes | None:
    """Of each value of an array without NULLs; None for a type whose values are hashed one by one."""
    match type_.base:
        case "varchar" | "json" | "varbinary":
            return xx_hashes(values, type_)
        case "boolean":
            return np.where(values.to_numpy(zero_copy_only=False), 1231, 1237).astype(np.uint64)
        case "decimal" if type_.numbers[0] <= _SHORT_DECIMAL:
            return long_values(values, type_).view(np.uint64)
        case base if base in _LONGS:
            return _mixed(_longs(values, type_).view(np.uint64))
    return None


def _longs(values: pa.Array, type_: Type) -> npt.NDArray[np.int64]:
    found = long_values(values, type_)
    if type_.base in ("double", "real"):  # where the zeros are one
        found = np.where(found == (-(1 << 63) if type_.base == "double" else -(1 << 31)), 0, found)
    return np.ascontiguousarray(found)


def _mixed(numbers: Hashes) -> Hashes:
    turned = numbers * np.uint64(FIRST)
    return ((turned << np.uint64(31)) | (turned >> np.uint64(33))) * np.uint64(SECOND)
