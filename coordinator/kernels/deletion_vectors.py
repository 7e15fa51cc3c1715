"""Deletion vectors: the deleted positions of one data file as a 64-bit Roaring bitmap inside a Puffin file.

Sources: Iceberg's Puffin specification (blob ``deletion-vector-v1``); Roaring's format specification ("portable").
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from .errors import KernelError, reading
from .storage import resolve
from .tasks import DeleteFile

Positions = npt.NDArray[np.int64]
_MAGIC = 0x6439D3D1
_RUNS, _NO_RUNS = 12347, 12346
_OFFSETS_FROM = 4
"""Bitmaps with runs list the places of their containers from this number of them on."""
_MOST_LISTED = 4096
"""Containers with more values than this are bitmaps of 2^16 bits."""


def read_vector(file: DeleteFile, storage: Mapping[str, str]) -> Positions:
    """The deleted positions of ``file.data_file``, sorted; raises KernelError ICEBERG_BAD_DATA for a broken blob."""
    assert file.offset is not None
    with reading(file.path):
        filesystem, path = resolve(file.path, storage)
        with filesystem.open_input_file(path) as source:
            blob = source.read_at(file.length, file.offset)
        try:
            return decoded(blob)
        except (struct.error, ValueError, IndexError) as error:
            message = f"Deletion vector at {file.offset} of {file.path} cannot be read: {error}"
            raise KernelError("ICEBERG_BAD_DATA", message) from error


def decoded(blob: bytes) -> Positions:
    """The positions of a blob; raises ValueError when its frame or checksum is wrong."""
    length, magic = struct.unpack_from(">I", blob)[0], struct.unpack_from("<I", blob, 4)[0]
    if magic != _MAGIC or len(blob) != length + 8:
        raise ValueError("its frame is wrong")
    if zlib.crc32(blob[4:-4]) != struct.unpack(">I", blob[-4:])[0]:
        raise ValueError("its checksum is wrong")
    found: list[Positions] = []
    at = 16
    for _ in range(struct.unpack_from("<Q", blob, 8)[0]):
        key = struct.unpack_from("<I", blob, at)[0]
        low, at = _bitmap(blob, at + 4)
        found.append(low + (key << 32))
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _bitmap(blob: bytes, at: int) -> tuple[Positions, int]:
    """The values of a 32-bit bitmap that begins at ``at``, and where it ends."""
    cookie = struct.unpack_from("<I", blob, at)[0]
    at += 4
    runs = b""
    if cookie & 0xFFFF == _RUNS:
        count = (cookie >> 16) + 1
        runs = blob[at : at + (count + 7) // 8]
        at += len(runs)
    elif cookie == _NO_RUNS:
        count = struct.unpack_from("<I", blob, at)[0]
        at += 4
    else:
        raise ValueError(f"its cookie is {cookie}")
    header = np.frombuffer(blob, "<u2", 2 * count, at).reshape(count, 2).astype(np.int64)
    at += 4 * count
    if not runs or count >= _OFFSETS_FROM:
        at += 4 * count
    found = []
    for i, (key, less_one) in enumerate(header.tolist()):
        is_run = bool(runs and runs[i // 8] >> i % 8 & 1)
        values, at = _run_container(blob, at) if is_run else _container(blob, at, less_one + 1)
        found.append(values + (key << 16))
    return (np.concatenate(found) if found else np.zeros(0, np.int64)), at


def _container(blob: bytes, at: int, count: int) -> tuple[Positions, int]:
    if count <= _MOST_LISTED:
        return np.frombuffer(blob, "<u2", count, at).astype(np.int64), at + 2 * count
    bits = np.unpackbits(np.frombuffer(blob, np.uint8, 8192, at), bitorder="little")
    return np.flatnonzero(bits).astype(np.int64), at + 8192


def _run_container(blob: bytes, at: int) -> tuple[Positions, int]:
    count = struct.unpack_from("<H", blob, at)[0]
    runs = np.frombuffer(blob, "<u2", 2 * count, at + 2).reshape(count, 2).astype(np.int64)
    values = [np.arange(start, start + more + 1) for start, more in runs.tolist()]
    return (np.concatenate(values) if values else np.zeros(0, np.int64)), at + 2 + 4 * count
