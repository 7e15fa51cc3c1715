"""The 64-bit hashes of a column of values, as Presto's sketches hash them: Murmur3 for most, xxHash64 for others.

Source: facts replayed against a real Presto 0.296; a number is hashed as its eight little-endian bytes, text as UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_address
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import KernelError
from ...theta import murmur3
from ...types import Type
from ..date_texts import clock_instant
from .xxhash import xxhash64_rows

Hashes = npt.NDArray[np.uint64]
HashRows = Callable[[npt.NDArray[np.uint8]], Hashes]
_SHORT_DECIMAL = 18
_SIGN = np.uint64(1 << 63)


def murmur_hashes(values: pa.Array, type_: Type) -> Hashes:
    """The first word of Murmur3 x64 128 of each value of an Arrow array without nulls."""
    return _hashed(values, type_, lambda rows: murmur3(rows, seed=0))


def xx_hashes(values: pa.Array, type_: Type) -> Hashes:
    """Presto's XX_HASH_64 of each value of an Arrow array without nulls."""
    return _hashed(values, type_, xxhash64_rows)


def murmur_of_longs(values: object) -> Hashes:
    """Murmur3 of numbers."""
    return _longs(np.asarray(values).astype(np.int64), lambda rows: murmur3(rows, seed=0))


def _hashed(values: pa.Array, type_: Type, rows: HashRows) -> Hashes:
    match type_.base:
        case "varchar" | "varbinary" | "json":
            return _bytes(values, rows)
        case "char":
            return _bytes(pc.utf8_rtrim(values, " "), rows)
        case "uuid":
            return _bytes(_converted(values, lambda text: UUID(text).bytes), rows)
        case "ipaddress":
            return _bytes(_converted(values, _address), rows)
        case "ipprefix":
            return _bytes(_converted(values, _prefix), rows)
        case "decimal" if type_.numbers[0] > _SHORT_DECIMAL:
            return rows(_magnitudes(values))
        case _:
            return _longs(long_values(values, type_), rows)


def long_values(values: pa.Array, type_: Type) -> npt.NDArray[np.int64]:
    """The long that Presto keeps each value as; raises NOT_SUPPORTED where it keeps none."""
    match type_.base:
        case "double":
            return _bits(values, np.float64, np.int64)
        case "real":
            return _bits(values, np.float32, np.int32)
        case "decimal":
            return _words(values)[:, 0].view(np.int64)
        case "timestamp" | "timestamp with time zone":
            return _plain(values, pa.int64()) // 1000
        case "time" if pa.types.is_time64(values.type):
            return _plain(values, pa.int64()) // 1000
        case "time" | "clock" | "time with time zone":
            return np.array([clock_instant(_with_zone(v)) for v in values.to_pylist()], np.int64)
        case "date":
            return _plain(values, pa.int32()).astype(np.int64)
        case _ if pa.types.is_integer(values.type) or pa.types.is_boolean(values.type):
            return values.to_numpy(zero_copy_only=False).astype(np.int64)
        case _:  # Presto hashes its own bytes of them
            raise KernelError("NOT_SUPPORTED", f"Sketches of values of type {type_} are not supported")


def _with_zone(text: str) -> str:
    return text if "+" in text or "-" in text or text[-1:].isalpha() or " " in text else f"{text} UTC"


def _plain(values: pa.Array, type_: pa.DataType) -> npt.NDArray[np.int64]:
    return values.cast(type_).to_numpy(zero_copy_only=False)


def _bits(values: pa.Array, number: type[np.floating], integer: type[np.integer]) -> npt.NDArray[np.int64]:
    found = values.to_numpy(zero_copy_only=False).astype(number)
    # Java knows one NaN.
    return np.where(np.isnan(found), number(np.nan), found).view(integer).astype(np.int64)


def _words(values: pa.Array) -> npt.NDArray[np.uint64]:
    data = np.frombuffer(memoryview(values.buffers()[1] or b""), "<u8")
    return data[values.offset * 2 : (values.offset + len(values)) * 2].reshape(-1, 2)


def _magnitudes(values: pa.Array) -> npt.NDArray[np.uint8]:
    words = _words(values).copy()
    negative = words[:, 1] >= _SIGN
    low, high = ~words[negative, 0] + np.uint64(1), ~words[negative, 1]
    high += low == 0
    words[negative, 0], words[negative, 1] = low, high | _SIGN
    return words.view(np.uint8).reshape(-1, 16)


def _address(text: str) -> bytes:
    address = ip_address(text)
    return address.packed if address.version == 6 else b"\0" * 10 + b"\xff\xff" + address.packed


def _prefix(text: str) -> bytes:
    address, _, length = text.partition("/")
    return _address(address) + bytes([int(length)])


def _converted(values: pa.Array, convert: Callable[[str], bytes]) -> pa.Array:
    return pa.array([convert(v) for v in values.to_pylist()], pa.binary())


def _longs(values: npt.NDArray[np.int64], rows: HashRows) -> Hashes:
    return rows(np.ascontiguousarray(values.astype("<i8")).view(np.uint8).reshape(-1, 8))


def _bytes(values: pa.Array, rows: HashRows) -> Hashes:
    found = np.empty(len(values), np.uint64)
    for places, data in _by_length(values):
        found[places] = rows(data)
    return found


def _by_length(values: pa.Array) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]]:
    """Where the values of each length stand, and their bytes as a matrix."""
    if len(values) == 0:
        return
    large = pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type)
    _, offset_buffer, data_buffer = values.buffers()
    whole = np.frombuffer(memoryview(offset_buffer or b""), "<i8" if large else "<i4")
    offsets = whole[values.offset : values.offset + len(values) + 1].astype(np.int64)
    data = np.frombuffer(memoryview(data_buffer or b""), np.uint8)
    lengths = np.diff(offsets)
    order = np.argsort(lengths, kind="stable")
    for same in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        length = int(lengths[same[0]])
        yield same, data[offsets[same][:, None] + np.arange(length)].reshape(len(same), length)
