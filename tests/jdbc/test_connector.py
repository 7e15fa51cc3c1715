"""Metadata and rows of a PostgreSQL catalog, through the planner and the embedded engine."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.registry import Catalogs
from coordinator.engine.inputs import local_inputs, spark_inputs
from coordinator.engine.local import LocalEngine
from coordinator.planner.query import plan_query
from coordinator.sql.parser import parse_query
from coordinator.unparser import work_of
from coordinator.vocabulary.planned_statement import RunLocally
from shared.errors import ErrorCode, ProcessionError
from shared.properties import ConfigurationError
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.jdbc.conftest import catalog_config

pytestmark = pytest.mark.slow
DAY = dt.date(2024, 2, 29)
MOMENT = dt.datetime(2024, 2, 29, 1, 2, 3, 456000)
SESSION = Session(user="test", catalog="pg", schema="shop")


def query(catalogs: Catalogs, text: str) -> list[tuple[Any, ...]]:
    work = work_of(plan_query(parse_query(text), SESSION, catalogs).root, catalogs.relation)
    assert isinstance(work, RunLocally)
    run = FakeExecution()
    with local_inputs(work.inputs, catalogs, run) as inputs:
        table = pa.Table.from_batches(LocalEngine().run(work.sql, run, inputs))
    return [tuple(row.values()) for row in table.to_pylist()]


def test_schemas_and_tables_are_those_of_the_database(catalogs: Catalogs) -> None:
    connector = catalogs.connector("pg")
    assert {"public", "shop"} <= set(connector.schemas())
    assert connector.tables("shop") == ["days", "kinds", "mixedcase"]
    assert connector.table("shop", "nothing") is None
    assert connector.table("nowhere", "kinds") is None


def test_types_are_prestos_and_what_it_cannot_hold_is_left_out(catalogs: Catalogs) -> None:
    table = catalogs.connector("pg").table("shop", "kinds")
    assert table is not None
    assert {c.name: c.type for c in table.columns} == {
        "id": "integer",
        "b": "boolean",
        "s": "smallint",
        "l": "bigint",
        "r": "real",
        "d": "double",
        "n": "decimal(12,2)",
        "v": "varchar(10)",
        "t": "varchar",
        "c": "char(5)",
        "bin": "varbinary",
        "day": "date",
        "at": "time",
        "ts": "timestamp",
        "tz": "timestamp with time zone",
        "u": "uuid",
        "j": "json",
    }
    assert not table.columns[0].nullable


def test_unsupported_types_can_be_read_as_text(postgres: str) -> None:
    catalogs = Catalogs([catalog_config(postgres, **{"unsupported-type-handling": "CONVERT_TO_VARCHAR"})])
    assert query(catalogs, "SELECT free, mood FROM kinds WHERE id = 1") == [("1.1", "{x}")]


def test_values_arrive_exactly(catalogs: Catalogs) -> None:
    found = query(catalogs, "SELECT b, s, l, r, d, n, v, t, bin, day, ts FROM kinds WHERE id = 1")
    assert found == [(True, 2, 3, 1.5, 2.5, Decimal("12345.67"), "abc", "läßt", b"\x00\xff", DAY, MOMENT)]
    assert query(catalogs, "SELECT at, u, j FROM kinds WHERE id = 1") == [
        (dt.time(12, 34, 56, 789000), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", '{"a": [1]}')
    ]
    (row,) = query(catalogs, "SELECT * FROM kinds WHERE id = 2")
    assert set(row[1:]) == {None}


def test_names_are_found_without_their_case(catalogs: Catalogs) -> None:
    assert query(catalogs, "SELECT key, plain FROM mixedcase") == [(7, 8)]


def test_only_the_columns_that_are_needed_are_asked_for(catalogs: Catalogs) -> None:
    work = work_of(plan_query(parse_query("SELECT id FROM days"), SESSION, catalogs).root, catalogs.relation)
    assert 'FROM "shop"."days"' in work.inputs[0].relation.sql


def test_secrets_are_for_the_engine_alone(postgres: str) -> None:
    catalogs = Catalogs([catalog_config(postgres, **{"connection-password": "open sesame"})])
    work = work_of(plan_query(parse_query("SELECT id FROM kinds"), SESSION, catalogs).root, catalogs.relation)
    assert "sesame" not in repr(work)
    with spark_inputs(work.inputs, catalogs, FakeExecution()) as (made,):
        assert made.options["password"] == "open sesame"
        assert "sesame" not in repr(made)


def test_a_database_that_is_away_is_told_by_the_catalogs_name() -> None:
    catalogs = Catalogs(
        [catalog_config("postgresql://postgres@127.0.0.1:1/postgres", **{"connection-password": "xyzzy"})]
    )
    with pytest.raises(ProcessionError, match="Catalog pg: ") as caught:
        catalogs.connector("pg").schemas()
    assert caught.value.code is ErrorCode.JDBC_ERROR
    assert "xyzzy" not in str(caught.value)


@pytest.mark.parametrize("mode", ["require", "verify-full"])
def test_a_server_without_tls_is_refused_where_the_url_asks_for_it(postgres: str, mode: str) -> None:
    address = postgres.split("@")[1]
    url = f"jdbc:postgresql://{address}?sslmode="
    catalogs = Catalogs([catalog_config(postgres, **{"connection-url": f"{url}{mode}"})])
    with pytest.raises(
        ProcessionError, match=r"Catalog pg: .*server does not support SSL, but SSL was required"
    ) as caught:
        catalogs.connector("pg").schemas()
    assert caught.value.code is ErrorCode.JDBC_ERROR
    catalogs = Catalogs([catalog_config(postgres, **{"connection-url": f"{url}disable"})])
    assert "shop" in catalogs.connector("pg").schemas()


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("connection-url", "jdbc:mysql://h/d", "must begin with jdbc:postgresql:"),
        ("connection-url", "jdbc:postgresql://u:p@h/d", "credentials belong into"),
        ("jdbc.fetch-size", "many", "must be a number"),
        ("fetch-size", "1", "unknown property"),
    ],
)
def test_wrong_settings_name_file_and_line(name: str, value: str, problem: str) -> None:
    config = catalog_config("postgresql://postgres@h:1/d", **{name: value})
    with pytest.raises(ConfigurationError, match=rf"pg\.properties:\d+: .*{problem}"):
        Catalogs([config]).connector("pg")
