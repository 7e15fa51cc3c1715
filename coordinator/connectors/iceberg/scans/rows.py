"""The rows of a scan as an Arrow stream in Presto's types, deleted rows left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast
from uuid import UUID

import pyarrow as pa

from coordinator.connectors.iceberg.scans.scan import Scan, task_of
from coordinator.engine.arrow_types import arrow_type
from coordinator.kernels.rewrite import live_rows
from shared.plan.types import Type
from shared.spi.relation import ArrowStream

_COUNTED = pa.schema([("counted", pa.null())])
"""Of a scan that only counts rows."""
_COUNTED_ROWS = 1 << 20


def stream_of(scan: Scan, storage: Mapping[str, str]) -> ArrowStream:
    """One stream; errors of files are KernelErrors, whose text the engine's error tells."""
    if not scan.columns:
        return cast(ArrowStream, pa.RecordBatchReader.from_batches(_COUNTED, _counted(scan.rows)))
    schema = pa.schema([(column.name, _arrow_type(column.type)) for column in scan.columns])
    return cast(ArrowStream, pa.RecordBatchReader.from_batches(schema, _batches(scan, storage, schema)))


def _counted(rows: int) -> Iterator[pa.RecordBatch]:
    while rows > 0:
        yield pa.RecordBatch.from_arrays([pa.nulls(min(rows, _COUNTED_ROWS))], schema=_COUNTED)
        rows -= _COUNTED_ROWS


def _batches(scan: Scan, storage: Mapping[str, str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for arrays, _ in live_rows(task_of(scan, storage), ()):
        if len(arrays[0]):
            chosen = zip(arrays[: len(schema)], schema, strict=True)
            yield pa.RecordBatch.from_arrays([_fitted(array, field.type) for array, field in chosen], schema=schema)


def _arrow_type(kind: Type) -> pa.DataType:
    return pa.timestamp("us", tz="UTC") if kind.base == "timestamp with time zone" else arrow_type(kind)


def _fitted(array: Any, wanted: pa.DataType) -> Any:
    if isinstance(array.type, pa.UuidType):
        values = array.storage.to_pylist()
        return pa.array([None if value is None else str(UUID(bytes=value)) for value in values], wanted)
    return array if array.type == wanted else array.cast(wanted)
