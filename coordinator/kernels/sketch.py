"""Kernel ``sketch:run``: read some columns of data files, deleted rows left out, and sketch their distinct values."""

from __future__ import annotations

import base64
import json

import pyarrow as pa

from .rewrite import live_rows
from .tasks import write_task
from .theta import Theta


def run(payload: bytes) -> bytes:
    """Per field id, theta and the hashes (base64 of little-endian longs) of a WriteTask's fields, as JSON.

    The task's output is not used; raises KernelError.
    """
    task = write_task(payload)
    sketches = [Theta() for _ in task.fields]
    try:
        for arrays, _ in live_rows(task, []):
            for sketch, array in zip(sketches, arrays, strict=False):
                sketch.add(array)
    finally:
        pa.default_memory_pool().release_unused()
    return json.dumps(
        {
            str(field["id"]): [sketch.theta, base64.b64encode(sketch.hashes.astype("<u8").tobytes()).decode()]
            for field, sketch in zip(task.fields, sketches, strict=True)
        }
    ).encode()
