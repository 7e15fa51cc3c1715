"""The Star Schema Benchmark's thirteen queries over HTTP on Iceberg tables, against DuckDB on the same files."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow.parquet as pq
import pytest

from coordinator.connectors.iceberg.sample import create_sample
from tests.data_sets.scale import scale
from tests.data_sets.ssb import QUERIES, derive_ssb, generate_tpch
from tests.e2e.service import Service
from tests.queries.comparison import assert_same_result

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def star(queries: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The tables as ``iceberg.ssb``, and DuckDB over the files that they came from."""
    tpch, folder = tmp_path_factory.mktemp("ssb_tpch"), tmp_path_factory.mktemp("ssb")
    generate_tpch(scale(small=0.02), tpch)
    with duckdb.connect() as connection:
        for file in derive_ssb(tpch, folder):
            create_sample("iceberg", queries.data_dir, "ssb", file.stem, pq.read_table(file), 2)
            connection.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM '{file}'")
        yield connection


@pytest.mark.parametrize("name", QUERIES)
def test_ssb(name: str, queries: Service, star: duckdb.DuckDBPyConnection) -> None:
    found = assert_same_result(QUERIES[name], queries.cursor(catalog="iceberg", schema="ssb"), star)
    # At small scale no row is left of a brand or of pairs of cities.
    assert found > 0 or name in ("q2.3", "q3.3", "q3.4")
