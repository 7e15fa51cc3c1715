"""Aggregates and window functions over nations: their values, which are Presto's, and the SQL of aggregates."""

from __future__ import annotations

import pytest

from tests.unparser.written import Written

AGGREGATES = [
    (
        "count(*)",
        "25",
        "CAST(COUNT(*) AS BIGINT)",
    ),
    (
        "count(nullif(n_regionkey, 3))",
        "20",
        "CAST(COUNT(`expr`) AS BIGINT)",
    ),
    (
        "count(DISTINCT n_regionkey)",
        "5",
        "CAST(COUNT(DISTINCT `n_regionkey`) AS BIGINT)",
    ),
    (
        "count_if(n_regionkey = 1)",
        "5",
        "CAST(COUNT_IF(`expr`) AS BIGINT)",
    ),
    (
        "sum(n_nationkey)",
        "300",
        "CAST(SUM(`n_nationkey`) AS BIGINT)",
    ),
    (
        "sum(n_nationkey / 2e0)",
        "150",
        "CAST(SUM(`expr`) AS DOUBLE)",
    ),
    (
        "sum(CAST(n_nationkey AS decimal(10,2)))",
        "300.00",
        "CAST(SUM(`expr`) AS DECIMAL(38, 2))",
    ),
    (
        "avg(n_nationkey)",
        "12",
        "CAST(AVG(`n_nationkey`) AS DOUBLE)",
    ),
    (
        "avg(CAST(n_nationkey AS decimal(10,2)))",
        "12.00",
        None,
    ),
    (
        "min(n_name)",
        "ALGERIA",
        "MIN(`n_name`)",
    ),
    (
        "max(n_name)",
        "VIETNAM",
        "MAX(`n_name`)",
    ),
    (
        "min(n_nationkey, 3)",
        "[0, 1, 2]",
        None,
    ),
    (
        "max_by(n_name, n_nationkey)",
        "UNITED STATES",
        "MAX_BY(`n_name`, `n_nationkey`)",
    ),
    (
        "min_by(n_name, n_nationkey, 2)",
        "['ALGERIA', 'ARGENTINA']",
        None,
    ),
    (
        "arbitrary(n_regionkey * 0)",
        "0",
        "CAST(ANY_VALUE(`expr`) AS BIGINT)",
    ),
    (
        "bool_and(n_nationkey >= 0)",
        "True",
        "BOOL_AND(`expr`)",
    ),
    (
        "bool_or(n_nationkey > 24)",
        "False",
        "BOOL_OR(`expr`)",
    ),
    (
        "every(n_regionkey < 4)",
        "False",
        "EVERY(`expr`)",
    ),
    (
        "stddev(n_nationkey)",
        "7.35980072",
        "CAST(STDDEV(`n_nationkey`) AS DOUBLE)",
    ),
    (
        "stddev_pop(n_nationkey)",
        "7.21110255",
        "CAST(STDDEV_POP(`n_nationkey`) AS DOUBLE)",
    ),
    (
        "variance(n_nationkey)",
        "54.1666667",
        "CAST(VARIANCE(`n_nationkey`) AS DOUBLE)",
    ),
    (
        "var_pop(n_nationkey)",
        "52",
        "CAST(VAR_POP(`n_nationkey`) AS DOUBLE)",
    ),
    (
        "corr(n_nationkey, n_regionkey)",
        "0.180426851",
        "CAST(NANVL(TRY_DIVIDE(REGR_SXY(`expr`, `expr_1`), SQRT(REGR_SXX(`expr`, `expr_1`) * "
        "REGR_SYY(`expr`, `expr_1`))), NULL) AS FLOAT)",
    ),
    (
        "covar_pop(n_nationkey, n_regionkey)",
        "1.84000003",
        "CAST(COVAR_POP(`expr`, `expr_1`) AS FLOAT)",
    ),
    (
        "regr_slope(n_nationkey, n_regionkey)",
        "0.920000017",
        "CAST(NANVL(REGR_SLOPE(`expr`, `expr_1`), NULL) AS FLOAT)",
    ),
    (
        "geometric_mean(n_nationkey + 1)",
        "10.1771418",
        "CAST(EXP(AVG(LN(`expr`))) AS DOUBLE)",
    ),
    (
        "approx_distinct(n_regionkey)",
        "5",
        None,
    ),
    (
        "approx_percentile(n_nationkey, 0.5)",
        "12",
        "CAST(APPROX_PERCENTILE(`n_nationkey`, CAST('0.5' AS DOUBLE)) AS BIGINT)",
    ),
    (
        "array_agg(n_name ORDER BY n_nationkey DESC) FILTER (WHERE n_nationkey < 3)",
        "['BRAZIL', 'ARGENTINA', 'ALGERIA']",
        None,
    ),
    (
        "array_agg(DISTINCT n_regionkey ORDER BY n_regionkey)",
        "[0, 1, 2, 3, 4]",
        None,
    ),
    (
        "map_agg(n_nationkey, n_name) FILTER (WHERE n_nationkey < 2)",
        "[(0, 'ALGERIA'), (1, 'ARGENTINA')]",
        None,
    ),
    (
        "multimap_agg(n_regionkey, n_nationkey) FILTER (WHERE n_nationkey < 4)",
        "[(0, [0]), (1, [1, 2, 3])]",
        None,
    ),
    (
        "set_agg(n_regionkey) FILTER (WHERE n_regionkey = 2)",
        "[2]",
        None,
    ),
    (
        "bitwise_and_agg(n_nationkey)",
        "0",
        "CAST(BIT_AND(`n_nationkey`) AS BIGINT)",
    ),
    (
        "bitwise_or_agg(n_nationkey)",
        "31",
        "CAST(BIT_OR(`n_nationkey`) AS BIGINT)",
    ),
    (
        "entropy(n_regionkey)",
        "4.16836744",
        None,
    ),
    (
        "skewness(n_nationkey)",
        "0",
        None,
    ),
    (
        "kurtosis(n_nationkey)",
        "-1.2",
        None,
    ),
    (
        "sum(nullif(n_nationkey, n_nationkey))",
        "None",
        "CAST(SUM(`expr`) AS BIGINT)",
    ),
    (
        "count(*) FILTER (WHERE n_name LIKE '%IA')",
        "7",
        "CAST(COUNT(*) FILTER(WHERE `expr`) AS BIGINT)",
    ),
    (
        "reduce_agg(n_nationkey, 0, (a, b) -> a + b, (a, b) -> a + b)",
        "300",
        None,
    ),
    (
        "sum(DISTINCT n_regionkey)",
        "10",
        "CAST(SUM(DISTINCT `n_regionkey`) AS BIGINT)",
    ),
]
WINDOWS = [
    (
        "row_number() OVER (ORDER BY n_nationkey DESC)",
        "6 | 5 | 4 | 3 | 2 | 1",
    ),
    (
        "rank() OVER (ORDER BY n_regionkey)",
        "1 | 3 | 3 | 3 | 6 | 1",
    ),
    (
        "dense_rank() OVER (ORDER BY n_regionkey DESC)",
        "3 | 2 | 2 | 2 | 1 | 3",
    ),
    (
        "percent_rank() OVER (ORDER BY n_regionkey)",
        "0 | 0.4 | 0.4 | 0.4 | 1 | 0",
    ),
    (
        "cume_dist() OVER (ORDER BY n_regionkey)",
        "0.333333333 | 0.833333333 | 0.833333333 | 0.833333333 | 1 | 0.333333333",
    ),
    (
        "ntile(4) OVER (ORDER BY n_nationkey)",
        "1 | 1 | 2 | 2 | 3 | 4",
    ),
    (
        "lag(n_name) OVER (ORDER BY n_nationkey)",
        "None | ALGERIA | ARGENTINA | BRAZIL | CANADA | EGYPT",
    ),
    (
        "lead(n_name, 2, 'none') OVER (ORDER BY n_nationkey)",
        "BRAZIL | CANADA | EGYPT | ETHIOPIA | none | none",
    ),
    (
        "first_value(n_name) OVER (PARTITION BY n_regionkey ORDER BY n_nationkey DESC)",
        "ETHIOPIA | CANADA | CANADA | CANADA | EGYPT | ETHIOPIA",
    ),
    (
        "last_value(n_name) OVER (ORDER BY n_regionkey)",
        "ETHIOPIA | CANADA | CANADA | CANADA | EGYPT | ETHIOPIA",
    ),
    (
        "nth_value(n_name, 2) OVER (ORDER BY n_nationkey)",
        "None | ARGENTINA | ARGENTINA | ARGENTINA | ARGENTINA | ARGENTINA",
    ),
    (
        "first_value(nullif(n_nationkey, 0)) IGNORE NULLS OVER (ORDER BY n_nationkey)",
        "None | 1 | 1 | 1 | 1 | 1",
    ),
    (
        "sum(n_nationkey) OVER (PARTITION BY n_regionkey)",
        "5 | 6 | 6 | 6 | 4 | 5",
    ),
    (
        "sum(n_nationkey) OVER (ORDER BY n_regionkey)",
        "5 | 11 | 11 | 11 | 15 | 5",
    ),
    (
        "sum(n_nationkey) OVER (ORDER BY n_nationkey ROWS 1 PRECEDING)",
        "0 | 1 | 3 | 5 | 7 | 9",
    ),
    (
        "sum(n_nationkey) OVER (ORDER BY n_nationkey RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
        "1 | 3 | 6 | 9 | 12 | 9",
    ),
    (
        "sum(n_nationkey) OVER (ORDER BY n_regionkey GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        "5 | 11 | 11 | 11 | 10 | 5",
    ),
    (
        "count(*) OVER (ORDER BY n_nationkey ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
        "6 | 5 | 4 | 3 | 2 | 1",
    ),
    (
        "max(n_name) OVER (ORDER BY n_regionkey NULLS FIRST)",
        "ETHIOPIA | ETHIOPIA | ETHIOPIA | ETHIOPIA | ETHIOPIA | ETHIOPIA",
    ),
    (
        "avg(n_nationkey) OVER (ORDER BY n_nationkey ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING)",
        "2.5 | 3.5 | 4.5 | 5 | None | None",
    ),
    (
        "count(nullif(n_regionkey, 1)) OVER (PARTITION BY n_regionkey)",
        "2 | 0 | 0 | 0 | 1 | 2",
    ),
    (
        "array_agg(n_nationkey) OVER (ORDER BY n_nationkey ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        "[0] | [0, 1] | [1, 2] | [2, 3] | [3, 4] | [4, 5]",
    ),
]


@pytest.mark.parametrize(("call", "value", "spark"), AGGREGATES)
def test_an_aggregate_of_all_nations(written: Written, call: str, value: str, spark: str | None) -> None:
    """``spark`` is None where its text is long, or made of several steps."""
    (found,), text = written.rows(f"SELECT {call} FROM nation")
    assert found == value
    assert spark is None or text.startswith(f"SELECT {spark} AS `")


@pytest.mark.parametrize(("call", "values"), WINDOWS)
def test_a_window_function_over_six_nations(written: Written, call: str, values: str) -> None:
    six = "(SELECT * FROM nation WHERE n_nationkey < 6)"
    found, text = written.rows(f"SELECT n_nationkey, {call} FROM {six}")
    assert " | ".join(row.partition("\t")[2] for row in found) == values
    assert " OVER (" in text
