"""Grouping sets on both engines beside DuckDB over the same rows: sets read their source once, equal ones each."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from tests.e2e.service import Service
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]

COUNT = 3000
ROWS = pa.table({
    "a": [None if i % 11 == 0 else i % 5 for i in range(COUNT)],
    "b": [f"b{i % 7}" for i in range(COUNT)],
    "c": [None if i % 13 == 0 else i % 3 for i in range(COUNT)],
    "y": list(range(COUNT)),
})  # fmt: skip
QUERIES = {
    "keys that are aggregated": "SELECT a, b, count(*), sum(a), max(c), grouping(a, b) FROM {t} GROUP BY ROLLUP (a, b)",
    "distinct and filtered": "SELECT a, b, c, count(DISTINCT y % 10), sum(y) FILTER (WHERE a > 1), grouping(c, a) "
    "FROM {t} GROUP BY CUBE (a, b, c)",
    "no rows": "SELECT a, b, count(*) FROM {t} WHERE y < 0 GROUP BY ROLLUP (a, b)",
    "no rows and no empty set": "SELECT a, b, sum(y) FROM {t} WHERE y < 0 GROUP BY GROUPING SETS ((a), (b))",
    "no aggregates": "SELECT a, b FROM {t} GROUP BY GROUPING SETS ((a, b), (b), ())",
    "equal sets": "SELECT a, b, sum(y) FROM {t} GROUP BY GROUPING SETS ((a, b), (b, a), (a), (), ())",
    "sets of sets": "SELECT a, sum(s), grouping(a) FROM (SELECT a, b, sum(y) AS s FROM {t} GROUP BY CUBE (a, b)) "
    "GROUP BY ROLLUP (a) HAVING sum(s) > 10",
    "over groups": "SELECT a, b, count(*), sum(s), min(b), avg(CAST(s AS DOUBLE)), count(DISTINCT c), count(c), "
    "bool_or(s > 900), max(s) FILTER (WHERE c > 1), count(CASE WHEN a > 2 THEN 1 END), grouping(a, b) "
    "FROM (SELECT a, b, c, sum(y) AS s FROM {t} GROUP BY a, b, c) GROUP BY CUBE (a, b)",
    "over no groups": "SELECT a, b, count(*), sum(s), count(DISTINCT b), count(DISTINCT s), bool_or(s > 900) FROM "
    "(SELECT a, b, sum(y) AS s FROM {t} WHERE y < 0 GROUP BY a, b) GROUP BY ROLLUP (a, b)",
    "no aggregates over no groups": "SELECT a, b FROM (SELECT a, b FROM {t} WHERE y < 0 GROUP BY a, b) GROUP BY "
    "GROUPING SETS ((a, b), (b), ())",
    "ranked": "SELECT b, c, rank() OVER (PARTITION BY grouping(b, c) ORDER BY sum(y) DESC) FROM {t} "
    "GROUP BY ROLLUP (b, c)",
}


@pytest.fixture(scope="module")
def table(queries: Service) -> str:
    queries.create("grouped_in_sets", [ROWS.slice(0, 1000), ROWS.slice(1000)])
    return "iceberg.db.grouped_in_sets"


@pytest.mark.parametrize("name", QUERIES)
def test_rows(name: str, queries: Service, table: str) -> None:
    with duckdb.connect() as oracle:
        oracle.register("rows", ROWS)
        wanted = sorted(map(str, map(list, oracle.execute(QUERIES[name].format(t="rows")).fetchall())))
    for engine in ("EMBEDDED", "SPARK"):
        found = queries.execute(QUERIES[name].format(t=table), session_properties={"engine": engine})
        assert sorted(map(str, found)) == wanted, engine


@pytest.mark.parametrize("count", some([9], [10, 11], "the cube of nine keys, of 512 sets, in steps as well"))
def test_a_cube_of_many_keys(queries: Service, count: int) -> None:
    """What tells 512 sets apart must not be bound once for each, and 2,048 at once need 4 GB of memory."""
    keys = ", ".join(f"k{i}" for i in range(count))
    rows = ", ".join(f"({', '.join(str(i + n) for i in range(count))})" for n in (0, 1))
    cube = f"SELECT {keys}, grouping({keys}) AS g FROM (VALUES {rows}) AS t ({keys}) GROUP BY CUBE ({keys})"
    assert queries.execute(f"SELECT count(*), count(DISTINCT g) FROM ({cube})") == [[2 ** (count + 1) - 1, 2**count]]


def test_the_source_is_read_once(queries: Service, table: str) -> None:
    """By what was measured of a rollup over a join: one scan of each table."""
    asked = (
        f"EXPLAIN ANALYZE SELECT a, b, count(*) FROM {table} JOIN (VALUES 1, 2) AS v (n) ON a = n GROUP BY CUBE (a, b)"
    )
    ((text,),) = queries.execute(asked, session_properties={"engine": "EMBEDDED"})
    assert text.count("READ_PARQUET") == 1
