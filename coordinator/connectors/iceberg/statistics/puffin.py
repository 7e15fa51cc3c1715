"""Puffin files: blobs behind a header, described by a JSON footer. Source: Iceberg's Puffin specification."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import zstandard

_MAGIC = b"PFA1"


@dataclass(frozen=True, slots=True)
class Blob:
    """One blob about ``fields`` (ids) of a snapshot."""

    type: str
    fields: tuple[int, ...]
    snapshot_id: int
    sequence_number: int
    data: bytes
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PuffinBytes:
    """A whole file, and how many bytes of it are the footer."""

    data: bytes
    footer_size: int


def puffin(blobs: Sequence[Blob], created_by: str) -> PuffinBytes:
    """The file with its blobs compressed by zstd and a plain footer."""
    body, listed = bytearray(_MAGIC), []
    for blob in blobs:
        packed = zstandard.ZstdCompressor().compress(blob.data)
        entry: dict[str, object] = {
            "type": blob.type,
            "fields": list(blob.fields),
            "snapshot-id": blob.snapshot_id,
            "sequence-number": blob.sequence_number,
            "offset": len(body),
            "length": len(packed),
            "compression-codec": "zstd",
            "properties": dict(blob.properties),
        }
        listed.append(entry)
        body += packed
    text = json.dumps({"blobs": listed, "properties": {"created-by": created_by}}, separators=(",", ":")).encode()
    footer = _MAGIC + text + struct.pack("<iI", len(text), 0) + _MAGIC
    return PuffinBytes(bytes(body) + footer, len(footer))
