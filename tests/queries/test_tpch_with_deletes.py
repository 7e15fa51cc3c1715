"""TPC-H over a lineitem that lost one row in a thousand: the plans are those without deletes, and the rows DuckDB's."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.connectors.iceberg.sample import create_sample
from tests import tpch_tables
from tests.e2e.service import ROOT, Service
from tests.iceberg import foreign_writer
from tests.queries.comparison import assert_same_result

pytestmark = pytest.mark.slow

KINDS = ("positions", "vectors", "keys")
QUERIES = ("q02", "q05", "q08", "q09", "q17", "q18", "q20", "q21")
"""Those that join three tables or more, or compute groups that a join drops."""
GONE = "l_orderkey % 1000 = 7"


@pytest.fixture(scope="module")
def oracle(quiet_service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The rows that are left; the service has schemas named after ``KINDS``, and ``whole`` without deletes."""
    folder = tmp_path_factory.mktemp("tpch")
    tpch_tables.generate(0.01, folder)
    with duckdb.connect() as connection:
        for file in folder.glob("*.parquet"):
            connection.execute(f"CREATE TABLE {file.stem} AS SELECT * FROM '{file}'")
            for schema in ("whole", *KINDS):
                create_sample("iceberg", quiet_service.data_dir, schema, file.stem, pq.read_table(file), 2)
        (keys,) = connection.execute(f"SELECT list(DISTINCT l_orderkey) FROM lineitem WHERE {GONE}").fetchone() or ()
        (gone,) = connection.execute(f"DELETE FROM lineitem WHERE {GONE}").fetchone() or ()
        for schema, version in (("positions", 2), ("vectors", 3)):
            properties = f"\"format-version\" = '{version}', \"write.delete.mode\" = 'merge-on-read'"
            quiet_service.execute(f"ALTER TABLE iceberg.{schema}.lineitem SET PROPERTIES {properties}")
            assert quiet_service.execute(f"DELETE FROM iceberg.{schema}.lineitem WHERE {GONE}") == [[gone]]
        foreign_writer.delete_equal(
            quiet_service.lake().load_table("keys.lineitem"), pa.table({"l_orderkey": pa.array(keys, pa.int64())})
        )
        yield connection


@pytest.fixture(scope="module")
def statements() -> dict[str, str]:
    found: dict[str, str] = json.loads(gzip.decompress((ROOT / "tests/unparser/data/statements.json.gz").read_bytes()))
    return found


def explained(service: Service, schema: str, query: str) -> str:
    """The plan, without the names of schema and snapshots."""
    ((text,),) = service.execute(f"EXPLAIN {query}", catalog="iceberg", schema=schema)
    plan, _, _ = str(text).partition("Engine:")
    return re.sub(rf"\b{schema}\b|\d{{10,}}", "…", plan)


@pytest.mark.parametrize("name", QUERIES)
def test_plans_and_rows(
    quiet_service: Service, oracle: duckdb.DuckDBPyConnection, statements: dict[str, str], name: str
) -> None:
    whole = explained(quiet_service, "whole", statements[name])
    for kind in KINDS:
        files = Path(quiet_service.lake().load_table(f"{kind}.lineitem").location().removeprefix("file://")) / "data"
        assert len([file for file in files.iterdir() if not file.name.startswith("sample-")]) >= 1, "of deletes"
        assert explained(quiet_service, kind, statements[name]) == whole, kind
        cursor = quiet_service.cursor(catalog="iceberg", schema=kind)
        assert_same_result(statements[name], cursor, oracle)
