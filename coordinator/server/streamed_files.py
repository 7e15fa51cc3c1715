"""Rows as the bytes of a file that is sent while it grows: an Arrow stream, or Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from coordinator.dispatch.arrow_chunks import END_OF_STREAM
from coordinator.dispatch.pages import Chunk
from coordinator.server.media_types import ARROW_STREAM, PARQUET

_GROUP_BYTES = 32 << 20
"""Of rows that wait for a row group to be written: what one download takes of memory, about."""


class StreamedFile(Protocol):
    """The methods give what is to be sent; ``computes``: they take a while, and belong on a thread."""

    media_type: str
    computes: bool

    def begin(self, schema: pa.Schema) -> bytes: ...

    def add(self, chunks: Sequence[Chunk]) -> bytes: ...

    def end(self) -> bytes: ...


class ArrowFile:
    """Messages as they are."""

    media_type = ARROW_STREAM
    computes = False

    def begin(self, schema: pa.Schema) -> bytes:
        return schema.serialize().to_pybytes()

    def add(self, chunks: Sequence[Chunk]) -> bytes:
        return b"".join(chunk.data for chunk in chunks)

    def end(self) -> bytes:
        return END_OF_STREAM


class ParquetFile:
    """Row groups of some 32 MB, with Presto's types in the fields' metadata as in the Arrow stream."""

    media_type = PARQUET
    computes = True

    def __init__(self) -> None:
        self._sink = _Sent()
        self._schema = pa.schema([])
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._size = 0

    def begin(self, schema: pa.Schema) -> bytes:
        self._schema = schema
        self._writer = pq.ParquetWriter(self._sink, schema)
        return self._sink.taken()

    def add(self, chunks: Sequence[Chunk]) -> bytes:
        self._waiting += [pa.ipc.read_record_batch(pa.py_buffer(chunk.data), self._schema) for chunk in chunks]
        self._size += sum(len(chunk.data) for chunk in chunks)
        if self._size >= _GROUP_BYTES:
            self._write()
        return self._sink.taken()

    def end(self) -> bytes:
        self._write()
        if self._writer is not None:
            self._writer.close()
        return self._sink.taken()

    def _write(self) -> None:
        rows, self._waiting, self._size = pa.Table.from_batches(self._waiting, self._schema), [], 0
        if rows.num_rows and self._writer is not None:
            self._writer.write_table(rows, row_group_size=rows.num_rows)


class _Sent:
    """Where a writer writes: bytes are taken away as they come."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._position = 0

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        return None

    def close(self) -> None:
        return None

    def writable(self) -> bool:
        return True

    def taken(self) -> bytes:
        """What has been written since."""
        parts, self._parts = self._parts, []
        return b"".join(parts)
