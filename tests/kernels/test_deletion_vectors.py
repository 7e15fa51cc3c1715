"""Deletion vectors of every kind of container, against the Roaring library that PyIceberg uses."""

from __future__ import annotations

import random
import struct
import zlib

import pytest
from pyroaring import BitMap

from coordinator.kernels.deletion_vectors import decoded

MAGIC = 0x6439D3D1


def framed(vector: bytes) -> bytes:
    body = struct.pack("<I", MAGIC) + vector
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def values(chosen: random.Random) -> set[int]:
    """Positions in up to six containers: few, many, a run, all."""
    found: set[int] = set()
    for _ in range(chosen.randint(1, 6)):
        base = chosen.randrange(40) << 16
        start = base + chosen.randrange(60_000)
        kinds = (
            {base + chosen.randrange(1 << 16) for _ in range(chosen.randint(1, 50))},
            {base + chosen.randrange(1 << 16) for _ in range(9000)},
            set(range(start, start + chosen.randint(1, 5000))),
            set(range(base, base + (1 << 16))),
        )
        found |= chosen.choice(kinds)
    return found


@pytest.mark.parametrize("seed", range(25))
def test_positions_are_those_of_the_library(seed: int) -> None:
    chosen = random.Random(seed)
    keys = sorted(chosen.sample(range(3), chosen.randint(0, 2)))
    vector, expected = struct.pack("<Q", len(keys)), []
    for key in keys:
        found = values(chosen)
        bitmap = BitMap(found)
        if chosen.random() < 0.6:
            bitmap.run_optimize()
        vector += struct.pack("<I", key) + bitmap.serialize()
        expected += [(key << 32) + value for value in sorted(found)]
    assert decoded(framed(vector)).tolist() == expected


def test_a_broken_blob_is_refused() -> None:
    blob = framed(struct.pack("<QI", 1, 0) + BitMap([1, 2, 3]).serialize())
    assert decoded(blob).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="checksum"):
        decoded(blob[:20] + bytes([blob[20] ^ 1]) + blob[21:])
    with pytest.raises(ValueError, match="frame"):
        decoded(blob[:-1])
