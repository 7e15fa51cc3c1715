"""Queries that need no engine answer as DuckDB does over the same rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs, read_catalogs
from coordinator.dispatch.encode import encode_rows
from coordinator.engine.executor import Executor
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import RunLocally, SelectRows
from shared.errors import ProcessionError
from shared.plan.types import parse_type
from shared.spi.session import Session
from tests import tpch_tables
from tests.execution import FakeExecution

SESSION = Session(user="test", time_zone="UTC", catalog="tpch", schema="tiny")


class Service:
    """Plans and runs statements that need no engine; asking for one fails."""

    def __init__(self, etc: Path) -> None:
        (etc / "catalog").mkdir()
        (etc / "catalog" / "tpch.properties").write_text(tpch_tables.catalog_file(), encoding="utf-8")
        self.catalogs = Catalogs(read_catalogs(etc / "catalog"))
        self._executor = Executor(self.catalogs, None, None, lambda _: "")  # type: ignore[arg-type]

    def work(self, sql: str) -> Any:
        return plan_statement(sql, SESSION, self.catalogs, PlanCheckers()).work

    def rows(self, sql: str) -> list[list[Any]]:
        planned = plan_statement(sql, SESSION, self.catalogs, PlanCheckers())
        assert isinstance(planned.work, SelectRows)
        kinds = tuple(parse_type(column.type) for column in planned.columns)
        batches = self._executor.execute(planned, FakeExecution())
        return [row for batch in batches for row in json.loads(b"[" + encode_rows(batch, kinds, False) + b"]")]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Service:
    return Service(tmp_path_factory.mktemp("etc"))


@pytest.fixture(scope="module")
def oracle(service: Service) -> Iterator[duckdb.DuckDBPyConnection]:
    planned = plan_statement("SELECT * FROM system.jdbc.columns", SESSION, service.catalogs, PlanCheckers())
    rows = service.rows("SELECT * FROM system.jdbc.columns")
    assert len(rows) > 500
    kinds = [pa.int64() if column.type == "bigint" else pa.string() for column in planned.columns]
    arrays = [pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    connection = duckdb.connect()
    connection.register("listed", pa.table(arrays, names=[column.name for column in planned.columns]))
    yield connection
    connection.close()


QUERIES = (
    "SELECT * FROM t WHERE table_cat = 'tpch' AND table_schem LIKE 'tiny' ESCAPE '\\' "
    "ORDER BY 1, 2, 3, ordinal_position",
    "SELECT table_name, table_cat AS c, table_name FROM t WHERE table_name LIKE 'n%' AND ordinal_position IN (1, 2) "
    "OR decimal_digits IS NULL ORDER BY ordinal_position DESC, 2, table_schem, 1, column_name LIMIT 7",
    "SELECT table_schem, table_name, column_name, column_size FROM t WHERE NOT column_name LIKE 'n\\_%' ESCAPE '\\' "
    "ORDER BY column_size DESC NULLS LAST, 1, 2, 3",
    "SELECT column_name, column_size FROM t WHERE table_schem = 'tiny' AND upper(table_name) = 'ORDERS' "
    "ORDER BY column_size NULLS FIRST, column_name DESC NULLS LAST",
    "SELECT column_name FROM t WHERE table_name = 'no such table'",
    "SELECT table_name FROM t WHERE ordinal_position BETWEEN 2 AND 3 AND table_schem = 'tiny' AND data_type = -5 "
    "ORDER BY table_name, ordinal_position",
)


@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_those_of_duckdb(service: Service, oracle: duckdb.DuckDBPyConnection, query: str) -> None:
    expected = [list(row) for row in oracle.execute(query.replace("FROM t ", "FROM listed ")).fetchall()]
    assert service.rows(query.replace("FROM t ", "FROM system.jdbc.columns ")) == expected


def test_a_limit_alone_cuts(service: Service) -> None:
    assert len(service.rows("SELECT table_schem FROM system.jdbc.schemas LIMIT 3")) == 3


def test_what_fails_fails_as_in_presto(service: Service) -> None:
    with pytest.raises(ProcessionError) as failed:
        service.rows("SELECT table_name FROM system.jdbc.tables WHERE length(table_name) / 0 = 1")
    assert (failed.value.code.name, failed.value.message) == ("DIVISION_BY_ZERO", "/ by zero")


@pytest.mark.parametrize(
    "query", ["count(*)", "DISTINCT table_cat", "table_name || 'x'", "rank() OVER (ORDER BY table_cat)"]
)
def test_other_shapes_run_on_the_embedded_engine(service: Service, query: str) -> None:
    assert isinstance(service.work(f"SELECT {query} FROM system.jdbc.tables"), RunLocally)
