"""Murmur3, 32 bits, x86 variant, seed 0, over whole columns. Source: A. Appleby, MurmurHash3 (public domain)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint32]
_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_PRIME, _MIX = np.uint32(5), np.uint32(0xE6546B64)
_END1, _END2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)


def hashed_longs(values: npt.NDArray[np.int64]) -> Hashes:
    """The hash of each number's eight bytes, least first.

    >>> int(hashed_longs(np.array([34]))[0])
    2017239379
    """
    words = values.astype("<i8").view("<u4").reshape(-1, 2)
    with np.errstate(over="ignore"):
        found = _mixed(_mixed(np.zeros(len(values), np.uint32), words[:, 0]), words[:, 1])
        return _ended(found, np.full(len(values), 8, np.uint32))


def hashed_bytes(array: Any) -> Hashes:
    """The hash of each value of an Arrow binary array without nulls.

    >>> import pyarrow as pa
    >>> int(hashed_bytes(pa.array([b"iceberg"]))[0])
    1210000089
    """
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    data = np.frombuffer(data_buffer or b"", np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)
    found = np.zeros(len(array), np.uint32)
    with np.errstate(over="ignore"):
        for block in range(int(lengths.max(initial=0)) // 4):
            rows = np.flatnonzero(lengths >= 4 * block + 4)
            found[rows] = _mixed(found[rows], _word(data, starts[rows] + 4 * block, 4))
        for rest in (1, 2, 3):
            rows = np.flatnonzero(lengths % 4 == rest)
            tail = _word(data, starts[rows] + lengths[rows] - rest, rest)
            found[rows] ^= _rotated(tail * _C1, 15) * _C2
        return _ended(found, lengths.astype(np.uint32))


def _word(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], size: int) -> Hashes:
    word = np.zeros(len(starts), np.uint32)
    for place in range(size):
        word |= data[starts + place].astype(np.uint32) << np.uint32(8 * place)
    return word


def _mixed(hashes: Hashes, words: Hashes) -> Hashes:
    return _rotated(hashes ^ (_rotated(words * _C1, 15) * _C2), 13) * _PRIME + _MIX


def _rotated(words: Hashes, bits: int) -> Hashes:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))


def _ended(hashes: Hashes, lengths: Hashes) -> Hashes:
    found = hashes ^ lengths
    found = (found ^ (found >> np.uint32(16))) * _END1
    found = (found ^ (found >> np.uint32(13))) * _END2
    return found ^ (found >> np.uint32(16))
