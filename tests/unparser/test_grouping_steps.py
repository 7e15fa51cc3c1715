"""Many grouping sets are computed some at a time, over one source, and answers stay those of DuckDB."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
import sqlglot

from coordinator.connectors.iceberg.relations import catalog_table
from coordinator.optimizer.optimize import optimize
from coordinator.planner.query import plan_query
from coordinator.sql.parser import parse_query
from coordinator.unparser import grouping, unparse
from shared.plan.nodes import OutputNode

BOTH = "orders JOIN customer ON o_custkey = c_custkey"
TEXTS = {
    f"SELECT o_orderpriority, c_mktsegment, o_orderstatus, count(*), sum(o_custkey), grouping(o_orderstatus, "
    f"o_orderpriority) FROM {BOTH} GROUP BY CUBE (o_orderpriority, c_mktsegment, o_orderstatus)": 4,
    # An odd number of sets, of which none is without keys, and no aggregates.
    "SELECT o_orderpriority, o_orderstatus, o_shippriority FROM orders GROUP BY GROUPING SETS ((o_orderpriority, "
    "o_orderstatus), (o_orderstatus), (o_shippriority))": 2,
    "SELECT o_orderstatus, o_shippriority, count(DISTINCT o_custkey), count(*) FILTER (WHERE o_custkey > 700) FROM "
    "orders WHERE o_custkey < 0 GROUP BY CUBE (o_orderstatus, o_shippriority)": 2,
    # Keys that are aggregated too, and sets above sets.
    "SELECT p, max(n), max(g) FROM (SELECT o_orderpriority p, o_orderstatus s, max(o_orderstatus) m, count(*) n, "
    "grouping(o_orderpriority) g FROM orders GROUP BY CUBE (o_orderpriority, o_orderstatus)) x GROUP BY CUBE (p, s)": 4,
    "SELECT o_orderpriority, o_orderstatus FROM orders GROUP BY ROLLUP (o_orderstatus), o_orderpriority": 0,
}


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "_MOST_SETS", 2)
    monkeypatch.setattr(grouping, "_SETS_A_STEP", 2)


def written(text: str, dialect: str, catalogs: Any, session: Any) -> str:
    planned = plan_query(parse_query(text), session, catalogs)
    made, _ = optimize(planned.root, session)
    assert isinstance(made, OutputNode)
    return unparse(made, dialect, catalog_table)


@pytest.mark.parametrize(("text", "steps"), TEXTS.items())
def test_rows(text: str, steps: int, catalogs: Any, tpch_session: Any, tpch_data: duckdb.DuckDBPyConnection) -> None:
    sql = written(text, "duckdb", catalogs, tpch_session)
    found = tpch_data.execute(sql).fetchall()
    expected = tpch_data.execute(sqlglot.transpile(text, read="presto", write="duckdb")[0]).fetchall()
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert sql.count("GROUPING SETS") == max(steps, 1)


def test_a_step_waits_for_the_one_before(catalogs: Any, tpch_session: Any) -> None:
    """All but the first read it, and each reads the source, which is computed once."""
    text, steps = next(iter(TEXTS.items()))
    sql = written(text, "duckdb", catalogs, tpch_session)
    assert sql.count("CROSS JOIN (SELECT COUNT(*)") == steps - 1
    assert sql.count("AS MATERIALIZED") == steps, "the source, and all steps but the last"
    assert sql.count("customer") == 1


def test_spark_takes_all_at_once(catalogs: Any, tpch_session: Any) -> None:
    sql = written(next(iter(TEXTS)), "spark", catalogs, tpch_session)
    assert sql.count("GROUPING SETS") == 1
