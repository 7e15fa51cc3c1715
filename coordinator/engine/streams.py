"""Arrow streams of connectors, read by the coordinator itself."""

from __future__ import annotations

import pyarrow as pa

from shared.errors import ErrorCode, ProcessionError
from shared.spi.relation import ArrowStream


def reader_of(rows: ArrowStream) -> pa.RecordBatchReader:
    """A reader as it is, which raises what its source raises; Arrow makes a text of that for any other stream."""
    return rows if isinstance(rows, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(rows)


def unreadable(error: Exception) -> ProcessionError:
    """The user's error behind that of a stream: without the places in programs that Arrow adds to texts."""
    if isinstance(error, ProcessionError):
        return error
    reason = str(error).partition(". Detail: Python exception")[0]
    return ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, f"Rows cannot be read: {reason}")
