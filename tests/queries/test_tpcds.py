"""TPC-DS through a whole service, with the checker on: every query runs on the embedded engine and gives DuckDB's rows.

All numbers are doubles: averages and quotients of decimals are decimals in Presto, and doubles in DuckDB.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import duckdb
import pytest

from tests.data_sets.tpcds import counted, generate_tpcds, load_tables, with_doubles
from tests.e2e.service import Service

pytestmark = pytest.mark.slow
_ASKED = range(1, 100) if os.environ.get("PROCESSION_TEST_FULL") else (2, 4, 9, 14, 23, 39, 54, 67, 72, 77, 85, 95)
"""The short run asks those that went to Spark once, or took long: WITH queries used often, joins with single rows,
quotients of sums, joins of large tables with little in common, and correlated ones."""


@pytest.fixture(scope="module")
def tables(
    quiet_service: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[int, str], duckdb.DuckDBPyConnection]]:
    files = tmp_path_factory.mktemp("tpcds")
    try:
        queries = generate_tpcds(files, 0.01)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no generator of TPC-DS: {error}")
    load_tables(quiet_service.lake(), files, doubles=True)
    connection = duckdb.connect()
    for file in files.glob("*.parquet"):
        columns = connection.execute(f"DESCRIBE SELECT * FROM '{file}'").fetchall()
        plain = ", ".join(f"CAST({n} AS DOUBLE) AS {n}" if t.startswith("DECIMAL") else n for n, t, *_ in columns)
        connection.execute(f"CREATE TABLE {file.stem} AS SELECT {plain} FROM '{file}'")
    yield queries, connection
    connection.close()


@pytest.mark.parametrize("number", _ASKED)
def test_rows(quiet_service: Service, tables: tuple[dict[int, str], duckdb.DuckDBPyConnection], number: int) -> None:
    queries, connection = tables
    query = with_doubles(queries[number])
    found = quiet_service.execute(query, catalog="iceberg", schema="tpcds")
    assert counted(found) == counted(connection.execute(query).fetchall())
