"""``data`` of QueryResults in Trino's spooling protocol: segments, in the page or to be fetched from an address.

Source: ``EncodedQueryData`` and ``DataAttribute`` of Trino's client, and trino-python-client 0.340.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec


class SegmentMetadata(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Sizes in bytes; ``uncompressedSize`` is there only where the segment is compressed."""

    rowOffset: int
    rowsCount: int
    segmentSize: int
    uncompressedSize: int | None = None
    expiresAt: str | None = None


class WireSegment(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """``data`` is base64; otherwise the rows are at ``uri``, and a GET of ``ackUri`` says that the client has them."""

    type: Literal["inline", "spooled"]
    data: str | None = None
    uri: str | None = None
    ackUri: str | None = None
    metadata: SegmentMetadata


class EncodedData(msgspec.Struct, frozen=True, kw_only=True):
    encoding: str
    metadata: Mapping[str, str] = {}
    segments: tuple[WireSegment, ...]
