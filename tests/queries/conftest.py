"""TPC-H as Iceberg tables under a running service, and the same files in DuckDB."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from coordinator.connectors.iceberg.sample import create_sample
from tests import tpch_tables
from tests.data_sets.scale import scale
from tests.e2e.service import ROOT, Service


@pytest.fixture(scope="session")
def tpch_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("tpch")
    tpch_tables.generate(scale(small=0.01), folder)
    return sorted(folder.glob("*.parquet"))


@pytest.fixture(scope="session")
def queries(tpch_files: list[Path], whole_service: Service) -> Service:
    """The shared service with ``iceberg.tpch``, each table of two data files; the native checker is on."""
    for file in tpch_files:
        create_sample("iceberg", whole_service.data_dir, "tpch", file.stem, pq.read_table(file), 2)
    return whole_service


@pytest.fixture(scope="session")
def oracle(tpch_files: list[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB over the generator's files."""
    with duckdb.connect() as connection:
        for file in tpch_files:
            connection.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM '{file}'")
        yield connection


@pytest.fixture(scope="session")
def statements() -> dict[str, str]:
    """Statements by name; q01 to q22 are TPC-H's, in Presto's dialect."""
    return json.loads(gzip.decompress((ROOT / "tests/unparser/data/statements.json.gz").read_bytes()))
