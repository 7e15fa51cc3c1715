"""What PostgreSQL answers when it is asked without our guards, and that we do not give that answer.

Each case: the remote SQL as it would be without the guard, what it gives, the statement, and Presto's answer, which
must come with and without pushdown. Sources: Presto's and Trino's issues on collations, padding, NULLs and types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.engine.executor import Executor
from coordinator.engine.local import LocalEngine
from coordinator.planning.plan_statement import plan_statement
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.jdbc.conftest import catalog_config
from tests.jdbc.faults import failure
from tests.jdbc.test_pushdown import OFF, ON

pytestmark = pytest.mark.slow

TABLES = r"""
CREATE SCHEMA guards;
CREATE COLLATION guards.blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE guards.mood AS ENUM ('sad', 'happy', 'calm');
CREATE TABLE guards.t (
  i integer, s smallint, b bigint, n numeric(10,2), free numeric, d double precision, blind text COLLATE guards.blind,
  lang text, plain text COLLATE "C", ch char(5), vch varchar(5), mood guards.mood, ts timestamp, tz timestamptz
);
INSERT INTO guards.t VALUES
  (1, 32767, 9223372036854775807, 1.00, 1.10, 'NaN', 'abc', 'a', 'a%c', 'a', 'a', 'sad', '2024-01-01 10:00', '2024-01-01 10:00+00'),
  (2, 1, 1, 2.00, 1.1, 1.5, 'ABC', 'B', 'a\xc', E'a\t', 'a  ', 'happy', '2024-01-01 10:00', '2024-01-01 15:00+00'),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
ANALYZE guards.t;
"""  # noqa: E501


@dataclass(frozen=True)
class Guard:
    """``wrong`` and ``right`` are rows, sorted; ``unguarded`` runs with ``guards`` as its schema."""

    name: str
    unguarded: str
    wrong: list[tuple[Any, ...]]
    statement: str
    right: list[tuple[Any, ...]]


GUARDS = (
    Guard("equality under a blind collation", "SELECT i FROM t WHERE blind = 'abc'", [(1,), (2,)],
          "SELECT i FROM t WHERE blind = 'abc'", [(1,)]),
    Guard("inequality under a blind collation", "SELECT i FROM t WHERE blind <> 'abc'", [],
          "SELECT i FROM t WHERE blind <> 'abc'", [(2,)]),
    Guard("IN under a blind collation", "SELECT i FROM t WHERE blind IN ('aBc', 'x')", [(1,), (2,)],
          "SELECT i FROM t WHERE blind IN ('aBc', 'x')", []),
    Guard("GROUP BY under a blind collation", "SELECT count(*) FROM t WHERE i < 3 GROUP BY blind", [(2,)],
          "SELECT count(*) FROM t WHERE i < 3 GROUP BY blind", [(1,), (1,)]),
    Guard("DISTINCT under a blind collation", "SELECT count(DISTINCT blind) FROM t", [(1,)],
          "SELECT count(DISTINCT blind) FROM t", [(2,)]),
    Guard("a join under a blind collation", "SELECT a.i, b.i FROM t a, t b WHERE a.blind = b.blind",
          [(1, 1), (1, 2), (2, 1), (2, 2)], "SELECT a.i, b.i FROM t a, t b WHERE a.blind = b.blind", [(1, 1), (2, 2)]),
    Guard("a semi-join under a blind collation", "SELECT i FROM t WHERE blind IN (SELECT blind FROM t WHERE i = 2)",
          [(1,), (2,)], "SELECT i FROM t WHERE blind IN (SELECT blind FROM t WHERE i = 2)", [(2,)]),
    Guard("IS DISTINCT FROM under a blind collation", "SELECT i FROM t WHERE blind IS DISTINCT FROM 'abc'", [(3,)],
          "SELECT i FROM t WHERE blind IS DISTINCT FROM 'abc'", [(2,), (3,)]),
    Guard("text < under a language's order", "SELECT i FROM t WHERE lang < 'B'", [(1,)],
          "SELECT i FROM t WHERE lang < 'B'", []),
    Guard("BETWEEN under a language's order", "SELECT i FROM t WHERE lang BETWEEN 'a' AND 'C'", [(1,), (2,)],
          "SELECT i FROM t WHERE lang BETWEEN 'a' AND 'C'", []),
    Guard("min under a language's order", "SELECT min(lang), max(lang) FROM t", [("a", "B")],
          "SELECT min(lang), max(lang) FROM t", [("B", "a")]),
    Guard("TopN under a language's order", "SELECT lang FROM t ORDER BY lang NULLS LAST LIMIT 1", [("a",)],
          "SELECT lang FROM t ORDER BY lang LIMIT 1", [("B",)]),
    Guard("NULLs come last in both directions", "SELECT i FROM t ORDER BY s DESC LIMIT 1", [(3,)],
          "SELECT i FROM t ORDER BY s DESC LIMIT 1", [(1,)]),
    Guard("char beside varchar", "SELECT a.i, b.i FROM t a, t b WHERE CAST(a.ch AS text) = b.vch", [(1, 1)],
          "SELECT a.i, b.i FROM t a, t b WHERE a.ch = b.vch", [(1, 1), (1, 2)]),
    Guard("char has no trailing spaces to count", "SELECT i FROM t WHERE CAST(ch AS varchar) = 'a  '", [],
          "SELECT i FROM t WHERE ch = CHAR 'a  '", [(1,)]),
    Guard("LIKE escapes nothing", r"SELECT i FROM t WHERE plain LIKE 'a\%c'", [(1,)],
          r"SELECT i FROM t WHERE plain LIKE 'a\%c'", [(2,)]),
    Guard("the order of an enumeration", "SELECT CAST(min(mood) AS text) FROM t", [("sad",)],
          "SELECT min(mood) FROM t", [("happy",)]),
    Guard("TopN of an enumeration", "SELECT i FROM t ORDER BY mood LIMIT 1", [(1,)],
          "SELECT i FROM t ORDER BY mood LIMIT 1", [(2,)]),
    Guard("numbers that are read as text", "SELECT i FROM t WHERE free = '1.10'", [(1,), (2,)],
          "SELECT i FROM t WHERE free = '1.10'", [(1,)]),
    Guard("grouping numbers that are read as text", "SELECT count(*) FROM t WHERE i < 3 GROUP BY free", [(2,)],
          "SELECT count(*) FROM t WHERE i < 3 GROUP BY free", [(1,), (1,)]),
    Guard("the scale of a division", "SELECT i FROM t WHERE n / 3 = 0.33", [],
          "SELECT i FROM t WHERE n / 3 = DECIMAL '0.33'", [(1,)]),
    Guard("the scale of an average", "SELECT avg(n / 3) = 0.50 FROM t WHERE i < 3", [(True,)],
          "SELECT sum(n / 3) = DECIMAL '1.00' FROM t WHERE i < 3", [(True,)]),
    Guard("a column computed over the NULLs of an outer join",
          "SELECT a.i, b.b IS NULL FROM t a LEFT JOIN t b ON a.i = b.i + 10", [(1, True), (2, True), (3, True)],
          "SELECT a.i, b.z FROM t a LEFT JOIN (SELECT i, b IS NULL AS z FROM t) b ON a.i = b.i + 10",
          [(1, None), (2, None), (3, None)]),
)  # fmt: skip


@pytest.fixture(scope="module")
def server(postgres: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(postgres.replace("postgresql:", "postgresql+psycopg2:", 1))
    with engine.begin() as connection:
        connection.exec_driver_sql(TABLES.replace("%", "%%"))
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def catalogs(postgres: str) -> Catalogs:
    return Catalogs([catalog_config(postgres, **{"unsupported-type-handling": "CONVERT_TO_VARCHAR"})])


def answer(catalogs: Catalogs, text: str, properties: dict[str, str], zone: str = "UTC") -> list[tuple[Any, ...]]:
    session = Session(user="test", catalog="pg", schema="guards", time_zone=zone, properties=properties)
    executor = Executor(catalogs, LocalEngine(), None, lambda _: "")  # type: ignore[arg-type]
    batches = executor.execute(plan_statement(text, session, catalogs, PlanCheckers()), FakeExecution())  # type: ignore[arg-type]
    columns = [zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in batches]
    return sorted((row for batch in columns for row in batch), key=str)


def remote(server: sa.Engine, text: str, zone: str = "UTC") -> list[tuple[Any, ...]]:
    with server.connect() as connection:
        connection.exec_driver_sql(f"SET search_path = guards; SET timezone = '{zone}'")
        return sorted((tuple(row) for row in connection.exec_driver_sql(text.replace("%", "%%"))), key=str)


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_presto_s_answer_where_postgresql_s_is_another(catalogs: Catalogs, server: sa.Engine, guard: Guard) -> None:
    assert remote(server, guard.unguarded) == guard.wrong
    assert answer(catalogs, guard.statement, OFF) == guard.right
    assert answer(catalogs, guard.statement, ON) == guard.right


def test_two_collations_in_one_condition(catalogs: Catalogs, server: sa.Engine) -> None:
    text = "SELECT a.i FROM t a, t b WHERE a.plain = b.blind"
    with pytest.raises(sa.exc.DBAPIError, match="could not determine which collation"):
        remote(server, text)
    assert answer(catalogs, text, ON) == []


def test_a_label_that_an_enumeration_does_not_have(catalogs: Catalogs, server: sa.Engine) -> None:
    text = "SELECT i FROM t WHERE mood = 'furious'"
    with pytest.raises(sa.exc.DBAPIError, match="invalid input value for enum"):
        remote(server, text)
    assert answer(catalogs, text, ON) == []


def test_timestamps_with_and_without_zone(catalogs: Catalogs, server: sa.Engine) -> None:
    text = "SELECT i FROM t WHERE ts = tz"
    assert remote(server, text) == [(1,)]
    assert remote(server, text, "America/New_York") == [(2,)]
    for zone in ("UTC", "America/New_York"):
        assert answer(catalogs, text, ON, zone) == answer(catalogs, text, OFF, zone) == remote(server, text, zone)


def test_nan_is_the_greatest_on_both_sides(catalogs: Catalogs, server: sa.Engine) -> None:
    text = "SELECT i FROM t WHERE d IS NOT NULL ORDER BY d DESC LIMIT 1"
    assert remote(server, text) == answer(catalogs, text, ON) == answer(catalogs, text, OFF) == [(1,)]
    text = "SELECT i FROM t WHERE d > 1.5E0"
    assert answer(catalogs, text, ON) == answer(catalogs, text, OFF) == [(1,)]


@pytest.mark.parametrize(
    ("text", "beyond"),
    [("SELECT sum(b) FROM t", "sum(b)"), ("SELECT s + SMALLINT '1' FROM t WHERE i = 1", "s + 1")],
)
def test_what_overflows_in_presto_is_an_error(catalogs: Catalogs, server: sa.Engine, text: str, beyond: str) -> None:
    ((greater,),) = remote(server, f"SELECT {beyond} FROM t {'WHERE i = 1' if 's +' in beyond else ''}")
    assert greater in (9223372036854775808, 32768)
    for properties in (ON, OFF):
        failure(lambda properties=properties: answer(catalogs, text, properties))
