"""Iceberg's partition transforms over Arrow arrays: the values that partitions have, exactly as the specification says.

Source: Iceberg specification, "Partition transforms" and "Appendix B: 32-bit hash requirements".
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .errors import KernelError
from .murmur import hashed_bytes, hashed_longs

_WITH_NUMBER = re.compile(r"(bucket|truncate)\[(\d+)\]")
_MICROS = {"day": 86_400_000_000, "hour": 3_600_000_000}


def transformed(array: pa.Array, transform: str) -> pa.Array:
    """The partition values of a plain array (no dictionary, no extension type); raises KernelError NOT_SUPPORTED."""
    if transform == "identity":
        return array
    if transform == "void":
        return pa.nulls(len(array), pa.int32())
    if found := _WITH_NUMBER.fullmatch(transform):
        return (bucketed if found[1] == "bucket" else truncated)(array, int(found[2]))
    if transform == "year" and _is_date_or_timestamp(array.type):
        return pc.subtract(pc.year(array), 1970).cast(pa.int32())
    if transform == "month" and _is_date_or_timestamp(array.type):
        months = pc.add(pc.multiply(pc.subtract(pc.year(array), 1970), 12), pc.subtract(pc.month(array), 1))
        return months.cast(pa.int32())
    if transform == "day" and pa.types.is_date(array.type):
        return array.cast(pa.int32())
    if transform in _MICROS and pa.types.is_timestamp(array.type):
        micros = pc.fill_null(_micros(array), 0).to_numpy(zero_copy_only=False)
        return pa.array((micros // _MICROS[transform]).astype(np.int32), mask=_nulls(array))
    raise KernelError("NOT_SUPPORTED", f"{transform} of {array.type} is no partition transform")


def truncated(array: pa.Array, width: int) -> pa.Array:
    """Text by characters, bytes by bytes, numbers down to a multiple of ``width`` (of the unscaled value)."""
    type_ = array.type
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return pc.utf8_slice_codeunits(array, 0, width)
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return pc.binary_slice(array, 0, width)
    if pa.types.is_integer(type_):
        values = pc.fill_null(array, 0).to_numpy(zero_copy_only=False).astype(np.int64)
        floored = values - np.mod(values, width)
        # As Java's numbers do, the least ones wrap around.
        return pa.array(floored.astype(type_.to_pandas_dtype()), mask=_nulls(array))
    if pa.types.is_decimal(type_):
        unscaled = [None if v is None else _unscaled(v, type_.scale) for v in array.to_pylist()]
        return _decimals([None if v is None else v - v % width for v in unscaled], type_.scale)
    raise KernelError("NOT_SUPPORTED", f"truncate of {type_} is no partition transform")


def bucketed(array: pa.Array, buckets: int) -> pa.Array:
    """The hash of each value, its sign dropped, modulo ``buckets``; nulls stay null."""
    hashes = _hashed(array)
    places = (hashes & np.uint32(0x7FFFFFFF)) % np.uint32(buckets)
    return pa.array(places.astype(np.int32), mask=_nulls(array))


def _hashed(array: pa.Array) -> npt.NDArray[np.uint32]:
    type_ = array.type
    if pa.types.is_decimal(type_):
        raw = [b"" if v is None else _least_bytes(_unscaled(v, type_.scale)) for v in array.to_pylist()]
        return hashed_bytes(pa.array(raw, pa.binary()))
    if pa.types.is_integer(type_):
        return hashed_longs(_numbers(array))
    if pa.types.is_date(type_):
        return hashed_longs(_numbers(array.cast(pa.int32())))
    if pa.types.is_time(type_):
        return hashed_longs(_numbers(array.cast(pa.time64("us")).cast(pa.int64())))
    if pa.types.is_timestamp(type_):
        return hashed_longs(_numbers(_micros(array)))
    if pa.types.is_fixed_size_binary(type_) or pa.types.is_binary(type_) or pa.types.is_string(type_):
        return hashed_bytes(pc.fill_null(array.cast(pa.binary()), b""))
    raise KernelError("NOT_SUPPORTED", f"bucket of {type_} is no partition transform")


def _is_date_or_timestamp(type_: pa.DataType) -> bool:
    return any(check(type_) for check in (pa.types.is_date, pa.types.is_timestamp))


def _micros(array: pa.Array) -> pa.Array:
    return array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())


def _numbers(array: pa.Array) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = pc.fill_null(array, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _nulls(array: pa.Array) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return found


def _unscaled(value: Any, scale: int) -> int:
    sign, digits, exponent = value.as_tuple()
    number: int = int("".join(map(str, digits)) or "0") * 10 ** (exponent + scale)
    return -number if sign else number


def _decimals(unscaled: list[int | None], scale: int) -> pa.Array:
    """Of the greatest precision: the least values of a narrow type are truncated below it."""
    words = pa.array([None if v is None else v.to_bytes(16, "little", signed=True) for v in unscaled], pa.binary(16))
    return pa.Array.from_buffers(pa.decimal128(38, scale), len(words), words.buffers()[:2])


def _least_bytes(unscaled: int) -> bytes:
    """Two's complement, big-endian, in as few bytes as hold it."""
    magnitude = unscaled if unscaled >= 0 else ~unscaled
    return unscaled.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)
