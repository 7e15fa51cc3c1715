"""A scan as the kernels read it, in Presto's types."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from coordinator.connectors.iceberg.scans.scan import Scan, task_of
from coordinator.engine.arrow_types import arrow_type
from coordinator.kernels.file_scan import FileScan
from shared.plan.types import Type


def file_scan(scan: Scan, storage: Mapping[str, str]) -> FileScan:
    """``storage`` holds the keys of the catalog's file: for readers alone, never logged."""
    schema = pa.schema([(column.name, _arrow_type(column.type)) for column in scan.columns])
    return FileScan(task_of(scan, storage), schema, scan.rows, scan.size_bytes)


def _arrow_type(kind: Type) -> pa.DataType:
    return pa.timestamp("us", tz="UTC") if kind.base == "timestamp with time zone" else arrow_type(kind)
