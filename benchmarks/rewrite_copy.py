"""64 files of about 16 MB, one fat row group each, into files of the target size: copied, beside Iceberg's procedure.

Arguments are those of ``benchmarks.rewrite``. ``copy_s`` is what copying the same bytes with ``cp`` takes:
the physical limit of any rewrite on one core.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import parquet_files_to_data_files, schema_to_pyarrow

from benchmarks import rewrite

FILES, ROWS = 64, 420_000


def make_table(home: Path) -> SqlCatalog:
    """The table ``lab.db.lineitem`` (the name that ``benchmarks.rewrite`` works on), made once a directory."""
    catalog = SqlCatalog("lab", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/wh")
    if (home / "done").exists():
        return catalog
    catalog.create_namespace("db")
    table = catalog.create_table("db.lineitem", schema=_rows(0, 2).schema)
    arrow = schema_to_pyarrow(table.schema())
    folder = home / "wh" / "raw"
    folder.mkdir(parents=True)
    paths = []
    for number in range(FILES):
        path = folder / f"{number:05d}.parquet"
        data = pa.table(_rows(number, ROWS).columns, schema=arrow)
        pq.write_table(data, path, compression="zstd", row_group_size=ROWS, write_page_index=True)
        paths.append(f"file://{path}")
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in parquet_files_to_data_files(table.io, transaction.table_metadata, iter(paths)):
            append.append_data_file(file)
    (home / "done").touch()
    return catalog


def _rows(seed: int, rows: int) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "id": np.arange(seed * rows, seed * rows + rows),
            "measure": random.normal(size=rows),
            "other": random.normal(size=rows),
            "count": random.integers(0, 1 << 40, rows),
            "kind": pa.array([f"kind {i}" for i in range(50)]).take(pa.array(random.integers(0, 50, rows))),
            "more": random.integers(0, 1 << 62, rows),
        }
    )


def plain_copy(home: Path) -> float:
    """Seconds to copy the table's bytes once."""
    with tempfile.TemporaryDirectory(dir=home) as target:
        start = time.perf_counter()
        for file in sorted((home / "wh" / "raw").iterdir()):
            shutil.copyfile(file, Path(target) / file.name)
        return time.perf_counter() - start


def prepare(home: Path) -> None:
    """Make the table and print the limit."""
    make_table(home)
    size = sum(f.stat().st_size for f in (home / "wh" / "raw").iterdir())
    copy = min(plain_copy(home) for _ in range(3))
    print(json.dumps({"bench": "rewrite_copy", "files": FILES, "bytes": size, "copy_s": round(copy, 3)}), flush=True)


if __name__ == "__main__":
    rewrite.run_case(rewrite.Case("rewrite_copy", warm=""), prepare)
