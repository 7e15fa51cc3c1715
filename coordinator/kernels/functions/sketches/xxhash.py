"""xxHash64, seed 0, of whole columns. Source: the specification at github.com/Cyan4973/xxHash."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(p)
    for p in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)
_ZERO = np.uint64(0)
_TURNS = (1, 7, 12, 18)


def xxhash64_rows(keys: npt.NDArray[np.uint8]) -> Words:
    """The hash of each row of ``keys`` (values, bytes)."""
    count, length = keys.shape
    stripes = length // 32
    with np.errstate(over="ignore"):
        found = _striped(keys, stripes) if stripes else np.full(count, _P5, np.uint64)
        found = found + np.uint64(length)
        return _finished(_rest(found, keys, stripes * 32))


def _striped(keys: npt.NDArray[np.uint8], stripes: int) -> Words:
    words = np.ascontiguousarray(keys[:, : stripes * 32]).view("<u8")
    lanes = [np.full(len(keys), start, np.uint64) for start in (_P1 + _P2, _P2, _ZERO, _ZERO - _P1)]
    for i in range(stripes):
        lanes = [_round(lane, words[:, 4 * i + j]) for j, lane in enumerate(lanes)]
    found = np.zeros(len(keys), np.uint64)
    for lane, turn in zip(lanes, _TURNS, strict=True):
        found += _turned(lane, turn)
    for lane in lanes:
        found = (found ^ _round(np.zeros_like(lane), lane)) * _P1 + _P4
    return found


def _rest(found: Words, keys: npt.NDArray[np.uint8], position: int) -> Words:
    length = keys.shape[1]
    while position + 8 <= length:
        word = np.ascontiguousarray(keys[:, position : position + 8]).view("<u8")[:, 0]
        found = _turned(found ^ _round(np.zeros_like(word), word), 27) * _P1 + _P4
        position += 8
    if position + 4 <= length:
        word = np.ascontiguousarray(keys[:, position : position + 4]).view("<u4")[:, 0].astype(np.uint64)
        found = _turned(found ^ (word * _P1), 23) * _P2 + _P3
        position += 4
    for place in range(position, length):
        found = _turned(found ^ (keys[:, place].astype(np.uint64) * _P5), 11) * _P1
    return found


def _round(lane: Words, words: Words) -> Words:
    return _turned(lane + words * _P2, 31) * _P1


def _turned(words: Words, bits: int) -> Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))


def _finished(found: Words) -> Words:
    found = (found ^ (found >> np.uint64(33))) * _P2
    found = (found ^ (found >> np.uint64(29))) * _P3
    return found ^ (found >> np.uint64(32))
