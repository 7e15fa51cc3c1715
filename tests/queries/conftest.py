"""TPC-H as Iceberg tables under a running service, and the same files in DuckDB."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from coordinator.connectors.iceberg.sample import create_sample
from tests.e2e.service import ROOT, Service, start_service, write_etc


@pytest.fixture(scope="session")
def tpch_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("tpch")
    command = [str(Path(sys.executable).with_name("tpchgen-cli")), "parquet", "-s", "0.01", "-o", str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return sorted(folder.glob("*.parquet"))


@pytest.fixture(scope="session")
def queries(tpch_files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service over ``iceberg.tpch``, each table of two data files.

    Without the native checker: these tests ask what Spark answers, also where Velox lacks a type or a function.
    """
    home = tmp_path_factory.mktemp("queries")
    etc = write_etc(home / "etc")
    (etc / "plan-checker-providers" / "native.properties").unlink()
    running = start_service(etc, home / "data", home / "log")
    for file in tpch_files:
        create_sample("iceberg", home / "data", "tpch", file.stem, pq.read_table(file), 2)
    yield running
    assert running.stop() == 0, (home / "log").read_text()


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
