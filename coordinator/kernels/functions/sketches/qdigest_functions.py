"""Presto's functions of quantile digests."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...types import Type
from ..column_folds import ColumnFold, known_rows
from ..failures import check, invalid
from ..shown import shown
from ..table import Signature, Table, plain, typed
from . import tdigest_functions
from .qdigest import DEFAULT_ACCURACY, QuantileDigest, from_bytes
from .value_hashes import long_values


def keys_of(values: Any, type_: Type) -> npt.NDArray[np.int64]:
    """Numbers in whose order the values stand; NaN above all."""
    longs = long_values(values, type_)
    mask = np.int64((1 << 31) - 1 if type_.base == "real" else (1 << 63) - 1)
    return longs if type_.base == "bigint" else np.where(longs < 0, longs ^ mask, longs)


def _key(value: Any, base: str) -> int:
    if base == "bigint":
        return int(value)
    code, mask = (("<f", "<i"), (1 << 31) - 1) if base == "real" else (("<d", "<q"), (1 << 63) - 1)
    (bits,) = struct.unpack(code[1], struct.pack(code[0], float("nan") if value != value else value))
    return int(bits ^ mask if bits < 0 else bits)


def value_of(key: int, base: str) -> object:
    """The value of a key."""
    if base == "bigint":
        return key
    if base == "real":
        bits = key ^ ((1 << 31) - 1) if key < 0 else key
        return struct.unpack("<f", struct.pack("<i", bits))[0]
    return struct.unpack("<d", struct.pack("<q", key ^ ((1 << 63) - 1) if key < 0 else key))[0]


def _digest(values: object, type_: Type, weights: Sequence[int] | None, accuracy: float) -> QuantileDigest:
    keys: list[int] = keys_of(values, type_).tolist()
    made = QuantileDigest(accuracy)
    made.add(keys, [1] * len(keys) if weights is None else weights)
    # Presto's workers hand their part over as bytes.
    return from_bytes(made.to_bytes())


def _agg(types: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    if types[0].base not in ("bigint", "double", "real"):
        raise invalid(f"Unsupported type {types[0]} supplied")
    columns = known_rows(columns)
    if not len(columns[0]):
        return None
    weights = columns[1].to_pylist() if len(columns) > 1 else None
    for weight in weights or ():
        check(weight > 0, f"Percentile weight must be > 0, was {weight}")
    accuracy = columns[2][0].as_py() if len(columns) > 2 else DEFAULT_ACCURACY
    message = f"Percentile accuracy must be exclusively between 0 and 1, was {shown(accuracy)}"
    check(0 < accuracy < 1, message)
    return _digest(columns[0], types[0], weights, accuracy).to_bytes()


def merge_qdigests(_: tuple[Type, ...], columns: list[pa.Array]) -> bytes | None:
    """The aggregate ``merge`` of quantile digests."""
    made: QuantileDigest | None = None
    for data in columns[0].to_pylist():
        if data is not None:
            digest = from_bytes(data)
            if made is None:
                made = digest
            else:
                made.merge(digest)
    return None if made is None else from_bytes(made.to_bytes()).to_bytes()


def _element(type_: Type) -> str:
    return type_.arguments[0].base


def _values_at(signature: Signature, data: bytes, shares: tuple[float | None, ...]) -> tuple[object, ...]:
    if signature.arguments[0].base == "tdigest":
        return tdigest_functions.values_at(data, shares)  # type: ignore[arg-type]
    for share in shares:
        check(share is not None, "All quantiles should be non-null.")
        check(0 <= share <= 1, f"Quantile should be within bounds [0, 1], was: {shown(share)}")  # type: ignore[operator]
    keys = from_bytes(data).quantiles(shares)  # type: ignore[arg-type]
    return tuple(value_of(key, _element(signature.arguments[0])) for key in keys)


def _value_at(signature: Signature, data: bytes, share: float) -> object:
    return _values_at(signature, data, (share,))[0]


def _share_of(signature: Signature, data: bytes, value: Any) -> float | None:
    if signature.arguments[0].base == "tdigest":
        return tdigest_functions.share_of(data, value)
    return from_bytes(data).share_below(_key(value, _element(signature.arguments[0])))


def _scaled(data: bytes, factor: float) -> bytes:
    check(factor > 0, "Scale factor should be positive.")
    digest = from_bytes(data)
    digest.scale(factor)
    return digest.to_bytes()


QDIGEST_FOLDS: dict[str, ColumnFold] = {"qdigest_agg": _agg}
QDIGESTS: Table = {
    **plain(scale_qdigest=_scaled),
    **typed(value_at_quantile=_value_at, values_at_quantiles=_values_at, quantile_at_value=_share_of),
}
