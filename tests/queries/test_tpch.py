"""All of TPC-H over HTTP, planned here and run by Spark on Iceberg tables, against DuckDB on the generator's files."""

from __future__ import annotations

import os

import duckdb
import pytest

from tests.e2e.service import Service
from tests.queries.comparison import assert_same_result
from tests.queries.test_late_materialization import ON

pytestmark = [pytest.mark.spark, pytest.mark.slow]


ALL = [f"q{number:02d}" for number in range(1, 23)]
FETCHED = ALL if os.environ.get("PROCESSION_TEST_FULL") else ["q02", "q20"]
"""Of these some columns may be read by position."""


@pytest.mark.parametrize(("name", "properties"), [*((name, {}) for name in ALL), *((name, ON) for name in FETCHED)])
def test_tpch(
    name: str,
    properties: dict[str, str],
    queries: Service,
    oracle: duckdb.DuckDBPyConnection,
    statements: dict[str, str],
) -> None:
    cursor = queries.cursor(catalog="iceberg", schema="tpch", session_properties=properties)
    assert_same_result(statements[name], cursor, oracle)
