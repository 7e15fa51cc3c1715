"""The table of the rewrite benchmarks: TPC-H lineitem (6,001,215 rows, 205 MB) in 400 files, made once a folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import parquet_files_to_data_files, schema_to_pyarrow

FILES = 400
DELETED = "(l_orderkey * 7 + l_linenumber) % 10 = 0"
"""A tenth of the rows, here and there, in any engine's SQL."""


def catalog_in(home: Path) -> SqlCatalog:
    """The catalog ``lab`` of a folder."""
    return SqlCatalog("lab", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/wh")


def make_table(home: Path) -> SqlCatalog:
    """The table ``lab.db.lineitem``, made once a directory."""
    catalog = catalog_in(home)
    if (home / "done").exists():
        return catalog
    tool = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([tool, "parquet", "-s", "1", "--tables", "lineitem", "--output-dir", str(home)], check=True)
    data = pq.read_table(home / "lineitem.parquet")
    texts = (pa.types.is_string, pa.types.is_string_view, pa.types.is_large_string)
    plain = [pa.field(f.name, pa.string() if any(t(f.type) for t in texts) else f.type) for f in data.schema]
    data = data.cast(pa.schema(plain))
    catalog.create_namespace("db")
    table = catalog.create_table("db.lineitem", schema=data.schema)
    data = pa.table(data.columns, schema=schema_to_pyarrow(table.schema()))
    files = [_write(home, data, number) for number in range(FILES)]
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in parquet_files_to_data_files(table.io, transaction.table_metadata, iter(files)):
            append.append_data_file(file)
    (home / "lineitem.parquet").unlink()
    (home / "done").touch()
    return catalog


def _write(home: Path, data: pa.Table, number: int) -> str:
    rows = data.num_rows // FILES
    count = data.num_rows - number * rows if number == FILES - 1 else rows
    path = home / "wh" / "raw" / f"{number:05d}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data.slice(number * rows, count), path, compression="zstd")
    return f"file://{path}"


class Start:
    """The state that a benchmark goes back to before each run; kept in the folder, so that a broken run harms none."""

    def __init__(self, home: Path, name: str) -> None:
        self._home = home
        self._catalog = catalog_in(home)
        self._data = home / "wh" / "db" / "lineitem" / "data"
        self._kept = home / f"start-{name}"

    @property
    def is_kept(self) -> bool:
        return self._kept.exists()

    def keep(self) -> None:
        """The table as it is now is the start."""
        names = [file.name for file in self._data.glob("*")]
        self._kept.write_text("\n".join([self._location(), *names]))

    def reset(self) -> None:
        """Back to the start; what was written since goes."""
        location = self._kept.read_text().splitlines()[0]
        names = {name for kept in self._home.glob("start-*") for name in kept.read_text().splitlines()[1:]}
        statement = sa.text("UPDATE iceberg_tables SET metadata_location = :l WHERE table_name = 'lineitem'")
        with self._catalog.engine.begin() as connection:
            connection.execute(statement, {"l": location})
        for file in self._data.glob("*"):
            if file.name not in names:
                file.unlink()

    def _location(self) -> str:
        return self._catalog.load_table("db.lineitem").metadata_location
