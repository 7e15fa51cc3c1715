"""Kernel ``sketch:run``: read some columns of data files, deleted rows left out, and sketch their distinct values."""

from __future__ import annotations

import pyarrow as pa

from .rewrite import live_rows
from .tasks import Sketch, Sketches, WriteTask
from .theta import Theta
from .wire import decode, encode


def run(payload: bytes) -> bytes:
    """The Sketches of a WriteTask, whose output is not used; raises KernelError."""
    task = decode(WriteTask, payload)
    sketches = [Theta() for _ in task.fields]
    try:
        for arrays, _ in live_rows(task, []):
            for sketch, array in zip(sketches, arrays, strict=False):
                sketch.add(array)
    finally:
        pa.default_memory_pool().release_unused()
    found = {
        str(field["id"]): Sketch(sketch.theta, sketch.hashes.astype("<u8").tobytes())
        for field, sketch in zip(task.fields, sketches, strict=True)
    }
    return encode(Sketches(found))
