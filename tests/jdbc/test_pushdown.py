"""Statements with and without pushdown give the same rows: types × operators × join kinds × NULLs × collations.

``pushdown.slt`` holds the statements and PostgreSQL's own answers. Without pushdown the embedded engine computes
everything over bare rows.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.engine.inputs import local_inputs
from coordinator.engine.local import LocalEngine
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import RunLocally
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.jdbc.author import STATEMENTS, TABLES, VIEWS, in_postgresql
from tests.jdbc.conftest import catalog_config
from tests.tiers import some

pytestmark = pytest.mark.slow

OFF = dict.fromkeys(
    (
        "filter_pushdown_enabled",
        "projection_pushdown_enabled",
        "aggregation_pushdown_enabled",
        "topn_pushdown_enabled",
        "limit_pushdown_enabled",
        "semi_join_pushdown_enabled",
        "outer_join_pushdown_enabled",
        "optimizer_inner_join_pushdown_enabled",
    ),
    "false",
)
ON = {"join_pushdown_strategy": "EAGER", "optimizer_inequality_join_pushdown_enabled": "true"}
SUITE = Path(__file__).parent / "pushdown.slt"
PARTS = 6
FULL = os.environ.get("PROCESSION_TEST_FULL") == "1"
"""Of the suite, so that each is soon done on a slow machine too."""
ENGINE = LocalEngine()
SESSION = Session(user="test", catalog="pg", schema="cases")


@pytest.fixture(scope="module")
def cases(postgres: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(postgres.replace("postgresql:", "postgresql+psycopg2:", 1))
    with engine.begin() as connection:
        connection.exec_driver_sql(TABLES)
        connection.exec_driver_sql(VIEWS)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def catalogs(postgres: str) -> Catalogs:
    return Catalogs([catalog_config(postgres)])


def rows(catalogs: Catalogs, text: str, properties: dict[str, str]) -> tuple[list[str], int]:
    """Rows as sorted text, and how many remote queries there were."""
    planned = plan_statement(text, replace(SESSION, properties=properties), catalogs, PlanCheckers())
    work = planned.work
    if not isinstance(work, RunLocally):
        return [line(row) for row in getattr(work, "rows", ())], 0
    found: list[str] = []
    run = FakeExecution()
    with local_inputs(work.inputs, catalogs, run) as inputs:
        for batch in ENGINE.run(work.sql, run, inputs):
            found += [line(row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]
    return sorted(found), len(work.inputs)


def line(row: Iterable[Any]) -> str:
    """A row of the file."""
    return "\t".join(cell(value) for value in row)


def cell(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return "nan" if math.isnan(value) else repr(value + 0.0)
        case Decimal():
            return f"{value.normalize():f}"
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)).isoformat(" ")
        case str():
            # Of char; the padding of the one varchar that has any is a part of its value.
            return repr(value if value == "abc " else value.rstrip(" "))
        case _:
            return str(value)


@dataclass(frozen=True)
class Record:
    """``rows`` are PostgreSQL's, None where it means another thing."""

    statement: str
    rows: list[str] | None


def records() -> list[Record]:
    found = []
    for block in SUITE.read_text().split("\n\n")[1:]:
        head, statement, *rest = block.rstrip("\n").split("\n")
        assert head == "query rowsort"
        found.append(Record(statement, rest[1:] if rest else None))
    return found


def test_the_suite_is_what_postgresql_answers(cases: sa.Engine) -> None:
    blocks, answered = (
        ["# Rows by PostgreSQL 15 over text that compares by its bytes, written by tests/jdbc/author.py."],
        0,
    )
    with cases.connect() as connection:
        connection.exec_driver_sql("SET search_path = asked; SET timezone = 'UTC'")
        for text in STATEMENTS:
            asked = in_postgresql(text)
            block = f"query rowsort\n{text}"
            if asked is not None:
                answer = sorted(line(row) for row in connection.execute(sa.text(asked.replace(":", r"\:"))))
                block += "".join(f"\n{row}" for row in ("----", *answer))
                answered += 1
            blocks.append(block)
    written = "\n\n".join(blocks) + "\n"
    if os.environ.get("BLESS") == "1":
        SUITE.write_text(written)
    assert answered >= 350
    assert written == SUITE.read_text()


@pytest.mark.parametrize("part", some([0], range(1, PARTS), "one of six parts; each kind of statement is in each part"))
def test_rows_are_postgresql_s_with_and_without_pushdown(catalogs: Catalogs, cases: sa.Engine, part: int) -> None:
    wrong = []
    for record in records()[part::PARTS]:
        pushed, bare = (rows(catalogs, record.statement, properties)[0] for properties in (ON, OFF))
        if not pushed == bare == (pushed if record.rows is None else record.rows):
            wrong.append(f"{record.statement}\n  pushed {pushed}\n  bare   {bare}\n  theirs {record.rows}")
    assert not wrong, "\n".join(wrong)


def test_a_blind_collation_would_give_other_rows(catalogs: Catalogs, cases: sa.Engine) -> None:
    with cases.connect() as connection:
        answer = connection.execute(sa.text("SELECT i FROM cases.l WHERE x = 'abc'")).fetchall()
        ordered = connection.execute(sa.text("SELECT v FROM cases.l WHERE v IS NOT NULL ORDER BY v LIMIT 1")).scalar()
    assert len(answer) > 1
    assert ordered != "ABC"
    assert rows(catalogs, "SELECT i FROM l WHERE x = 'abc'", ON)[0] == ["1"]
    assert rows(catalogs, "SELECT v FROM l WHERE v > '' ORDER BY v LIMIT 1", ON)[0] == ["'ABC'"]


def test_one_remote_query_for_tables_that_are_not_adjacent(catalogs: Catalogs, cases: sa.Engine) -> None:
    text = "SELECT a.i FROM l a, (VALUES 1, 2) AS m(k), r b WHERE a.i = m.k AND b.i = m.k"
    assert rows(catalogs, text, ON)[1] == 1
    assert rows(catalogs, text, OFF)[1] == 2
    assert rows(catalogs, text, ON)[0] == rows(catalogs, text, OFF)[0]


def test_a_join_that_grows_stays_here_and_explain_says_why(catalogs: Catalogs, cases: sa.Engine) -> None:
    with cases.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS cases.many")
        connection.exec_driver_sql("CREATE TABLE cases.many AS SELECT 1 AS k, g AS n FROM generate_series(1, 2000) g")
        connection.exec_driver_sql("ANALYZE cases.many")
    text = "SELECT a.n, b.n FROM many a JOIN many b ON a.k = b.k"
    ((shown,),) = plan_statement(f"EXPLAIN {text}", SESSION, catalogs, PlanCheckers()).work.rows
    assert "join not pushed down: the join is estimated at" in shown
    eager = replace(SESSION, properties=ON)
    ((shown,),) = plan_statement(f"EXPLAIN {text}", eager, catalogs, PlanCheckers()).work.rows
    assert "InnerJoin" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.k, count(*) AS c, sum(b.n) AS s FROM many a JOIN many b ON a.k = b.k GROUP BY a.k",
        "SELECT a.n, b.n AS m FROM many a JOIN many b ON a.k = b.k ORDER BY a.n, b.n DESC LIMIT 3",
        "SELECT count(*) AS c FROM (SELECT a.n FROM many a JOIN many b ON a.k = b.k LIMIT 5) t",
    ],
)
def test_a_join_that_grows_goes_with_what_makes_it_small(catalogs: Catalogs, cases: sa.Engine, text: str) -> None:
    with cases.begin() as connection:
        connection.exec_driver_sql(
            "DROP TABLE IF EXISTS cases.many; "
            "CREATE TABLE cases.many AS SELECT 1 AS k, g AS n FROM generate_series(1, 500) g; ANALYZE cases.many"
        )
    ((shown,),) = plan_statement(f"EXPLAIN {text}", SESSION, catalogs, PlanCheckers()).work.rows
    assert shown.count("remote query") == 1
    assert "InnerJoin" not in shown
    assert rows(catalogs, text, {})[0] == rows(catalogs, text, OFF)[0]
    forbidden = replace(SESSION, properties={"join_pushdown_strategy": "NEVER"})
    ((shown,),) = plan_statement(f"EXPLAIN {text}", forbidden, catalogs, PlanCheckers()).work.rows
    assert shown.count("remote query") == 2
    assert "join not pushed down: join_pushdown_strategy is NEVER" in shown


def test_missing_statistics_are_told(catalogs: Catalogs, cases: sa.Engine) -> None:
    with cases.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE cases.fresh (k integer) WITH (autovacuum_enabled = false)")
    text = "SELECT a.k FROM fresh a JOIN l ON a.k = l.i"
    ((shown,),) = plan_statement(f"EXPLAIN {text}", SESSION, catalogs, PlanCheckers()).work.rows
    assert "no statistics of cases.fresh: the database guesses" in shown
    text = "SELECT a.k, b.k AS other FROM fresh a JOIN fresh b ON a.k = b.k"
    ((shown,),) = plan_statement(f"EXPLAIN {text}", SESSION, catalogs, PlanCheckers()).work.rows
    assert "there are no statistics of cases.fresh, the database guesses" in shown


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT i FROM l WHERE upper(v) = 'ABC' AND i > 1", "filter not pushed down: the function upper"),
        ("SELECT avg(n) AS a FROM l", "aggregation not pushed down: the aggregate avg of decimal(10,2)"),
        ("SELECT ok FROM l ORDER BY ok LIMIT 1", "ordering not pushed down: the comparison < of boolean"),
        ("SELECT l.i FROM l FULL JOIN r ON l.i < r.i", "join not pushed down: a full join by more than equalities"),
        ("SELECT l.i FROM l LEFT JOIN r ON upper(l.v) = r.v", "projection not pushed down: the function upper"),
    ],
)
def test_explain_says_what_stays_here(catalogs: Catalogs, cases: sa.Engine, text: str, reason: str) -> None:
    ((shown,),) = plan_statement(f"EXPLAIN {text}", replace(SESSION, properties=ON), catalogs, PlanCheckers()).work.rows
    assert reason in shown


def test_columns_that_are_left_out_are_told(catalogs: Catalogs, cases: sa.Engine) -> None:
    planned = plan_statement("SELECT id FROM shop.kinds", SESSION, catalogs, PlanCheckers())
    (warning,) = planned.warnings
    assert warning.name == "SEMANTIC_WARNING"
    assert "pg.shop.kinds: no Presto type for the columns free NUMERIC, mood ARRAY" in warning.message
