"""Statements that nest or repeat much are planned in time that grows with their length, or refused clearly."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from time import process_time

import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.planner.query import MAX_COLUMNS, MAX_FIELDS
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.nesting import RECURSION_LIMIT
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _as_a_planner_process() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(RECURSION_LIMIT)
    yield
    sys.setrecursionlimit(limit)


def seconds(sql: str) -> float:
    """The CPU time of planning a statement."""
    start = process_time()
    plan_statement(sql, Session(user="test"), Catalogs([]), PlanCheckers())
    return process_time() - start


def nested(count: int, before: str, core: str, after: str) -> str:
    return before * count + core + after * count


NESTED = {
    "arrays": "SELECT " + nested(40, "ARRAY[", "1", "]"),
    "arrays of columns": "SELECT " + nested(40, "ARRAY[", "x", ", NULL]") + " FROM (VALUES 1) t(x)",
    "maps": "SELECT " + nested(25, "MAP(ARRAY[1], ARRAY[", "x", "])") + " FROM (VALUES 1) t(x)",
    "rows": "SELECT " + nested(60, "ROW(", "1", ")"),
    "lambdas": "SELECT " + "".join(f"transform(ARRAY[1], x{i} -> " for i in range(40)) + "1" + ")" * 40,
    "CASE": "SELECT " + nested(60, "CASE WHEN x = 1 THEN ", "1", " ELSE 2 END") + " FROM (VALUES 1) t(x)",
    "sums of sums": "SELECT * FROM " + nested(30, "(SELECT x + x x FROM ", "(VALUES 1) t(x)", ")"),
    "joins": "SELECT count(*) FROM (VALUES 1) t0(x) "
    + " ".join(f"JOIN (VALUES 1) t{i}(x) ON t{i}.x = t{i - 1}.x" for i in range(1, 300)),
    "fields of a row": "SELECT CAST(NULL AS row(" + ", ".join(f"f{i} bigint" for i in range(9_000)) + "))",
    "IN": "SELECT x FROM (VALUES 'a') t(x) WHERE x IN (" + ", ".join(f"'{i}'" for i in range(15_000)) + ")",
}


@pytest.mark.parametrize("kind", NESTED)
def test_time_does_not_double_with_each_level(kind: str) -> None:
    assert seconds(NESTED[kind]) < 20  # by levels it would be hours, and 500 joins took half a minute


SIZE = 400_000 if os.environ.get("PROCESSION_TEST_FULL") == "1" else 160_000
LONG = {
    "operators": "SELECT 1" + "+1" * SIZE,
    "concatenations": "SELECT 'a'" + "||'a'" * (SIZE // 2),
    "names": "SELECT a" + ".a" * SIZE + " FROM (VALUES 1) t(a)",
    "subscripts": "SELECT a" + "[1]" * (SIZE * 3 // 4) + " FROM (VALUES 1) t(a)",
    "parentheses": "SELECT " + nested(SIZE, "(", "1", ")"),
    "subqueries": "SELECT * FROM " + nested(SIZE // 8, "(SELECT * FROM ", "(VALUES 1)", ")"),
    "signs": "SELECT " + "- " * SIZE + "1",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG)
def test_a_text_of_a_megabyte_is_answered_soon(kind: str) -> None:
    """It ended the planner process, or took minutes; less than half of one where not all is asked."""
    start = process_time()
    with pytest.raises(ProcessionError):
        seconds(LONG[kind])
    assert process_time() - start < 30


def test_plans_that_are_too_deep_are_told() -> None:
    with pytest.raises(ProcessionError) as refused:
        seconds("SELECT x" + " + 1" * 4000 + " FROM (VALUES 1) t(x)")
    assert refused.value.code is ErrorCode.NOT_SUPPORTED
    assert refused.value.wire_message == "statement is too large (stack overflow during analysis)"


def test_columns_of_a_result_are_counted() -> None:
    """Each page of the protocol describes them all."""
    assert seconds(f"SELECT {', '.join('1' * MAX_COLUMNS)}") < 20
    with pytest.raises(ProcessionError) as caught:
        seconds(f"SELECT {', '.join('1' * (MAX_COLUMNS + 1))}")
    assert (caught.value.code, caught.value.message) == (
        ErrorCode.NOT_SUPPORTED,
        f"Query has {MAX_COLUMNS + 1} columns, and {MAX_COLUMNS} are possible",
    )
    with pytest.raises(ProcessionError, match=f"are made of {MAX_FIELDS + 1} types, and {MAX_FIELDS} are possible"):
        seconds(f"SELECT ROW({', '.join('1' * MAX_FIELDS)})")
