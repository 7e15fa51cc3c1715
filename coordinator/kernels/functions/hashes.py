"""Hash functions that Python's library lacks: xxHash64, MurmurHash3 x64 128, FNV and SpookyHash V2's short form."""

from __future__ import annotations

import struct

_MASK = (1 << 64) - 1


def _left(value: int, count: int) -> int:
    value &= _MASK
    return ((value << count) | (value >> (64 - count))) & _MASK


_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def _round(lane: int, word: int) -> int:
    return _left(lane + word * _P2, 31) * _P1 & _MASK


def xxhash64(data: bytes, seed: int = 0) -> int:
    """xxHash64 (github.com/Cyan4973/xxHash, specification)."""
    seed &= _MASK
    size, position = len(data), 0
    if size >= 32:
        lanes = [(seed + _P1 + _P2) & _MASK, (seed + _P2) & _MASK, seed, (seed - _P1) & _MASK]
        while position + 32 <= size:
            words = struct.unpack_from("<4Q", data, position)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            position += 32
        value = sum(_left(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            value = ((value ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        value = (seed + _P5) & _MASK
    return _xx_tail(data, position, (value + size) & _MASK)


def _xx_tail(data: bytes, position: int, value: int) -> int:
    while position + 8 <= len(data):
        (word,) = struct.unpack_from("<Q", data, position)
        value = (_left(value ^ _round(0, word), 27) * _P1 + _P4) & _MASK
        position += 8
    if position + 4 <= len(data):
        (word,) = struct.unpack_from("<I", data, position)
        value = (_left(value ^ (word * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        position += 4
    for byte in data[position:]:
        value = _left(value ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    value = (value ^ (value >> 33)) * _P2 & _MASK
    value = (value ^ (value >> 29)) * _P3 & _MASK
    return value ^ (value >> 32)


_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def _mix(value: int) -> int:
    value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ (value >> 33)) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ (value >> 33)


def murmur3_x64_128(data: bytes, seed: int = 0) -> bytes:
    """MurmurHash3_x64_128 of Appleby's smhasher, both halves in little-endian order."""
    a = b = seed
    whole = len(data) // 16 * 16
    for position in range(0, whole, 16):
        x, y = struct.unpack_from("<2Q", data, position)
        a ^= _left(x * _C1, 31) * _C2 & _MASK
        a = ((_left(a, 27) + b) * 5 + 0x52DCE729) & _MASK
        b ^= _left(y * _C2, 33) * _C1 & _MASK
        b = ((_left(b, 31) + a) * 5 + 0x38495AB5) & _MASK
    tail = data[whole:]
    if len(tail) > 8:
        b ^= _left(int.from_bytes(tail[8:], "little") * _C2, 33) * _C1 & _MASK
    if tail:
        a ^= _left(int.from_bytes(tail[:8], "little") * _C1, 31) * _C2 & _MASK
    a ^= len(data)
    b ^= len(data)
    a = (a + b) & _MASK
    b = (b + a) & _MASK
    a, b = _mix(a), _mix(b)
    a = (a + b) & _MASK
    return struct.pack("<2Q", a, (b + a) & _MASK)


def fnv(data: bytes, bits: int, alternative: bool) -> int:
    """FNV-1 or FNV-1a as a signed integer."""
    mask = (1 << bits) - 1
    prime = 0x01000193 if bits == 32 else 0x100000001B3
    value = 0x811C9DC5 if bits == 32 else 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * prime if alternative else (value * prime) ^ byte) & mask
    return value - (1 << bits) if value >> (bits - 1) else value


_SPOOKY = 0xDEADBEEFDEADBEEF
_SHORT_MIX = ((2, 50), (3, 52), (0, 30), (1, 41), (2, 54), (3, 48), (0, 38), (1, 37), (2, 62), (3, 34), (0, 5), (1, 36))
_SHORT_END = ((3, 15), (0, 52), (1, 26), (2, 51), (3, 28), (0, 9), (1, 47), (2, 54), (3, 32), (0, 25), (1, 63))
_LONG_MIX = (11, 32, 43, 31, 17, 28, 39, 57, 55, 54, 22, 46)
_LONG_END = (44, 15, 34, 21, 38, 33, 10, 13, 38, 53, 42, 54)


def spooky(data: bytes, seed: int = 0) -> int:
    """SpookyHash V2 (Jenkins), its first 64 bits."""
    return _spooky_short(data, seed) if len(data) < 192 else _spooky_long(data, seed)


def _short_mix(h: list[int]) -> None:
    for place, turn in _SHORT_MIX:
        following, other = (place + 1) % 4, (place + 2) % 4
        h[place] = (_left(h[place], turn) + h[following]) & _MASK
        h[other] ^= h[place]


def _short_end(h: list[int]) -> None:
    for place, turn in _SHORT_END:
        before = (place - 1) % 4
        h[place] ^= h[before]
        h[before] = _left(h[before], turn)
        h[place] = (h[place] + h[before]) & _MASK


def _spooky_short(data: bytes, seed: int) -> int:
    h = [seed, seed, _SPOOKY, _SPOOKY]
    position, remainder = 0, len(data) % 32
    if len(data) > 15:
        for position in range(0, len(data) // 32 * 32, 32):
            words = struct.unpack_from("<4Q", data, position)
            h[2], h[3] = (h[2] + words[0]) & _MASK, (h[3] + words[1]) & _MASK
            _short_mix(h)
            h[0], h[1] = (h[0] + words[2]) & _MASK, (h[1] + words[3]) & _MASK
        position = len(data) // 32 * 32
        if remainder >= 16:
            words = struct.unpack_from("<2Q", data, position)
            h[2], h[3] = (h[2] + words[0]) & _MASK, (h[3] + words[1]) & _MASK
            _short_mix(h)
            position, remainder = position + 16, remainder - 16
    tail = data[position:]
    h[3] = (h[3] + (len(data) << 56)) & _MASK
    if remainder:
        h[2] = (h[2] + int.from_bytes(tail[:8], "little")) & _MASK
        h[3] = (h[3] + int.from_bytes(tail[8:], "little")) & _MASK
    else:
        h[2], h[3] = (h[2] + _SPOOKY) & _MASK, (h[3] + _SPOOKY) & _MASK
    _short_end(h)
    return h[0]


def _spooky_long(data: bytes, seed: int) -> int:
    h = [seed, seed, _SPOOKY] * 4
    whole = len(data) // 96 * 96
    for position in range(0, whole, 96):
        words = struct.unpack_from("<12Q", data, position)
        for i, turn in enumerate(_LONG_MIX):
            h[i] = (h[i] + words[i]) & _MASK
            h[(i + 2) % 12] ^= h[(i + 10) % 12]
            h[(i + 11) % 12] ^= h[i]
            h[i] = _left(h[i], turn)
            h[(i + 11) % 12] = (h[(i + 11) % 12] + h[(i + 1) % 12]) & _MASK
    tail = data[whole:]
    last = tail.ljust(95, b"\0") + bytes([len(tail)])
    words = struct.unpack("<12Q", last)
    h = [(a + b) & _MASK for a, b in zip(h, words, strict=True)]
    for _ in range(3):
        for i, turn in enumerate(_LONG_END):
            a, b, c = (i + 11) % 12, (i + 1) % 12, (i + 2) % 12
            h[a] = (h[a] + h[b]) & _MASK
            h[c] ^= h[a]
            h[b] = _left(h[b], turn)
    return h[0]
