"""Filters by keys of several columns: the rows that DuckDB finds by the text itself, and a list where that is one."""

from __future__ import annotations

import duckdb
import pytest

from coordinator.engine.local import LocalEngine
from tests.execution import FakeExecution
from tests.unparser.test_exists import sql_of

TABLE = (
    "WITH t(a, b, c, d) AS (VALUES (1, 'x', 1.50, DATE '2024-01-01'), (1, 'y', NULL, NULL), (2, 'x', 2.5, NULL), "
    "(NULL, 'x', 1.5, NULL), (3, NULL, 3.5, DATE '2024-01-03'), (NULL, NULL, NULL, NULL), (4, 'it''s', 4.0, NULL)) "
)
PAIRS = [(1, "x"), (2, "x"), (3, "z"), (4, "it''s"), (1, "x")]
OF_PAIRS = " OR ".join(f"(a = {a} AND b = '{b}')" for a, b in PAIRS)
LISTED = [
    OF_PAIRS,
    " OR ".join(f"('{b}' = b AND a = {a})" for a, b in PAIRS),
    f"c > 1 AND ({OF_PAIRS})",
    " OR ".join(f"(a = {n} AND b = 'x' AND c = {n}.50 AND d = DATE '2024-01-0{n}')" for n in range(1, 6)),
]
# Choices of which some name other columns, or are none.
LISTED += [
    f"{OF_PAIRS} OR c = 3.5",
    f"{OF_PAIRS} OR (a = 3 AND b IS NULL)",
    f"{OF_PAIRS} OR (a = 3 AND b = NULL)",
    f"{OF_PAIRS} OR (a = 4 AND a = 4)",
    f"c = 3.5 OR {OF_PAIRS} OR (c = 2.5 AND b = 'x') OR a > 3",
    " OR ".join(f"(a = {n} AND b = 'x') OR (c = {n}.50 AND b = '{n}')" for n in range(1, 6)),
    " OR ".join(f"(a = {n} AND b = 'x') OR (c = {n}.50 AND b = '{n}') OR a = {n + 2}" for n in range(1, 6)),
    f"NOT (a = 1 AND b = 'x') AND ({OF_PAIRS} OR c IS NULL)",
]
OTHERS = [
    f"{OF_PAIRS} OR 10 / (a - 4) > 100",
    f"NOT ({OF_PAIRS})",
    " OR ".join(f"(a = {a} AND b = '{b}')" for a, b in PAIRS[:3]),
    " OR ".join(f"(a = {n} AND CAST(c AS double) = {n}.5)" for n in range(1, 6)),
]


def rows(sql: str) -> list[tuple[object, ...]]:
    found = [tuple(row.values()) for batch in LocalEngine().run(sql, FakeExecution()) for row in batch.to_pylist()]
    return sorted(found, key=repr)


@pytest.mark.parametrize("condition", LISTED + OTHERS)
def test_the_rows_are_those_of_the_terms(condition: str) -> None:
    text = f"{TABLE}SELECT a, b, c, d FROM t WHERE {condition}"
    sql = sql_of(text)
    assert rows(sql) == sorted(duckdb.sql(text).fetchall(), key=repr)
    assert (") IN (" in sql) is (condition in LISTED)


def test_what_is_shown_keeps_its_nulls() -> None:
    text = f"{TABLE}SELECT a, b, {OF_PAIRS} AS found FROM t"
    assert rows(sql_of(text)) == sorted(duckdb.sql(text).fetchall(), key=repr)
