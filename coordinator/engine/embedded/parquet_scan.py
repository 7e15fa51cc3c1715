"""Scans that DuckDB reads by itself, with its own pruning and late materialization, where that gives the same rows.

Files without deletes whose columns are there by field id, stored in the very types that the query wants, on this
machine's disks. Everything else comes through the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow.parquet as pq

from coordinator.kernels.cache import FOOTERS
from coordinator.kernels.errors import reading
from coordinator.kernels.file_scan import FileScan
from coordinator.kernels.schema import arrow_type, field_id
from coordinator.kernels.storage import is_local, resolve
from coordinator.kernels.tasks import Input

_TYPES = {
    "boolean": "BOOLEAN", "int": "INTEGER", "long": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "date": "DATE",
    "time": "TIME", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ", "string": "VARCHAR", "binary": "BLOB",
}  # fmt: skip
_GLOBS = frozenset("*?[]{}")


def parquet_files(scan: FileScan) -> list[Input]:
    """The files of a scan that DuckDB may read by itself."""
    wanted = [_duckdb_type(field["type"]) for field in scan.task.fields]
    if not wanted or None in wanted:
        return []
    return [item for item in scan.task.inputs if _is_plain(item, scan)]


def parquet_sql(scan: FileScan, files: Sequence[Input]) -> str:
    """``SELECT`` of the scan's columns over the files."""
    columns = ", ".join(
        f"{field['id']}: {{name: {text(name)}, type: {text(_duckdb_type(field['type']) or '')}, default_value: NULL}}"
        for field, name in zip(scan.task.fields, scan.schema.names, strict=True)
    )
    paths = ", ".join(text(local_path(item, scan)) for item in files)
    names = ", ".join(identifier(name) for name in scan.schema.names)
    return f"SELECT {names} FROM read_parquet([{paths}], schema=MAP {{{columns}}})"  # noqa: S608 - quoted


def local_path(item: Input, scan: FileScan) -> str:
    """The path of a local file."""
    return str(resolve(item.path, scan.task.storage)[1])


def text(value: str) -> str:
    """A literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def identifier(value: str) -> str:
    """A quoted name of SQL."""
    return '"' + value.replace('"', '""') + '"'


def _is_plain(item: Input, scan: FileScan) -> bool:
    path = item.path
    if item.positions or item.equality or item.groups or not is_local(path) or _GLOBS & set(path):
        return False
    with reading(path):
        metadata = FOOTERS.get(path, item.size)
        if metadata is None:
            metadata = pq.read_metadata(local_path(item, scan))
            FOOTERS.put(path, item.size, metadata)
        stored = {field_id(field): field.type for field in metadata.schema.to_arrow_schema()}
    return all(stored.get(field["id"]) == arrow_type(field["type"]) for field in scan.task.fields)


def _duckdb_type(iceberg: Any) -> str | None:
    """None for what the kernels read: nested columns, UUIDs (text to Presto), fixed bytes."""
    if not isinstance(iceberg, str):
        return None
    if iceberg.startswith("decimal("):
        return iceberg.upper()
    return _TYPES.get(iceberg)
