"""Presto's statements, planned and unparsed, give what DuckDB gives for sqlglot's translation of the same text."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import duckdb
import pytest
import sqlglot

from coordinator.connectors.iceberg.relations import catalog_table
from coordinator.engine.local_functions import register_functions
from coordinator.planner.query import plan_query
from coordinator.sql.parser import parse_query
from coordinator.unparser import unparse
from coordinator.values.python_functions import PythonFunction

pytestmark = pytest.mark.slow

# The translation itself is wrong for these, or the statement is not deterministic: row field names, a sample,
# CAST to varchar(n), functions that DuckDB lacks.
NO_ORACLE = {
    "array_map_row", "tablesample_system", "casts", "agg_ordered", "unnest_array", "unnest_map", "unnest_rows",
    "literals_numeric", "literals_text", "literals_time", "session_functions",
}  # fmt: skip
NOT_YET = {
    "agg_more", "agg_lambda", "quantified", "subquery_lateral", "lambda_transform", "lambda_map", "array_sql_invoked",
    "intersect", "except", "strings", "dates", "spatial_join",
}  # fmt: skip


def _plain(value: Any) -> Any:
    match value:
        case float() | Decimal():
            return "nan" if math.isnan(value) else float(f"{float(value):.9g}")
        case list() | tuple():
            return tuple(_plain(v) for v in value)
        case _:
            return value


def _rows(rows: list[Any]) -> list[str]:
    return [repr(_plain(row)) for row in rows]


def test_statements_give_the_same_rows(
    statements: dict[str, str], catalogs: Any, tpch_session: Any, tpch_data: duckdb.DuckDBPyConnection
) -> None:
    compared, known = 0, set[PythonFunction]()
    for name, text in statements.items():
        if name in NOT_YET | NO_ORACLE:
            continue
        plan = plan_query(parse_query(text), tpch_session, catalogs)
        sql = unparse(plan.root, "duckdb", catalog_table)
        register_functions(tpch_data, sql, known)
        ours = _rows(tpch_data.execute(sql).fetchall())
        theirs = _rows(tpch_data.execute(sqlglot.transpile(text, read="presto", write="duckdb")[0]).fetchall())
        if not (ours == theirs or sorted(ours) == sorted(theirs)):
            pytest.fail(f"{name}: {ours[:3]} != {theirs[:3]}")
        compared += 1
    assert compared >= 60
    assert {f"q{n:02d}" for n in range(1, 23)} <= statements.keys() - NOT_YET - NO_ORACLE


def test_every_planned_statement_has_spark_sql_with_pinned_snapshots(
    statements: dict[str, str], catalogs: Any, tpch_session: Any
) -> None:
    for number in range(1, 23):
        plan = plan_query(parse_query(statements[f"q{number:02d}"]), tpch_session, catalogs)
        sql = unparse(plan.root, "spark", catalog_table)
        assert "VERSION AS OF 7" in sql
        assert sql.count("`tpch`.`tiny`") == sql.count("VERSION AS OF 7")
