"""Statements with and without pushdown give the same rows: types × operators × join kinds × NULLs × collations.

Without pushdown the embedded engine computes everything over bare rows, which is Presto's meaning; where PostgreSQL's
own reading of the statement is the same, it is asked too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.engine.inputs import arrow_inputs
from coordinator.engine.local import LocalEngine
from coordinator.planner.planned_statement import RunLocally
from coordinator.validation.plan_statement import plan_statement
from shared.spi.session import Session
from tests.engine_local.test_local_engine import Run
from tests.jdbc.conftest import catalog_config

pytestmark = pytest.mark.slow

TABLES = """
CREATE SCHEMA cases;
CREATE COLLATION cases.blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE cases.l (
  i integer, s smallint, b bigint, n numeric(10,2), d double precision, v varchar(10), c varchar(10) COLLATE "C",
  x varchar(10) COLLATE cases.blind, ch char(5), day date, ts timestamp, tz timestamptz, ok boolean
);
CREATE TABLE cases.r (LIKE cases.l);
INSERT INTO cases.l VALUES
  (1, 1, 1, 1.00, 1.5, 'abc', 'abc', 'abc', 'ab', '2024-01-01', '2024-01-01 10:00:00', '2024-01-01 10:00:00+00', true),
  (2, 2, 2, 2.50, 'NaN', 'ABC', 'ABC', 'ABC', 'AB', '2024-02-29', '2024-02-29 23:59:59.5', '2024-02-29 22:00:00+01', false),
  (3, 3, 3000000000, -1.00, '-0', 'abc ', 'abc ', 'abc ', 'ab', NULL, NULL, NULL, NULL),
  (4, NULL, -4, 0.00, 'Infinity', 'a_c', 'a%%c', '', '', '1999-12-31', '1999-12-31 00:00:00', '1999-12-31 00:00:00+05', true),
  (5, 5, 5, 99999999.99, 0, 'äpfel', 'äpfel', 'ÄPFEL', 'ä', '2024-01-01', '2024-01-01 10:00:00', '2024-01-01 11:00:00+01', false),
  (NULL, 7, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2024-03-01', '2024-03-01 00:00:00', '2024-03-01 00:00:00+00', NULL),
  (2, 2, 2, 2.50, 2.5, 'zeta', 'Zeta', 'zeta', 'zeta', '2024-02-29', '2024-02-29 00:00:00', '2024-02-29 00:00:00+00', true);
INSERT INTO cases.r SELECT * FROM cases.l WHERE i IS DISTINCT FROM 4;
INSERT INTO cases.r VALUES
  (2, 2, 2, 2.50, 'NaN', 'Abc', 'aBC', 'aBc', 'Ab', '2024-01-01', '2024-01-01 10:00:00', '2024-01-01 10:00:00+00', true),
  (9, 9, 9, 9.00, 9.5, 'it''s', 'back\\slash', '"q"', 'x''y', '2030-01-01', '2030-01-01 00:00:00', '2030-01-01 00:00:00+00', false);
ANALYZE;
"""  # noqa: E501
KINDS = ("i", "s", "b", "n", "d", "v", "c", "x", "ch", "day", "ts", "tz", "ok")
LITERALS = {
    "i": "2", "s": "SMALLINT '2'", "b": "BIGINT '3000000000'", "n": "DECIMAL '2.50'", "d": "DOUBLE '1.5'", "v": "'abc'",
    "c": "'abc'", "x": "'abc'", "ch": "CHAR 'ab'", "day": "DATE '2024-02-29'", "ts": "TIMESTAMP '2024-01-01 10:00:00'",
    "tz": "TIMESTAMP '2024-01-01 10:00:00 UTC'", "ok": "true",
}  # fmt: skip
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
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
PARTS = 6
"""Of the suite, so that each is soon done on a slow machine too."""
ENGINE = LocalEngine()
SESSION = Session(user="test", catalog="pg", schema="cases")


def filters() -> Iterator[str]:
    for k in KINDS:
        operators = ("=", "<>") if k in ("ok",) else COMPARISONS
        for o in operators:
            yield f"SELECT i, {k} FROM l WHERE {k} {o} {LITERALS[k]}"
        yield f"SELECT i, {k} FROM l WHERE {k} IN ({LITERALS[k]}, {LITERALS[k]}) OR {k} IS NULL"
        yield f"SELECT i, {k} FROM l WHERE NOT ({k} = {LITERALS[k]}) AND {k} IS NOT NULL"
        yield f"SELECT i, {k} FROM l WHERE {k} IS DISTINCT FROM {LITERALS[k]}"
        yield f"SELECT {k}, count(*) AS n FROM r GROUP BY {k}"
        yield f"SELECT DISTINCT {k} FROM r"
        if k != "ok":
            yield f"SELECT i, {k} FROM l WHERE {k} BETWEEN {LITERALS[k]} AND {LITERALS[k]}"
            yield f"SELECT min({k}) AS a, max({k}) AS z, count({k}) AS n, count(DISTINCT {k}) AS u FROM l"
            yield f"SELECT {k} FROM r ORDER BY {k} LIMIT 3"
            yield f"SELECT {k} FROM r ORDER BY {k} DESC NULLS LAST LIMIT 4"
            yield f"SELECT {k} FROM r ORDER BY {k} DESC NULLS FIRST LIMIT 2"


def joins() -> Iterator[str]:
    for k in KINDS:
        for kind in ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"):
            yield f"SELECT l.i AS a, r.i AS b, l.{k} AS x, r.{k} AS y FROM l {kind} r ON l.{k} = r.{k}"
        if k != "ok":
            yield f"SELECT l.i AS a, r.i AS b FROM l JOIN r ON l.b = r.b AND l.{k} < r.{k}"
            yield f"SELECT l.i AS a, r.i AS b FROM l LEFT JOIN r ON l.b = r.b AND l.{k} >= r.{k}"
        yield f"SELECT i, {k} FROM l WHERE {k} IN (SELECT {k} FROM r WHERE i < 5)"
        yield f"SELECT i, {k} FROM l WHERE {k} NOT IN (SELECT {k} FROM r WHERE {k} IS NOT NULL)"
        yield f"SELECT i, {k} FROM l WHERE {k} NOT IN (SELECT {k} FROM r)"


OTHERS = (
    "SELECT a.i AS a, c.i AS c FROM l a, r b, l c WHERE a.b = b.i AND b.i = c.b",
    "SELECT a.i AS a, b.i AS b FROM l a, (VALUES 2, 5) AS m(k), r b WHERE a.b = m.k AND b.i + 1 = m.k + 1",
    "SELECT i FROM l WHERE v LIKE 'a%'",
    "SELECT i FROM l WHERE c LIKE 'a\\%c'",
    "SELECT i FROM l WHERE x LIKE 'ab_'",
    "SELECT i FROM l WHERE v LIKE '%''%'",
    "SELECT i FROM r WHERE v = 'it''s'",
    "SELECT i FROM r WHERE c = 'back\\slash'",
    "SELECT i FROM l WHERE i + s = 4",
    "SELECT i FROM l WHERE i * 2 = b",
    "SELECT i FROM l WHERE b - i < 1",
    "SELECT i FROM l WHERE i / 2 = 1",
    "SELECT i FROM l WHERE n + 1 > 2",
    "SELECT i FROM l WHERE upper(v) = 'ABC'",
    "SELECT i FROM l WHERE i = s",
    "SELECT i FROM l WHERE b = n",
    "SELECT i FROM l WHERE i = d",
    "SELECT sum(i) AS a, sum(b) AS b, sum(n) AS c, sum(s) AS d FROM l",
    "SELECT avg(n) AS a, avg(i) AS b FROM l",
    "SELECT sum(i) AS a FROM l WHERE i > 100",
    "SELECT ok, sum(n) AS s FROM l GROUP BY ok HAVING sum(n) > 1",
    "SELECT count(*) AS n FROM (SELECT DISTINCT v FROM l) t",
    "SELECT count(*) FILTER (WHERE ok) AS n FROM l",
    "SELECT count(*) AS n FROM (SELECT i FROM l LIMIT 3) t",
    "SELECT i FROM (SELECT i FROM r ORDER BY i LIMIT 4) t WHERE i > 1",
    "SELECT count(*) AS n FROM (SELECT i FROM r ORDER BY i LIMIT 5) t JOIN l ON t.i = l.i",
    "SELECT a.i AS a, b.i AS b, c.i AS c FROM l a, r b, l c WHERE a.b = b.b AND b.i = c.i",
    "SELECT a.i AS a, c.i AS c FROM l a JOIN r b ON a.i = b.i JOIN l c ON b.s = c.s WHERE a.v < c.v",
    "SELECT a.i AS a FROM l a JOIN l b ON a.i = b.i AND a.i = 2",
    "SELECT a.i AS a FROM l a CROSS JOIN r b WHERE a.i = 1",
    "SELECT a.i AS a, b.i AS b FROM l a JOIN r b ON a.i = b.i OR a.s = b.s",
    "SELECT a.i AS a, b.v AS v FROM l a LEFT JOIN (SELECT * FROM r WHERE i > 1) b ON a.i = b.i AND b.v <> 'abc'",
    "SELECT a.i AS a FROM l a LEFT JOIN r b ON a.i = b.i WHERE b.i IS NULL",
    "SELECT a.i AS a, b.n AS n FROM l a JOIN (SELECT i, count(*) AS n FROM r GROUP BY i) b ON a.i = b.i",
    "SELECT i FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.i = l.i AND r.v > 'B')",
    "SELECT i FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.i = l.i)",
    "SELECT i, (SELECT max(r.n) FROM r WHERE r.i = l.i) AS m FROM l",
    "SELECT v || 'x' AS w FROM l WHERE v >= 'abc'",
    "SELECT i FROM l WHERE CAST(v AS varchar(2)) = 'ab'",
    "SELECT i FROM l WHERE v = c",
    "SELECT i FROM l WHERE c = x",
    "SELECT i FROM l WHERE day = DATE '2024-01-01' AND ts < TIMESTAMP '2024-01-02 00:00:00'",
    "SELECT i FROM l WHERE day < ts",
    "SELECT i FROM l WHERE ok",
    "SELECT i FROM l WHERE NOT ok OR v IS NULL",
    "SELECT i FROM l WHERE coalesce(i, 0) = 0",
    "SELECT count(*) AS n FROM l a, l b, r c WHERE a.i = b.i AND b.i = c.i AND a.v <> c.v AND b.ch = c.ch",
    "SELECT i FROM l WHERE v = '' OR c = 'a%c'",
    "SELECT 1 AS one FROM l",
    "SELECT count(*) AS n FROM r WHERE 1 = 0",
    "SELECT l.i AS a, b.z AS z, b.m AS m FROM l LEFT JOIN (SELECT i, v IS NULL AS z, i + 1 AS m FROM r) b ON l.i = b.i",
    "SELECT l.i AS a, b.z AS z FROM l FULL JOIN (SELECT i, coalesce(i, 7) AS z FROM r) b ON l.i = b.z",
    "SELECT l.i AS a, b.z AS z FROM l LEFT JOIN (SELECT i, i IN (SELECT i FROM l) AS z FROM r) b ON l.i = b.i + 7",
    "SELECT a.i AS a, b.i AS b FROM (SELECT * FROM l WHERE i > 1) a FULL JOIN "
    "(SELECT * FROM r WHERE i < 9) b ON a.i = b.i",
    "SELECT a.i AS a FROM (l a JOIN r b ON a.i = b.i) FULL JOIN (l c JOIN r d ON c.i = d.i) ON a.b = c.b",
    "SELECT a.i AS a, b.n AS n FROM l a JOIN l b ON a.i = b.i AND a.b = 2 AND upper(b.v) <> 'ZETA'",
    "SELECT a.i AS a, b.n AS n FROM l a JOIN r b ON a.i = b.i AND a.i = 2",
    "SELECT i FROM l WHERE coalesce(b, 0) = 0 OR coalesce(ok, false)",
    "SELECT sum(a.n) AS s, count(*) AS c FROM l a JOIN r b ON a.s < b.s",
)
STATEMENTS = (*filters(), *joins(), *OTHERS)
# What PostgreSQL means otherwise than Presto: its collations, its padding, its own types of results.
OTHERWISE = (
    "x", "v", "ch", "upper(", "avg(", "i / 2", "||", "LIKE", "c = x", "tz",
    "CHAR", "SMALLINT", "BIGINT", "DOUBLE", "(VALUES",
)  # fmt: skip


@pytest.fixture(scope="module")
def cases(postgres: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(postgres.replace("postgresql:", "postgresql+psycopg2:", 1))
    with engine.begin() as connection:
        connection.exec_driver_sql(TABLES)
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
        return [str(r) for r in getattr(work, "rows", ())], 0
    found: list[str] = []
    run = Run()
    with arrow_inputs(work.inputs, catalogs, run) as inputs:
        for batch in ENGINE.run(work.sql, run, inputs):
            cells = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            found += [str([_shown(value) for value in row]) for row in cells]
    return sorted(found), len(work.inputs)


def _shown(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return value.rstrip(" ") if isinstance(value, str) and value != "abc " else value


@pytest.mark.parametrize("part", range(PARTS))
def test_rows_are_the_same_with_and_without_pushdown(catalogs: Catalogs, cases: sa.Engine, part: int) -> None:
    assert len(STATEMENTS) >= 250
    different = []
    for text in STATEMENTS[part::PARTS]:
        pushed, bare = rows(catalogs, text, ON)[0], rows(catalogs, text, OFF)[0]
        if pushed != bare:
            different.append((text, pushed, bare))
    assert not different, "\n".join(f"{t}\n  pushed {p}\n  bare   {b}" for t, p, b in different)


def test_postgresql_itself_agrees_where_it_means_the_same(catalogs: Catalogs, cases: sa.Engine) -> None:
    asked = 0
    with cases.connect() as connection:
        connection.exec_driver_sql("SET search_path = cases; SET timezone = 'UTC'")
        for text in STATEMENTS:
            if any(word in text for word in OTHERWISE):
                continue
            answer = connection.execute(sa.text(text))
            remote = sorted(str([_shown(v) for v in row]) for row in answer)
            assert rows(catalogs, text, ON)[0] == remote, text
            asked += 1
    assert asked >= 60


def test_a_blind_collation_would_give_other_rows(catalogs: Catalogs, cases: sa.Engine) -> None:
    with cases.connect() as connection:
        answer = connection.execute(sa.text("SELECT i FROM cases.l WHERE x = 'abc'")).fetchall()
        ordered = connection.execute(sa.text("SELECT v FROM cases.l WHERE v IS NOT NULL ORDER BY v LIMIT 1")).scalar()
    assert len(answer) > 1
    assert ordered != "ABC"
    assert rows(catalogs, "SELECT i FROM l WHERE x = 'abc'", ON)[0] == ["[1]"]
    assert rows(catalogs, "SELECT v FROM l WHERE v > '' ORDER BY v LIMIT 1", ON)[0] == ["['ABC']"]


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
