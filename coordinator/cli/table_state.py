"""What a table holds, measured without any of the code under demonstration: DuckDB over the snapshot's files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from coordinator.connectors.iceberg.sample import data_files


@dataclass(frozen=True, slots=True)
class TableState:
    """``bytes`` on disk. ``checksum`` is over all columns of all rows and does not depend on their order."""

    files: int
    bytes: int
    rows: int
    checksum: int


def read_state(catalog: str, data_dir: Path, schema: str, table: str) -> TableState:
    """Of the current snapshot; the rows are counted in the files, not in the metadata."""
    files = data_files(catalog, data_dir, schema, table)
    with duckdb.connect() as connection:
        names = ", ".join("'{}'".format(str(file.path).replace("'", "''")) for file in files)
        row = connection.execute(
            f"SELECT count(*), coalesce(sum(hash(t)::HUGEINT), 0) FROM read_parquet([{names}]) t"  # noqa: S608
        ).fetchone()
    assert row is not None
    return TableState(len(files), sum(file.path.stat().st_size for file in files), row[0], row[1])
