"""TPC-DS: its 24 tables and 99 queries, made by DuckDB's generator, which is an extension of another DuckDB than ours.

``python -m tests.data_sets.tpcds SCALE FOLDER`` writes a Parquet file a table, and ``queries.json`` with the queries in
Presto's dialect by their numbers. The packages are fetched once, into the user's cache: they are no dependency, since
an extension fits one version of DuckDB alone. Queries: TPC-DS's own with the parameters of its validation runs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

_PACKAGES = ("duckdb==1.5.5", "duckdb-extension-tpcds==1.5.5")
_DATE = re.compile(r"'(\d{4}-\d\d-\d\d)'")
_DECIMAL = re.compile(r"decimal\s*\(\d+,\s*\d+\)", re.IGNORECASE)
_DAYS = re.compile(r"(d_date) \+ (\d+)\b")
_GENERATOR = """
import json, pathlib, sys
import duckdb, duckdb_extension_tpcds
extension = next(pathlib.Path(duckdb_extension_tpcds.__file__).parent.rglob("*.duckdb_extension"))
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
connection.execute(f"LOAD '{extension}'")
connection.execute("CALL dsdgen(sf=" + repr(float(sys.argv[1])) + ")")
home = pathlib.Path(sys.argv[2])
for (table,) in connection.execute("SELECT table_name FROM information_schema.tables").fetchall():
    connection.execute(f"COPY {table} TO '{home}/{table}.parquet' (FORMAT parquet, COMPRESSION zstd)")
queries = connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall()
(home / "queries.json").write_text(json.dumps(dict(queries)))
"""


def generate_tpcds(folder: Path, scale: float) -> dict[int, str]:
    """Tables as Parquet files in ``folder``; the queries. Raises CalledProcessError where a package cannot be had."""
    folder.mkdir(parents=True, exist_ok=True)
    packages = _packages()
    command = [sys.executable, "-c", _GENERATOR, str(scale), str(folder)]
    subprocess.run(command, check=True, timeout=3600, env={**os.environ, "PYTHONPATH": str(packages)})
    queries = {int(number): to_presto(text) for number, text in _read(folder).items()}
    (folder / "queries.json").write_text(json.dumps(queries))
    return queries


def load_tables(lake: SqlCatalog, folder: Path, *, doubles: bool = False, schema: str = "tpcds") -> None:
    """One Iceberg table a file in ``schema``; with ``doubles`` instead of decimals."""
    lake.create_namespace_if_not_exists(schema)
    for file in sorted(folder.glob("*.parquet")):
        rows = pq.read_table(file)
        if doubles:
            plain = [f.with_type(pa.float64()) if pa.types.is_decimal(f.type) else f for f in rows.schema]
            rows = rows.cast(pa.schema(plain))
        lake.create_table(f"{schema}.{file.stem}", schema=rows.schema).append(rows)


def counted(rows: Sequence[Sequence[Any]]) -> Counter[tuple[object, ...]]:
    """Rows without their order; numbers to four decimals, as sums of doubles depend on the order of their rows."""
    return Counter(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any) -> object:
    match value:
        case bool() | None:
            return value
        case int() | float() | Decimal():
            return round(float(value), 4) + 0.0
        case str():
            try:
                return round(float(value), 4) + 0.0  # the protocol sends decimals as texts
            except ValueError:
                return value.rstrip()
        case _:
            return str(value)


def with_doubles(query: str) -> str:
    """A query that names no type of decimals."""
    return _DECIMAL.sub("double", query)


def to_presto(query: str) -> str:
    """Dates are compared with dates, and days are added as intervals."""
    text = _DAYS.sub(r"\1 + INTERVAL '\2' DAY", _DATE.sub(r"DATE '\1'", query))
    return text.strip().removesuffix(";")


def _read(folder: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((folder / "queries.json").read_text())
    return found


def _packages() -> Path:
    cache = Path.home() / ".cache" / "procession" / "tpcds"
    if not (cache / "duckdb_extension_tpcds").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*command, "--target", str(cache), *_PACKAGES], check=True, timeout=600)
    return cache


if __name__ == "__main__":
    generate_tpcds(Path(sys.argv[2]), float(sys.argv[1]))
