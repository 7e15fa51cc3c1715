"""All of TPC-H over HTTP, planned here and run by Spark on Iceberg tables, against DuckDB on the generator's files."""

from __future__ import annotations

import duckdb
import pytest

from tests.e2e.service import Service
from tests.queries.comparison import assert_same_result

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize("name", [f"q{number:02d}" for number in range(1, 23)])
def test_tpch(name: str, queries: Service, oracle: duckdb.DuckDBPyConnection, statements: dict[str, str]) -> None:
    assert_same_result(statements[name], queries.cursor(catalog="iceberg", schema="tpch"), oracle)
