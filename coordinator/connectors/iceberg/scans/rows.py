"""A scan as the kernels read it, in Presto's types."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from coordinator.connectors.iceberg.scans.scan import Scan, task_of
from coordinator.kernels.file_scan import FileScan
from coordinator.values.arrow_types import source_type


def file_scan(scan: Scan, storage: Mapping[str, str]) -> FileScan:
    """``storage`` holds the keys of the catalog's file: for readers alone, never logged."""
    schema = pa.schema([(column.name, source_type(column.type)) for column in scan.columns])
    return FileScan(task_of(scan, storage), schema, scan.rows, scan.size_bytes, scan.ranges)
