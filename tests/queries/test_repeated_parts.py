"""Parts of a query that are used several times are computed once on both engines, and give DuckDB's rows."""

from __future__ import annotations

import duckdb
import pytest

from tests.data_sets.tpcds import counted
from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SUMS = (
    "WITH sums AS (SELECT o_custkey k, sum(o_totalprice) s, count(*) n, avg(CAST(o_orderkey AS DOUBLE)) a, "
    "max(CASE WHEN o_orderpriority < '3' THEN o_comment END) c FROM orders GROUP BY o_custkey), "
)
TEXTS = {
    "joined with itself": "t AS (SELECT 1) SELECT a.k, b.s, a.c FROM sums a JOIN sums b ON a.k = b.k AND a.s > 300000",
    "other columns": "t AS (SELECT 1) SELECT k, a FROM sums WHERE n = (SELECT max(n) FROM sums)",
    "other filters above": "t AS (SELECT 1) SELECT k FROM sums WHERE s > 300000 AND k IN (SELECT k FROM sums "
    "WHERE n < 20)",
    "none of its columns": "t AS (SELECT k FROM sums WHERE s > 100) SELECT (SELECT count(*) FROM t), k, n FROM t, "
    "(SELECT n FROM sums WHERE s > 400000)",
    "other filters below": "t AS (SELECT o_custkey k, o_orderstatus s, count(*) n, max(o_comment) c FROM orders "
    "JOIN customer ON o_custkey = c_custkey GROUP BY 1, 2) SELECT a.k, a.c, b.n, c.n FROM t a JOIN t b ON a.k = b.k "
    "LEFT JOIN t c ON c.k = a.k AND c.s = 'P' WHERE a.s = 'F' AND b.s = 'O' AND b.n > 2",
    "other keys": "t AS (SELECT 1) SELECT a.n, b.k FROM sums a JOIN sums b ON a.n = b.n WHERE a.k < 100 AND b.k "
    "BETWEEN 900 AND 990",
    "other filters that leave nothing": "t AS (SELECT 1) SELECT a.k, b.k FROM sums a, sums b WHERE a.k = 1 AND b.k < 0",
    "NULL": "t AS (SELECT 1) SELECT x.c, count(*) FROM sums x LEFT JOIN sums y ON x.c = y.c AND x.k < y.k "
    "WHERE x.c IS NULL OR y.s > 1000 GROUP BY x.c",
    "NOT IN with NULL": "t AS (SELECT 1) SELECT count(*) FROM sums WHERE n NOT IN (SELECT n FROM sums WHERE c IS NULL)",
    "correlated": "t AS (SELECT 1) SELECT k, n FROM sums x WHERE EXISTS (SELECT 1 FROM sums y WHERE y.n = x.n AND "
    "y.k <> x.k AND y.s < x.s)",
    "doubles": "t AS (SELECT 1) SELECT x.k, x.a, y.a FROM sums x JOIN sums y ON x.a = y.a WHERE x.n > 20",
    "first rows": "t AS (SELECT k, s FROM sums ORDER BY s DESC, k LIMIT 10) SELECT x.k, y.s FROM t x JOIN t y "
    "ON x.k = y.k ORDER BY 2 LIMIT 7",
    "a part in a part": "t AS (SELECT n, max(s) m FROM sums GROUP BY n) "
    "SELECT x.n, y.m, (SELECT max(s + n) FROM sums) FROM t x JOIN t y ON x.n = y.n AND x.m = y.m",
    "in branches of a union": "t AS (SELECT 1) SELECT k, 1 FROM sums WHERE n > 25 UNION ALL SELECT n, 2 FROM sums "
    "WHERE k < 50 UNION ALL SELECT count(*), 3 FROM sums",
    "no rows": "t AS (SELECT max(s) m, count(*) n FROM sums WHERE s < 0) SELECT x.m, y.n FROM t x, t y "
    "WHERE x.n = y.n",
    "groups in sets": "t AS (SELECT 1) SELECT x.n, y.a, count(*), sum(x.k) FROM sums x JOIN sums y ON x.k = y.k "
    "GROUP BY ROLLUP (x.n, y.a)",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_rows(name: str, queries: Service, oracle: duckdb.DuckDBPyConnection) -> None:
    wanted = counted(oracle.execute(SUMS + TEXTS[name]).fetchall())
    for engine in ("EMBEDDED", "SPARK"):
        session = {"engine": engine}
        found = queries.execute(SUMS + TEXTS[name], catalog="iceberg", schema="tpch", session_properties=session)
        assert counted(found) == wanted, engine


@pytest.mark.parametrize("engine", ["EMBEDDED", "SPARK"])
def test_what_one_use_computes_fails_for_no_row_of_another(
    queries: Service, oracle: duckdb.DuckDBPyConnection, engine: str
) -> None:
    text = (
        "WITH t AS (SELECT o_custkey k, max(1000 % {}) d, count(*) n FROM orders GROUP BY 1) "
        "SELECT a.d, b.n FROM t a, t b WHERE a.k = 8 AND b.k = 7"
    )
    session = {"engine": engine}
    asked = text.format("(o_custkey - 7)")
    found = queries.execute(asked, catalog="iceberg", schema="tpch", session_properties=session)
    assert len(found) == 1
    assert counted(found) == counted(oracle.execute(text.format("nullif(o_custkey - 7, 0)")).fetchall())


def explained(queries: Service, text: str) -> str:
    """What Spark measured, with its operators."""
    session = {"engine": "SPARK"}
    rows = queries.execute(f"EXPLAIN ANALYZE {text}", catalog="iceberg", schema="tpch", session_properties=session)
    return str(rows[0][0])


@pytest.mark.parametrize("name", ["joined with itself", "other filters above", "other keys", "first rows"])
def test_spark_reads_the_table_once(name: str, queries: Service) -> None:
    text = explained(queries, SUMS + TEXTS[name])
    assert text.count("BatchScan") == 1


def test_spark_reads_a_rollup_once(queries: Service) -> None:
    """The row of the empty set as well, also where there are no rows."""
    groups = "SELECT o_custkey k, o_orderstatus s, count(*) n FROM orders GROUP BY 1, 2"
    text = explained(queries, f"SELECT k, s, count(*), sum(n) FROM ({groups}) GROUP BY ROLLUP (k, s)")
    assert text.count("BatchScan") == 1


def test_a_write_that_uses_a_part_twice(queries: Service, oracle: duckdb.DuckDBPyConnection) -> None:
    text = SUMS + TEXTS["a part in a part"]
    where = {"catalog": "iceberg", "schema": "tpch", "session_properties": {"engine": "SPARK"}}
    queries.execute(
        f"CREATE TABLE iceberg.tpch.made_of_parts AS {text.replace('(SELECT max(s + n) FROM sums)', '1 AS o')}", **where
    )
    found = queries.execute("SELECT n, m FROM iceberg.tpch.made_of_parts", **where)
    assert counted(found) == counted([row[:2] for row in oracle.execute(text).fetchall()])
