"""Presto's SerializedPage: rows as typed blocks, how ``binaryResults`` clients receive them.

Layout (little-endian): int32 rows, byte of codec markers (0: plain), int32 uncompressed size, int32 size, int64
checksum (0: none), then int32 number of blocks and the blocks. Source: presto-docs ``develop/serialized-page.rst`` and
a page recorded from a Presto 0.296 coordinator.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from shared.plan.blocks import encode_block


def serialize_page(columns: Sequence[tuple[str, Sequence[object]]], rows: int) -> bytes:
    """The page of ``columns``, each a type text and ``rows`` values as ``encode_constant`` takes them.

    Raises ValueError for a value that is none of its type.
    """
    body = bytearray(struct.pack("<i", len(columns)))
    for type_text, values in columns:
        body += encode_block(values, type_text)
    return struct.pack("<ibiiq", rows, 0, len(body), len(body), 0) + bytes(body)
