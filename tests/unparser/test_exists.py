"""EXISTS and IN as semi and anti joins: DuckDB's own answers to the same texts, over NULLs and repeated rows."""

from __future__ import annotations

from collections import Counter
from itertools import product

import duckdb
import pytest

from coordinator.connectors.iceberg.relations import catalog_table
from coordinator.connectors.registry import Catalogs
from coordinator.engine.local import LocalEngine
from coordinator.optimizer.optimize import optimize
from coordinator.planner.query import plan_query
from coordinator.sql.parser import parse_query
from coordinator.unparser import unparse
from shared.plan.nodes import OutputNode
from shared.spi.session import Session
from tests.execution import FakeExecution

pytestmark = pytest.mark.slow

TABLES = (
    "WITH o(k, v) AS (VALUES (1, 10), (1, 10), (2, 20), (3, NULL), (NULL, 40), (4, 15)), "
    "i(k, v, w) AS (VALUES (1, 10, 1), (1, 11, 2), (2, 20, 3), (3, NULL, 4), (NULL, 40, 5), (5, 15, NULL)) "
)
SESSION = Session(user="test")
INNER = [
    "i.k = o.k",
    "i.k = o.k AND i.v <> o.v",
    "i.k = o.k AND i.v > o.v",
    "i.k = o.k AND i.v = o.v",
    "i.k = o.k AND i.w > 1",
    "i.k + 1 = o.k",
    "i.k = o.k AND (i.v > o.v OR i.w = 4)",
]
AROUND = [
    "SELECT k, v FROM o WHERE {}",
    "SELECT k, v FROM o WHERE {} AND v > 10",
    "SELECT count(*) FROM o WHERE {}",
    "SELECT o.k, p.v FROM o JOIN o p ON o.k = p.k WHERE {}",
    "SELECT k, count(*) FROM o WHERE {} GROUP BY k",
    "SELECT k, {} AS e FROM o WHERE {}",
    "SELECT k FROM o WHERE {} OR v = 20",
]


def plan(text: str) -> OutputNode:
    planned = plan_query(parse_query(text), SESSION, Catalogs([]))
    made, _ = optimize(planned.root, SESSION, table_rows=planned.table_rows)
    assert isinstance(made, OutputNode)
    return made


def sql_of(text: str, dialect: str = "duckdb") -> str:
    return unparse(plan(text), dialect, catalog_table)


ENGINE = LocalEngine()


def ours(text: str) -> Counter[str]:
    batches = list(ENGINE.run(sql_of(text), FakeExecution()))
    return Counter(str(tuple(row.values())) for batch in batches for row in batch.to_pylist())


def theirs(text: str) -> Counter[str]:
    with duckdb.connect() as connection:
        return Counter(map(str, connection.execute(text).fetchall()))


@pytest.mark.parametrize(("around", "inner"), [*product(AROUND, INNER)])
def test_exists_and_not_exists_answer_as_duckdb(around: str, inner: str) -> None:
    for word in ("EXISTS", "NOT EXISTS"):
        text = TABLES + around.replace("{}", f"{word} (SELECT 1 FROM i WHERE {inner})")
        assert ours(text) == theirs(text), text


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("query", ["SELECT k FROM i", "SELECT k FROM i WHERE k > 1", "SELECT w FROM i WHERE i.v = o.v"])
def test_in_and_not_in_answer_as_duckdb(around: str, query: str) -> None:
    for word in ("IN", "NOT IN"):
        text = TABLES + around.replace("{}", f"o.k {word} ({query})")
        assert ours(text) == theirs(text), text


def test_two_marks_one_over_the_other() -> None:
    text = TABLES + (
        "SELECT k, v FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.k = o.k AND i.v <> o.v) "
        "AND NOT EXISTS (SELECT 1 FROM i WHERE i.k = o.k AND i.v < o.v) AND k IN (SELECT k FROM i WHERE w < 4)"
    )
    assert ours(text) == theirs(text)
    assert sql_of(text).count(" SEMI JOIN ") == 2
    assert sql_of(text).count(" ANTI JOIN ") == 1


@pytest.mark.parametrize(
    ("condition", "semi", "anti"),
    [
        ("EXISTS (SELECT 1 FROM i WHERE i.k = o.k)", 1, 0),
        ("NOT EXISTS (SELECT 1 FROM i WHERE i.k = o.k)", 0, 1),
        ("EXISTS (SELECT 1 FROM i WHERE i.k = o.k AND i.v <> o.v)", 1, 0),
        ("NOT EXISTS (SELECT 1 FROM i WHERE i.k = o.k AND i.v <> o.v)", 0, 1),
        ("k IN (SELECT k FROM i)", 1, 0),
        # A NULL among the values hides every row, which an anti join does not know.
        ("k NOT IN (SELECT k FROM i)", 0, 0),
        ("ROW(k, v) IN (SELECT ROW(k, v) FROM i)", 0, 0),
        # The mark is a value here.
        ("EXISTS (SELECT 1 FROM i WHERE i.k = o.k) OR v = 1", 0, 0),
        ("EXISTS (SELECT 1 FROM i WHERE i.k = o.k) = (v > 10)", 0, 0),
    ],
)
def test_what_is_a_semi_join(condition: str, semi: int, anti: int) -> None:
    for dialect, words in (("duckdb", ""), ("spark", "LEFT ")):
        sql = sql_of(f"{TABLES} SELECT k FROM o WHERE {condition}", dialect)
        assert (sql.count(f" {words}SEMI JOIN "), sql.count(f" {words}ANTI JOIN ")) == (semi, anti), sql
