"""A WITH query that is used several times is computed once, and answers stay those of DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import duckdb
import pytest
import sqlglot

from coordinator.connectors.iceberg.relations import catalog_table
from coordinator.engine.local_functions import register_functions
from coordinator.optimizer.cardinality import cardinality
from coordinator.optimizer.optimize import optimize
from coordinator.planner.query import plan_query
from coordinator.sql.parser import parse_query
from coordinator.unparser import unparse, unparse_for_spark
from coordinator.values.python_functions import PythonFunction
from shared.plan.nodes import OutputNode, PlanNode, TableScanNode
from shared.plan.traversal import walk

SUMS = "WITH sums AS (SELECT o_custkey k, sum(o_totalprice) s, count(*) n FROM orders GROUP BY o_custkey) "
BOTH = "orders JOIN customer ON o_custkey = c_custkey"
CHOSEN = "lineitem WHERE l_orderkey IN (SELECT o_orderkey FROM orders WHERE o_custkey < 100)"
TEXTS = {
    "SELECT a.k, b.s FROM sums a JOIN sums b ON a.k = b.k AND a.s > 300000": 1,
    "SELECT k, s FROM sums WHERE s = (SELECT max(s) FROM sums)": 1,
    "SELECT k FROM sums WHERE s > 300000 AND k IN (SELECT k FROM sums WHERE s < 400000) ORDER BY k": 1,
    # Uses want different columns: all of them are computed at once.
    "SELECT a.k, a.s FROM sums a WHERE a.n = (SELECT max(n) FROM sums)": 1,
    "SELECT (SELECT max(s) FROM sums), (SELECT min(n) FROM sums), (SELECT max(n) FROM sums)": 1,
    f"SELECT x.m, y.m FROM (SELECT max(o_totalprice) m FROM {BOTH} WHERE c_acctbal > 0) x, "
    f"(SELECT max(c_name) m FROM {BOTH} WHERE c_acctbal > 0) y": 1,
    f"SELECT x.m, y.m FROM (SELECT max(o_totalprice) m FROM {BOTH} WHERE c_acctbal > 0) x, "
    f"(SELECT max(c_name) m FROM {BOTH} WHERE c_acctbal > 1) y": 0,
    "SELECT x.m, y.m FROM (SELECT max(o_totalprice) m FROM orders LEFT JOIN customer ON o_custkey = c_custkey) x, "
    "(SELECT max(c_name) m FROM orders JOIN customer ON o_custkey = c_custkey) y": 0,
    "SELECT x.n, y.n FROM (SELECT o_custkey k, count(*) n FROM orders GROUP BY 1) x JOIN (SELECT o_orderpriority k, "
    "sum(o_totalprice) n FROM orders GROUP BY 1) y ON x.n = y.n": 0,
    f"SELECT x.m, y.m, y.n FROM (SELECT sum(l_quantity) m FROM {CHOSEN}) x, "
    f"(SELECT sum(l_quantity) m, max(l_comment) n FROM {CHOSEN}) y": 1,
    "SELECT count(*) FROM sums": 0,
    "SELECT a.n + b.n FROM (SELECT count(*) n FROM orders WHERE random() < 2) a, "
    "(SELECT count(*) n FROM orders WHERE random() < 2) b": 0,
    "SELECT x.n, y.n FROM (SELECT count(*) n FROM orders) x, (SELECT count(*) n FROM lineitem) y": 0,
    "SELECT x.n, y.n FROM (SELECT count(*) n FROM orders) x, (SELECT count(o_comment) n FROM orders) y": 1,
}
KEPT = "RAND() AS `procession_kept`"
FAILS = ", fails AS (SELECT o_custkey k, max(1000 % (o_orderkey - 7)) d, count(*) n FROM orders GROUP BY o_custkey) "
FILTERED = {
    # Each use has its own rows once filters are where they belong: DuckDB computes them apart, Spark at once.
    "SELECT a.s, b.s FROM sums a, sums b WHERE a.k = 1 AND b.k = 2": 1,
    "SELECT a.s, b.n, c.c FROM sums a, sums b, sums c WHERE a.k = 1 AND b.k < 4 AND c.k IN (2, 4) AND a.n = c.n": 1,
    f"SELECT x.m, y.m FROM (SELECT c_nationkey k, max(o_totalprice) m FROM {BOTH} WHERE c_nationkey = 3 GROUP BY 1) x, "
    f"(SELECT c_nationkey k, max(c_name) m FROM {BOTH} WHERE c_nationkey = 4 GROUP BY 1) y": 1,
    # What one use alone computes could fail for the rows of the other; what both compute fails for neither's own.
    "SELECT a.d, b.n FROM fails a, fails b WHERE a.k = 1 AND b.k = 2": 0,
    "SELECT a.d, b.d, b.n FROM fails a, fails b WHERE a.k = 1 AND b.k = 2": 1,
    "SELECT a.m, b.n FROM (SELECT o_custkey k, sum(o_orderkey) m FROM orders WHERE o_custkey = 1 GROUP BY 1) a, "
    "(SELECT o_custkey k, count(*) n FROM orders WHERE o_custkey = 2 GROUP BY 1) b": 0,
    # What one filter asks for is no key of the groups, is NULL where nothing matches, or is asked of first rows.
    "SELECT x.n, y.n FROM (SELECT o_custkey k, count(*) n FROM orders WHERE o_orderstatus = 'F' GROUP BY 1) x JOIN "
    "(SELECT o_custkey k, count(*) n FROM orders WHERE o_orderstatus = 'O' GROUP BY 1) y ON x.k = y.k": 0,
    "SELECT x.n, y.n FROM (SELECT count(*) n FROM orders WHERE o_custkey = 1) x, "
    "(SELECT count(*) n FROM orders WHERE o_custkey = 2) y": 0,
    "SELECT x.n, y.n FROM (SELECT c_nationkey k, count(o_orderkey) n FROM orders LEFT JOIN (SELECT * FROM customer "
    "WHERE c_nationkey = 3) ON o_custkey = c_custkey GROUP BY 1) x, (SELECT c_nationkey k, count(o_orderkey) n FROM "
    "orders LEFT JOIN (SELECT * FROM customer WHERE c_nationkey = 4) ON o_custkey = c_custkey GROUP BY 1) y": 0,
    "SELECT x.k, y.k FROM (SELECT o_custkey k FROM orders WHERE o_custkey > 9 ORDER BY o_orderkey LIMIT 3) x, "
    "(SELECT o_custkey k FROM orders WHERE o_custkey < 5 ORDER BY o_orderkey LIMIT 3) y": 0,
    # One of them wants all rows.
    "SELECT a.s, b.s FROM sums a JOIN sums b ON a.n = b.n WHERE a.k = 1": 0,
}
JOINED = (
    "WITH joined AS (SELECT o_orderpriority p, c_nationkey n, c_mktsegment m, o_totalprice t, o_shippriority s FROM "
    "orders JOIN customer ON o_custkey = c_custkey WHERE {}) "
)
FEW = "c_mktsegment = 'BUILDING' AND o_orderstatus = 'F'"
THREE = (
    "SELECT p, max(t) x, 0 FROM joined GROUP BY p UNION ALL SELECT m, min(t), 1 FROM joined GROUP BY m UNION ALL "
    "SELECT 'all', sum(t), count(*) FROM joined"
)
JOINS = {
    JOINED.format(FEW) + THREE: 1,
    # What is computed of the rows is computed with them, for each use.
    JOINED.format(FEW) + "SELECT p, max(t * 2) FROM joined GROUP BY p UNION ALL SELECT m, max(s + n) FROM joined "
    "GROUP BY m": 1,
    JOINED.format(FEW) + "SELECT p, m, max(t) FROM joined GROUP BY ROLLUP (p, m) UNION ALL SELECT 'all', NULL, min(t) "
    "FROM joined": 1,
    JOINED.format(FEW) + "SELECT p, count(DISTINCT m) FROM joined GROUP BY p UNION ALL SELECT m, count(*) FROM joined "
    "GROUP BY m": 1,
    JOINED.format("c_custkey IN (SELECT l_suppkey FROM lineitem WHERE l_partkey < 9) AND " + FEW) + THREE: 1,
    # Most rows stay, and so they are in one of several uses.
    JOINED.format("o_totalprice > 0") + THREE: 0,
    JOINED.format(FEW) + "SELECT p, max(t) FROM joined GROUP BY p UNION ALL SELECT m, min(t) FROM joined WHERE n = 3 "
    "GROUP BY m": 0,
    # The rows of a use are not read to their end.
    JOINED.format(FEW) + "SELECT p, max(t) FROM joined GROUP BY p UNION ALL (SELECT m, t FROM joined ORDER BY t, m "
    "LIMIT 3)": 0,
    # Equal groups are computed once, and their join with that of the others.
    JOINED.format(FEW) + "SELECT a.p, b.x, m FROM (SELECT p, max(t) x FROM joined GROUP BY p) a JOIN (SELECT p, max(t) "
    "x FROM joined GROUP BY p) b ON a.p = b.p AND a.x >= b.x, (SELECT max(s) m FROM joined)": 2,
    "SELECT 'a', count(*) FROM orders WHERE o_custkey = 7 UNION ALL SELECT o_orderpriority, 1 FROM orders WHERE "
    "o_custkey = 7 GROUP BY 1": 0,
}
NOTHING: Mapping[str, int] = {}
ROWS = {"orders": 15_000, "customer": 1_500, "lineitem": 60_175}
Run = Callable[..., tuple[str, list[Any], str]]


def table_of(scan: TableScanNode) -> str:
    return str(scan.table.connectorHandle["icebergTableName"]["tableName"])


@pytest.fixture
def run(catalogs: Any, tpch_session: Any, tpch_data: duckdb.DuckDBPyConnection) -> Run:
    """The SQL of an optimized statement for DuckDB, its sorted rows, and the SQL for Spark."""
    known = set[PythonFunction]()

    def both(text: str, rows: Mapping[str, int] = NOTHING) -> tuple[str, list[Any], str]:
        planned = plan_query(parse_query(text), tpch_session, catalogs)
        made, _ = optimize(planned.root, tpch_session, table_rows=planned.table_rows)
        assert isinstance(made, OutputNode)
        scans = [node for node in walk(made) if isinstance(node, TableScanNode)]
        counts = {scan.id: rows[name] for scan in scans if (name := table_of(scan)) in rows}

        def rows_of(node: PlanNode) -> float | None:
            found = cardinality(node, counts)
            return None if found is None else found.rows

        sql = unparse(made, "duckdb", catalog_table, rows_of=rows_of)
        assert "procession_kept" not in unparse_for_spark(made.source, made.outputVariables, catalog_table)[0]
        spark = unparse(made, "spark", catalog_table, rows_of=rows_of)
        register_functions(tpch_data, sql, known)
        return sql, sorted(map(plain, tpch_data.execute(sql).fetchall())), spark

    return both


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """NULL as an empty text, so that rows can be sorted."""
    return tuple(float(f"{float(value):.9g}") if not isinstance(value, str | None) else value or "" for value in row)


@pytest.mark.parametrize(("text", "parts"), TEXTS.items())
def test_what_is_computed_once(text: str, parts: int, run: Run, tpch_data: duckdb.DuckDBPyConnection) -> None:
    sql, rows, spark = run(SUMS + text)
    assert sql.count("AS MATERIALIZED") == spark.count(KEPT) == parts
    expected = tpch_data.execute(sqlglot.transpile(SUMS + text, read="presto", write="duckdb")[0]).fetchall()
    assert rows == sorted(map(plain, expected))


@pytest.mark.parametrize(("text", "parts"), JOINS.items())
def test_joins_that_are_grouped_in_several_ways(
    text: str, parts: int, run: Run, tpch_data: duckdb.DuckDBPyConnection
) -> None:
    sql, rows, spark = run(text, ROWS)
    assert sql.count("AS MATERIALIZED") == parts
    assert spark.count(KEPT) == (parts == 2), "groups, and no joins"
    expected = tpch_data.execute(sqlglot.transpile(text, read="presto", write="duckdb")[0]).fetchall()
    assert rows == sorted(map(plain, expected))
    if parts == 1:
        assert sql.count("customer") == 1


def test_joins_of_which_nothing_is_known_are_left_to_their_uses(run: Run) -> None:
    text = JOINED.format(FEW) + THREE
    for rows in (NOTHING, {"orders": 15_000}):
        sql, _, _ = run(text, rows)
        assert "AS MATERIALIZED" not in sql


@pytest.mark.parametrize(("text", "parts"), FILTERED.items())
def test_what_spark_filters_after_it_was_computed_once(
    text: str, parts: int, run: Run, tpch_data: duckdb.DuckDBPyConnection
) -> None:
    whole = SUMS.replace("FROM", ", min(o_orderkey) c FROM") + FAILS + text
    sql, rows, spark = run(whole)
    assert sql.count("AS MATERIALIZED") == 0
    assert spark.count(KEPT) == parts
    expected = tpch_data.execute(sqlglot.transpile(whole, read="presto", write="duckdb")[0]).fetchall()
    assert rows == sorted(map(plain, expected))


def test_a_row_that_a_scan_finds(run: Run) -> None:
    """Spark would need an exchange for it."""
    one = "(SELECT o_custkey FROM orders WHERE o_orderkey = 7)"
    sql, _, spark = run(f"SELECT count(*) FROM orders WHERE o_custkey = {one} OR o_shippriority = {one}")
    assert sql.count("AS MATERIALIZED") == 1
    assert KEPT not in spark


def test_the_text_for_spark(catalogs: Any, tpch_session: Any) -> None:
    """A column of chance, which nobody reads, keeps Spark from writing the part into each of its uses."""
    text = SUMS + "SELECT a.k FROM sums a JOIN sums b ON a.s = b.k"
    planned = plan_query(parse_query(text), tpch_session, catalogs)
    made, _ = optimize(planned.root, tpch_session, table_rows=planned.table_rows)
    assert isinstance(made, OutputNode)
    parsed = sqlglot.parse_one(unparse(made, "spark", catalog_table), read="spark")
    (part,) = parsed.ctes
    *read, kept = part.this.selects
    assert kept.sql("spark") == KEPT
    uses = [table for table in parsed.find_all(sqlglot.exp.Table) if table.name == part.alias]
    assert len(uses) == 2
    names = {column.name for use in uses for column in use.parent_select.find_all(sqlglot.exp.Column)}
    assert names <= {column.alias_or_name for column in read}


def test_a_part_within_a_part(run: Run, tpch_data: duckdb.DuckDBPyConnection) -> None:
    """The inner one has a reader of its own outside of the outer one."""
    text = (
        SUMS + ", tops AS (SELECT n, max(s) m FROM sums GROUP BY n) "
        "SELECT a.n, b.m, (SELECT max(s + n) FROM sums) FROM tops a JOIN tops b ON a.n = b.n AND a.m = b.m"
    )
    sql, rows, spark = run(text)
    assert sql.count("AS MATERIALIZED") == 2
    # Spark mixes up the columns of a part within a part: the outer one has a copy, and the other reader one of its own.
    kept, alone = sorted(sqlglot.parse_one(spark, read="spark").ctes, key=lambda part: KEPT not in part.sql("spark"))
    assert KEPT not in alone.sql("spark")
    assert [table.name for table in kept.find_all(sqlglot.exp.Table)] == ["orders"]
    expected = tpch_data.execute(sqlglot.transpile(text, read="presto", write="duckdb")[0]).fetchall()
    assert rows == sorted(map(plain, expected))


def test_the_query_of_tpch_that_is_written_with_one(run: Run, statements: dict[str, str]) -> None:
    sql, rows, spark = run(statements["q15"])
    assert sql.count("AS MATERIALIZED") == spark.count(KEPT) == 1
    assert sql.count("lineitem") == spark.count("lineitem") == 1
    assert len(rows) == 1


def test_branches_of_a_long_union_are_not_compared_each_with_each(
    run: Run, tpch_data: duckdb.DuckDBPyConnection
) -> None:
    branches = " UNION ALL ".join(f"SELECT count(*) n FROM orders WHERE o_custkey = {n // 2}" for n in range(120))
    sql, rows, spark = run(f"SELECT count(*), sum(n) FROM ({branches}) u")
    assert sql.count("AS MATERIALIZED") == spark.count(KEPT) == 60
    expected = tpch_data.execute(f"SELECT count(*), sum(n) FROM ({branches}) u").fetchall()
    assert rows == sorted(map(plain, expected))
