"""What set digests and KHyperLogLogs share: the smallest hashes of a set, in signed order, and estimates from them.

Source: A. Broder, "On the resemblance and containment of documents", with Presto's rules.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Set

from ...errors import KernelError

VERSION = 1


class Input:
    """A reader of stored bytes; raises GENERIC_INTERNAL_ERROR where they end early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def version(self) -> None:
        """Read the first byte, which has to be 1."""
        if self.numbers("b", 1) != (VERSION,):
            raise KernelError("GENERIC_INTERNAL_ERROR", "Unexpected version")

    def numbers(self, code: str, count: int) -> tuple[int, ...]:
        """The next little-endian numbers."""
        if count < 0:
            raise KernelError("GENERIC_INTERNAL_ERROR", "Internal error")
        text = f"<{count}{code}"
        return struct.unpack(text, self.bytes(struct.calcsize(text)))

    def bytes(self, count: int) -> bytes:
        """The next bytes."""
        end = self._place + count
        if count < 0 or end > len(self._data):
            raise KernelError("GENERIC_INTERNAL_ERROR", "Internal error")
        found = self._data[self._place : end]
        self._place = end
        return found


def smallest(keys: Iterable[int], most: int) -> list[int]:
    """The smallest of different keys, in order."""
    return sorted(keys)[:most]


def jaccard(first: Set[int], other: Set[int]) -> float:
    """The share of keys in both among the smallest of all, as many as the smaller set has."""
    size = min(len(first), len(other))
    both = first & other
    met = sum(key in both for key in smallest(first | other, size))
    return met / size if size else math.nan


def rounded(value: float) -> int:
    """As Java rounds."""
    return 0 if math.isnan(value) else math.floor(value + 0.5)
