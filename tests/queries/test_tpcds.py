"""TPC-DS through a whole service, with the checker on: every query runs on the embedded engine and gives DuckDB's rows.

All numbers are doubles there: averages and quotients of decimals are decimals in Presto, and doubles in DuckDB. With
decimals both engines give the same rows.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.data_sets.tpcds import counted, generate_tpcds, load_tables, with_doubles
from tests.e2e.service import Service

pytestmark = pytest.mark.slow
_ASKED = range(1, 100) if os.environ.get("PROCESSION_TEST_FULL") else (2, 4, 9, 14, 23, 39, 54, 67, 72, 77, 85, 95)
"""The short run asks those that went to Spark once, or took long: WITH queries used often, joins with single rows,
quotients of sums, joins of large tables with little in common, and correlated ones."""


_ON_SPARK = range(1, 100) if os.environ.get("PROCESSION_TEST_FULL") else (36, 53)
"""The short run asks one with grouping sets and quotients, and one with a guarded division above a window."""


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[int, str], Path]:
    """The queries, and a folder with a file a table."""
    files = tmp_path_factory.mktemp("tpcds")
    try:
        return generate_tpcds(files, 0.01), files
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no generator of TPC-DS: {error}")


@pytest.fixture(scope="module")
def tables(
    quiet_service: Service, generated: tuple[dict[int, str], Path]
) -> Iterator[tuple[dict[int, str], duckdb.DuckDBPyConnection]]:
    queries, files = generated
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


@pytest.fixture(scope="module")
def of_decimals(quiet_service: Service, generated: tuple[dict[int, str], Path]) -> dict[int, str]:
    """The queries, over tables of a schema of their own."""
    queries, files = generated
    load_tables(quiet_service.lake(), files, schema="tpcds_decimals")
    return queries


@pytest.mark.parametrize("number", _ON_SPARK)
def test_both_engines_give_the_same_rows(quiet_service: Service, of_decimals: dict[int, str], number: int) -> None:
    """To the last digit of a decimal, and to ten digits of a double, whose sums depend on the order of their rows."""
    found = [
        quiet_service.execute(
            of_decimals[number], catalog="iceberg", schema="tpcds_decimals", session_properties={"engine": engine}
        )
        for engine in ("EMBEDDED", "SPARK")
    ]
    embedded, spark = (Counter(tuple(map(_rounded, row)) for row in rows) for rows in found)
    assert embedded == spark


def _rounded(value: object) -> object:
    return float(f"{value:.10g}") if isinstance(value, float) else value
