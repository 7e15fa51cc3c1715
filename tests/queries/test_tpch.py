"""TPC-H over HTTP on Iceberg tables, by Spark and by the embedded engine, against DuckDB on the same files."""

from __future__ import annotations

import duckdb
import pytest

from tests.e2e.service import Service
from tests.queries.comparison import assert_same_result
from tests.queries.test_late_materialization import ON
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]


SPARK, EMBEDDED = {"engine": "SPARK"}, {"engine": "EMBEDDED"}
ALL = [f"q{number:02d}" for number in range(1, 23)]
FETCHED = ["q02", "q20"]
"""Of these some columns may be read by position."""
ON_SPARK = ALL[::2]


@pytest.mark.parametrize(
    ("name", "properties"),
    some(
        [*((n, EMBEDDED) for n in ALL), *((n, SPARK) for n in ON_SPARK), *((n, ON) for n in FETCHED)],
        [*((n, SPARK) for n in ALL if n not in ON_SPARK), *((n, ON) for n in ALL if n not in FETCHED)],
        "all on the embedded engine, every second one on Spark, those that late materialization takes",
    ),
)
def test_tpch(
    name: str,
    properties: dict[str, str],
    queries: Service,
    oracle: duckdb.DuckDBPyConnection,
    statements: dict[str, str],
) -> None:
    cursor = queries.cursor(catalog="iceberg", schema="tpch", session_properties=properties)
    assert_same_result(statements[name], cursor, oracle)
