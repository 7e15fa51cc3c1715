"""Forms that other tests of this folder do not write: the rows of the written SQL are DuckDB's for the statement."""

from __future__ import annotations

import pytest

from shared.errors import ErrorLocation, ProcessionError
from tests.optimizer.rule_cases import TIDY
from tests.unparser.written import FIRST, Written
from tests.unparser.written import written as unparsed

NATION = "FROM nation WHERE n_nationkey < 9"
WINDOWS = [
    f"SELECT n_nationkey, row_number() OVER (PARTITION BY n_regionkey ORDER BY n_nationkey) {NATION}",
    f"SELECT n_nationkey, rank() OVER (ORDER BY n_regionkey), dense_rank() OVER (ORDER BY n_regionkey) {NATION}",
    f"SELECT n_nationkey, percent_rank() OVER (ORDER BY n_regionkey) {NATION}",
    f"SELECT n_nationkey, cume_dist() OVER (ORDER BY n_regionkey) {NATION}",
    f"SELECT n_nationkey, ntile(4) OVER (ORDER BY n_nationkey) {NATION}",
    f"SELECT n_nationkey, lag(n_name) OVER (ORDER BY n_nationkey) {NATION}",
    f"SELECT n_nationkey, lead(n_name, 2, 'none') OVER (ORDER BY n_nationkey) {NATION}",
    f"SELECT n_nationkey, first_value(n_name) OVER (PARTITION BY n_regionkey ORDER BY n_nationkey DESC) {NATION}",
    "SELECT n_nationkey, nth_value(n_name, 2) OVER (ORDER BY n_nationkey ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED"
    f" FOLLOWING) {NATION}",
    f"SELECT n_nationkey, sum(n_regionkey) OVER (ORDER BY n_nationkey ROWS BETWEEN 2 PRECEDING AND"
    f" 1 PRECEDING) {NATION}",
    f"SELECT n_nationkey, sum(n_regionkey) OVER (ORDER BY n_nationkey ROWS BETWEEN 1 FOLLOWING AND"
    f" 2 FOLLOWING) {NATION}",
    f"SELECT n_nationkey, count(*) OVER (ORDER BY n_regionkey RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) {NATION}",
    f"SELECT n_nationkey, count(*) OVER (ORDER BY n_regionkey DESC RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) {NATION}",
    f"SELECT n_nationkey, count(*) OVER (ORDER BY n_regionkey GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) {NATION}",
    "SELECT n_nationkey, n FROM (SELECT n_nationkey, row_number() OVER (PARTITION BY n_regionkey ORDER BY n_nationkey)"
    " AS n FROM nation) WHERE n <= 2",
    "SELECT n_nationkey, n FROM (SELECT n_nationkey, rank() OVER (PARTITION BY n_regionkey ORDER BY n_nationkey DESC)"
    " AS n FROM nation) WHERE n = 1",
]
AGGREGATES = [
    "SELECT n_regionkey, count(*) FILTER (WHERE n_nationkey > 10) FROM nation GROUP BY n_regionkey",
    "SELECT n_regionkey, sum(n_nationkey) FILTER (WHERE n_nationkey > 99) FROM nation GROUP BY n_regionkey",
    "SELECT count(DISTINCT n_regionkey), count(*) FROM nation",
    "SELECT n_regionkey, avg(n_nationkey), min(n_name), max(n_name) FROM nation GROUP BY n_regionkey",
    "SELECT n_regionkey, bool_and(n_nationkey > 3), bool_or(n_nationkey > 20) FROM nation GROUP BY n_regionkey",
    "SELECT n_regionkey, count(*) FROM nation GROUP BY n_regionkey HAVING max(n_nationkey) > 22",
    "SELECT n_regionkey, n_name, count(*) FROM nation GROUP BY ROLLUP (n_regionkey, n_name)",
    "SELECT n_regionkey, n_name, count(*) FROM nation GROUP BY CUBE (n_regionkey, n_name)",
    "SELECT n_regionkey, count(*) FROM nation GROUP BY GROUPING SETS ((n_regionkey), ())",
    "SELECT max_by(n_name, n_nationkey), min_by(n_name, n_nationkey) FROM nation",
    "SELECT round(stddev_pop(n_nationkey), 6), round(var_samp(n_nationkey), 6) FROM nation",
    "SELECT arbitrary(n_regionkey) FROM nation WHERE n_nationkey = 7",
    "SELECT DISTINCT n_regionkey FROM nation",
]
RELATIONS = [
    "SELECT r_name, n_name FROM region LEFT JOIN nation ON r_regionkey = n_regionkey AND n_nationkey > 20",
    "SELECT r_name, n_name FROM nation RIGHT JOIN region ON r_regionkey = n_regionkey AND n_nationkey > 20",
    "SELECT r_name, n_name FROM (SELECT * FROM nation WHERE n_nationkey < 6) FULL JOIN region ON"
    " r_regionkey = n_nationkey",
    "SELECT a.r_name, b.r_name FROM region a CROSS JOIN region b",
    "SELECT a.n_name FROM nation a JOIN nation b ON a.n_nationkey < b.n_regionkey",
    "SELECT n_name FROM nation WHERE n_regionkey IN (SELECT r_regionkey FROM region WHERE r_name LIKE 'A%')",
    "SELECT n_name FROM nation WHERE n_regionkey NOT IN (SELECT r_regionkey FROM region WHERE r_name LIKE 'A%')",
    "SELECT r_name FROM region WHERE NOT EXISTS (SELECT 1 FROM nation WHERE n_regionkey ="
    " r_regionkey AND n_nationkey > 20)",
    "SELECT r_name, (SELECT max(n_name) FROM nation WHERE n_regionkey = r_regionkey) FROM region",
    "SELECT n_regionkey FROM nation UNION SELECT r_regionkey + 3 FROM region",
    "SELECT n_regionkey FROM nation WHERE n_nationkey < 3 UNION ALL SELECT r_regionkey FROM region",
    "SELECT n_regionkey FROM nation INTERSECT SELECT r_regionkey + 3 FROM region",
    "SELECT n_nationkey FROM nation EXCEPT SELECT r_regionkey FROM region",
    "SELECT x, y FROM (VALUES (1, 'a'), (2, NULL), (3, 'c')) t(x, y) WHERE y IS NOT NULL",
    "SELECT count(*) FROM (VALUES 1, 2, 3) t(x)",
    "SELECT count(*) FROM (SELECT 1 FROM nation WHERE n_nationkey < 4)",
    "WITH a AS (SELECT n_regionkey AS k, count(*) AS c FROM nation GROUP BY n_regionkey) SELECT x.k, y.c"
    " FROM a x JOIN a y ON x.k = y.k",
]
EXPRESSIONS = [
    "n_nationkey BETWEEN 2 AND 4",
    "n_nationkey NOT BETWEEN 2 AND 4",
    "n_name LIKE '%A%'",
    "n_name NOT LIKE 'A_G%'",
    "n_nationkey IN (1, 3, 5)",
    "CASE n_regionkey WHEN 0 THEN 'zero' WHEN 1 THEN 'one' END",
    "CASE WHEN n_nationkey > 3 THEN n_name ELSE 'few' END",
    "nullif(n_regionkey, 1)",
    "coalesce(nullif(n_regionkey, 1), 42)",
    "n_nationkey IS DISTINCT FROM n_regionkey",
    "NOT (n_nationkey > 2 AND n_regionkey = 1 OR n_nationkey = 5)",
    "-n_nationkey",
    "n_nationkey % 3",
    "greatest(n_nationkey, n_regionkey, 2)",
    "least(n_nationkey, n_regionkey)",
    "substr(n_name, 2, 3)",
    "upper(n_name) || lower(n_name)",
    "length(n_name)",
    "strpos(n_name, 'A')",
    "replace(n_name, 'A', 'an')",
    "reverse(n_name)",
    "abs(n_nationkey - 3)",
    "CAST(n_nationkey AS varchar)",
    "CAST(n_nationkey AS double) / 4",
    "year(DATE '2024-02-28')",
    "DATE '2024-02-28' < DATE '2024-03-01'",
    "CAST(n_nationkey AS decimal(10, 2)) * 1.5",
]


@pytest.mark.parametrize("sql", [*WINDOWS, *AGGREGATES, *RELATIONS])
def test_rows_are_those_of_the_statement(written: Written, sql: str) -> None:
    rows, spark = written.rows(sql)
    assert sorted(rows) == sorted(written.cases.answer(sql))
    assert spark.startswith(("SELECT", "WITH"))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_are_those_of_the_expression(written: Written, expression: str) -> None:
    sql = f"SELECT n_nationkey, {expression} FROM nation WHERE n_nationkey < 8"
    rows, _ = written.rows(sql)
    assert sorted(rows) == sorted(written.cases.answer(sql))


def test_an_offset_that_is_another_in_each_row_is_duckdbs_alone(written: Written) -> None:
    sql = f"SELECT n_nationkey, count(*) OVER (ORDER BY n_nationkey ROWS n_regionkey PRECEDING) {NATION}"
    _, plan = written.cases.planned(TIDY[1], sql, first=FIRST)
    assert written.cases.rows(plan) == written.cases.answer(sql)
    with pytest.raises(ProcessionError) as refused:
        unparsed(plan, "spark")
    assert refused.value.message == "A window frame whose offset is no constant is not supported by Spark"
    assert refused.value.location == ErrorLocation(1, sql.index("count") + 1)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT k, e FROM (VALUES (1, ARRAY[5, 6]), (2, ARRAY[])) t(k, a) CROSS JOIN UNNEST(a) AS u(e)",
            ["1\t5", "1\t6"],
        ),
        (
            "SELECT e, n FROM (VALUES ARRAY['x', NULL]) t(a) CROSS JOIN UNNEST(a) WITH ORDINALITY AS u(e, n)",
            ["NULL\t2", "x\t1"],
        ),
        (
            "SELECT k, v FROM (VALUES MAP(ARRAY[1, 2], ARRAY['a', 'b'])) t(m) CROSS JOIN UNNEST(m) AS u(k, v)",
            ["1\ta", "2\tb"],
        ),
        (
            "SELECT x, y FROM (VALUES ARRAY[ROW(1, 'a'), ROW(2, 'b')]) t(a) CROSS JOIN UNNEST(a) AS u(x, y)",
            ["1\ta", "2\tb"],
        ),
        (
            "SELECT x, y FROM (VALUES (ARRAY[1, 2, 3], ARRAY['a'])) t(a, b) CROSS JOIN UNNEST(a, b) AS u(x, y)",
            ["1\ta", "2\tNULL", "3\tNULL"],
        ),
        ("SELECT a[2], m['k'] FROM (VALUES (ARRAY[7, 8], MAP(ARRAY['k'], ARRAY[9]))) t(a, m)", ["8\t9"]),
        ("SELECT r.x + r.y FROM (VALUES CAST(ROW(1, 2) AS row(x integer, y integer))) t(r)", ["3"]),
    ],
)
def test_arrays_maps_and_rows(written: Written, sql: str, expected: list[str]) -> None:
    rows, _ = written.rows(sql)
    assert sorted(row.replace("None", "NULL") for row in rows) == expected
