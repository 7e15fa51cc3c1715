"""Deletion vectors as bytes: a 64-bit Roaring bitmap in its frame, alone in a Puffin file.

Sources: Iceberg's Puffin specification (``deletion-vector-v1``); Roaring's format specification ("portable").
"""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]
_MAGIC = 0x6439D3D1
_NO_RUNS = 12346
_MOST_LISTED = 4096
"""Containers with more values than this are bitmaps of 2^16 bits."""
_ROW_POSITION = 2147483645
_PUFFIN = b"PFA1"


def puffin_with(positions: Positions, data_file: str) -> tuple[bytes, int, int]:
    """A Puffin file with the vector of ``data_file``, and offset and length of its blob; positions are distinct and
    sorted."""
    blob = vector_blob(positions)
    listed = {
        "type": "deletion-vector-v1",
        "fields": [_ROW_POSITION],
        "snapshot-id": -1,
        "sequence-number": -1,
        "offset": len(_PUFFIN),
        "length": len(blob),
        "properties": {"referenced-data-file": data_file, "cardinality": str(len(positions))},
    }
    text = json.dumps({"blobs": [listed], "properties": {"created-by": "Procession"}}, separators=(",", ":")).encode()
    footer = _PUFFIN + text + struct.pack("<iI", len(text), 0) + _PUFFIN
    return _PUFFIN + blob + footer, len(_PUFFIN), len(blob)


def vector_blob(positions: Positions) -> bytes:
    """The framed bitmap: length, magic, bitmaps by their upper 32 bits, checksum."""
    keys, starts = np.unique(positions >> 32, return_index=True)
    parts = [struct.pack("<Q", len(keys))]
    for key, low in zip(keys.tolist(), np.split(positions & 0xFFFFFFFF, starts[1:]), strict=True):
        parts += [struct.pack("<I", key), _bitmap(low)]
    body = struct.pack("<I", _MAGIC) + b"".join(parts)
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def _bitmap(values: Positions) -> bytes:
    """A 32-bit bitmap without run containers."""
    keys, starts = np.unique(values >> 16, return_index=True)
    containers = [_container(low) for low in np.split(values & 0xFFFF, starts[1:])]
    counts = np.diff(np.append(starts, len(values))) - 1
    header = struct.pack("<II", _NO_RUNS, len(keys))
    header += np.stack([keys, counts], axis=1).astype("<u2").tobytes()
    at = len(header) + 4 * len(keys)
    offsets = []
    for container in containers:
        offsets.append(at)
        at += len(container)
    return header + np.array(offsets, "<u4").tobytes() + b"".join(containers)


def _container(values: Positions) -> bytes:
    if len(values) <= _MOST_LISTED:
        return values.astype("<u2").tobytes()
    bits = np.zeros(1 << 16, np.uint8)
    bits[values] = 1
    return np.packbits(bits, bitorder="little").tobytes()
