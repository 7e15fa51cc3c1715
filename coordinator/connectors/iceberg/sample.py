"""A sample table for the demo: rows of a Parquet file as many small data files, written as any Iceberg writer would.

Reads and writes through PyIceberg alone, so that what it reports does not depend on the code that the demo shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io.pyarrow import parquet_files_to_data_files, schema_to_pyarrow
from pyiceberg.table import Table

from coordinator.connectors.iceberg.kept_configuration import keep_configuration
from coordinator.connectors.iceberg.manifests.kept_readers import keep_readers
from coordinator.connectors.iceberg.properties import pyiceberg_properties, read_settings
from coordinator.connectors.iceberg.shared_models import share_models

_COMMITS = 8


@dataclass(frozen=True, slots=True)
class DataFile:
    """One data file of a snapshot; ``size`` in bytes."""

    path: Path
    size: int
    rows: int


def create_sample(catalog: str, data_dir: Path, schema: str, name: str, rows: pa.Table, files: int) -> None:
    """A v2 table ``schema.name`` of ``rows``, in ``files`` Parquet files committed by several appends.

    ``catalog`` is the embedded default catalog of that name under ``data_dir``. Raises what PyIceberg raises, for one
    when the table exists already.
    """
    lake = _catalog(catalog, data_dir)
    lake.create_namespace_if_not_exists(schema)
    rows = _plain_strings(rows)
    table = lake.create_table(f"{schema}.{name}", schema=rows.schema, properties={"format-version": "2"})
    # With field ids, which readers by id need and PyIceberg's add_files refuses.
    rows = pa.table(rows.columns, schema=schema_to_pyarrow(table.schema()))
    directory = Path(table.location().removeprefix("file://")) / "data"
    directory.mkdir(parents=True, exist_ok=True)
    bounds = [rows.num_rows * i // files for i in range(files + 1)]

    def write(number: int) -> str:
        file = directory / f"sample-{number:05d}.parquet"
        pq.write_table(rows.slice(bounds[number], bounds[number + 1] - bounds[number]), file, compression="zstd")
        return f"file://{file}"

    with ThreadPoolExecutor() as pool:
        written = list(pool.map(write, range(files)))
    step = -(-files // _COMMITS)
    for start in range(0, files, step):
        _append(table, written[start : start + step])


def data_files(catalog: str, data_dir: Path, schema: str, name: str) -> list[DataFile]:
    """The data files of the current snapshot of a table without deletes."""
    table = _catalog(catalog, data_dir).load_table(f"{schema}.{name}")
    found = [task.file for task in table.scan().plan_files()]
    return [DataFile(Path(f.file_path.removeprefix("file://")), f.file_size_in_bytes, f.record_count) for f in found]


def _catalog(catalog: str, data_dir: Path) -> Catalog:
    settings = read_settings(catalog, {}, data_dir)
    (data_dir / catalog).mkdir(parents=True, exist_ok=True)
    share_models()
    keep_readers()
    keep_configuration()
    return load_catalog(catalog, **pyiceberg_properties(settings))


def _append(table: Table, files: Iterable[str]) -> None:
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in parquet_files_to_data_files(table.io, transaction.table_metadata, iter(files)):
            append.append_data_file(file)


def _plain_strings(rows: pa.Table) -> pa.Table:
    """The generator writes string views, for which PyIceberg has no type."""
    views = (pa.types.is_string_view, pa.types.is_large_string)
    fields = [
        pa.field(f.name, pa.string() if any(is_view(f.type) for is_view in views) else f.type) for f in rows.schema
    ]
    return rows.cast(pa.schema(fields))
