"""Scans that DuckDB reads by itself, with its own pruning and late materialization, where that gives the same rows.

Files without deletes whose columns are there by field id, stored in the very types that the query wants, on this
machine's disks. Everything else comes through the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
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
Names = tuple[str, ...]
"""Columns of a file, in the order of a scan's fields."""


def parquet_files(scan: FileScan) -> dict[Names, list[Input]]:
    """The files of a scan that DuckDB may read by itself, by what they call the scan's columns."""
    wanted = [_duckdb_type(field["type"]) for field in scan.task.fields]
    found: dict[Names, list[Input]] = {}
    if wanted and None not in wanted:
        for item in scan.task.inputs:
            if (names := _names(item, scan)) is not None:
                found.setdefault(names, []).append(item)
    return found


def parquet_sql(scan: FileScan, names: Names, files: Sequence[Input]) -> str:
    """``SELECT`` of the scan's columns over files that call them ``names``.

    By name: given a schema by field id, DuckDB knows nothing of how many rows there are, and joins in a bad order.
    """
    columns = ", ".join(
        f"CAST({identifier(stored)} AS {_duckdb_type(field['type'])}) AS {identifier(name)}"
        for stored, field, name in zip(names, scan.task.fields, scan.schema.names, strict=True)
    )
    paths = ", ".join(text(local_path(item, scan)) for item in files)
    return f"SELECT {columns} FROM read_parquet([{paths}], hive_partitioning=false)"  # noqa: S608 - quoted


def local_path(item: Input, scan: FileScan) -> str:
    """The path of a local file."""
    return str(resolve(item.path, scan.task.storage)[1])


def text(value: str) -> str:
    """A literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def identifier(value: str) -> str:
    """A quoted name of SQL."""
    return '"' + value.replace('"', '""') + '"'


def _names(item: Input, scan: FileScan) -> Names | None:
    """What the file calls the columns; None for a file that DuckDB would not read as the table means it."""
    path = item.path
    if item.positions or item.equality or item.groups or not is_local(path) or _GLOBS & set(path):
        return None
    with reading(path):
        metadata = FOOTERS.get(path, item.size)
        if metadata is None:
            metadata = pq.read_metadata(local_path(item, scan))
            FOOTERS.put(path, item.size, metadata)
        fields = list(metadata.schema.to_arrow_schema())
    if len({field.name.lower() for field in fields}) < len(fields):
        return None  # DuckDB would call one of them otherwise
    stored = {field_id(field): field for field in fields}
    found = [stored.get(field["id"]) for field in scan.task.fields]
    types = [arrow_type(field["type"]) for field in scan.task.fields]
    if any(f is None or _plain_type(f.type) != kind for f, kind in zip(found, types, strict=True)):
        return None
    return tuple(field.name for field in found if field is not None)


def _plain_type(stored: Any) -> Any:
    """The type without what writers only note about their own memory (PyIceberg: large texts) beside the same bytes."""
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if pa.types.is_large_string(stored) or pa.types.is_string_view(stored):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(stored) or pa.types.is_binary_view(stored) else stored


def _duckdb_type(iceberg: Any) -> str | None:
    """None for what the kernels read: nested columns, UUIDs (text to Presto), fixed bytes."""
    if not isinstance(iceberg, str):
        return None
    if iceberg.startswith("decimal("):
        return iceberg.upper()
    return _TYPES.get(iceberg)
