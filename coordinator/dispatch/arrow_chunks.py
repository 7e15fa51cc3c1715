"""Batches as messages of an Arrow IPC stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import pyarrow as pa

from coordinator.dispatch.arrow_types import client_batch
from coordinator.dispatch.pages import Chunk
from shared.plan.types import Type

END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
"""What closes a stream outside of Flight; without it a reader knows that rows are missing."""
_PREFIX = 8
Compression = Literal["none", "lz4", "zstd"]
"""Of the buffers in each message, which every reader of Arrow's recognizes by itself."""


def arrow_chunks(
    batch: pa.RecordBatch,
    types: Sequence[Type],
    schema: pa.Schema,
    *,
    max_rows: int,
    max_size: int,
    compression: Compression = "none",
) -> Iterator[Chunk]:
    """Messages of even size: each of at most ``max_rows`` rows and about ``max_size`` bytes, or up to half more.

    The sizes are those before compression.
    """
    if batch.num_rows == 0:
        return
    rows = client_batch(batch, types, schema)
    parts = max(-(-rows.num_rows // max_rows), round(rows.nbytes / max_size), 1)
    step = -(-rows.num_rows // parts)
    for start in range(0, rows.num_rows, step):
        part = rows.slice(start, step)
        yield Chunk(memoryview(_message(part, compression)), part.num_rows)


def _message(part: pa.RecordBatch, compression: Compression) -> pa.Buffer:
    if compression == "none":
        return part.serialize()
    sink = pa.BufferOutputStream()
    # On the thread of the statement alone: one with many rows does not take the cores of all.
    options = pa.ipc.IpcWriteOptions(compression=compression, use_threads=False)
    writer = pa.ipc.new_stream(sink, part.schema, options=options)
    writer.write_batch(part)
    return sink.getvalue().slice(part.schema.serialize().size)  # behind the schema, which writers begin with


def split_message(message: bytes | memoryview) -> tuple[memoryview, memoryview]:
    """The header and the body of an IPC message, which Flight sends apart from each other."""
    view = memoryview(message)
    end = _PREFIX + int.from_bytes(view[4:_PREFIX], "little")
    return view[_PREFIX:end], view[end:]
