"""What is written for Spark means the same: sqlglot reads it as Spark's, DuckDB runs what it read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.optimizer.rule_cases import TIDY, RuleCases
from tests.planner.correlated_cases import RELATIONS as SMALL
from tests.planner.correlated_cases import statements
from tests.unparser.small_statements import STATEMENTS
from tests.unparser.spark_reader import SparkReader
from tests.unparser.test_more_statements import AGGREGATES, RELATIONS, WINDOWS
from tests.unparser.written import FIRST, written

NOT_DUCKDBS = {
    "SELECT x / y, -7 / y FROM (VALUES (7, 2), (-7, 2), (NULL, 1)) t(x, y)": ["-3\t-3", "3\t-3", "None\t-7"],
    "SELECT x a, x b, count(*) FROM (VALUES 1, NULL) t(x) GROUP BY GROUPING SETS ((1, 2), (2))": [
        *("1\t1\t1", "1\t1\t1", "None\tNone\t1", "None\tNone\t1"),
    ],
    "SELECT date_trunc('month', d), d + INTERVAL '1' DAY FROM (VALUES DATE '2024-02-29') t(d)": [
        "2024-02-01\t2024-03-01"
    ],
    "SELECT 5 / x, TRY(1 / x) FROM (VALUES 2, NULL) t(x)": ["2\t0", "None\tNone"],
}
"""Where DuckDB means something else by the statement: Presto's rows."""


@pytest.fixture(scope="module")
def reader(rule_cases: RuleCases) -> Iterator[SparkReader]:
    made = SparkReader(rule_cases)
    yield made
    made.connection.close()


@pytest.mark.parametrize("sql", STATEMENTS)
def test_small_statements(rule_cases: RuleCases, reader: SparkReader, sql: str) -> None:
    """The embedded engine's text and Spark's, beside DuckDB's own rows."""
    _, plan = rule_cases.planned(TIDY[1], sql, first=FIRST)
    expected = rule_cases.answer(sql)
    assert rule_cases.rows(plan) == expected
    assert reader.rows(written(plan, "spark")) == expected


@pytest.mark.parametrize("sql", NOT_DUCKDBS)
def test_prestos_own(rule_cases: RuleCases, reader: SparkReader, sql: str) -> None:
    _, plan = rule_cases.planned(TIDY[1], sql, first=FIRST)
    assert rule_cases.rows(plan) == NOT_DUCKDBS[sql]
    assert reader.rows(written(plan, "spark")) == NOT_DUCKDBS[sql]


@pytest.mark.parametrize("sql", [*WINDOWS, *AGGREGATES, *RELATIONS, *(SMALL + s for s in statements()[::3])])
def test_what_other_tests_write(rule_cases: RuleCases, reader: SparkReader, sql: str) -> None:
    _, plan = rule_cases.planned(TIDY[1], sql, first=FIRST)
    assert reader.rows(written(plan, "spark")) == rule_cases.answer(sql)
