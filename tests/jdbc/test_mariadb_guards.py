"""What MariaDB answers when it is asked without our guards, and that we do not give that answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.planning.plan_statement import plan_statement
from shared.errors import ErrorCode
from tests.jdbc.faults import failure
from tests.jdbc.maria import SESSION, catalogs_of, engine_with, rows
from tests.jdbc.test_guards import Guard
from tests.jdbc.test_pushdown import OFF, ON

pytestmark = pytest.mark.slow

TABLES = r"""
CREATE TABLE shop.g (
  i integer, b bigint, big bigint unsigned, v varchar(10) COLLATE utf8mb4_general_ci, p varchar(10) COLLATE utf8mb4_bin,
  c varchar(10) COLLATE utf8mb4_nopad_bin, ch char(5), mood enum('sad','happy','calm'), stamp timestamp NULL
);
INSERT INTO shop.g VALUES
  (2147483647, 9223372036854775807, 1, 'abc', 'abc', 'a\\nc', 'a', 'sad', '2024-01-01 10:00:00'),
  (3, 1, 2, 'ABC', 'abc ', 'abc', 'A', 'happy', '2024-01-01 23:00:00'),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE shop.zero (k integer, day date);
SET sql_mode = '';
INSERT INTO shop.zero VALUES (1, '0000-00-00');
CREATE TABLE shop.many AS SELECT 1 AS k, seq AS n FROM seq_1_to_2000;
CREATE TABLE shop.keyed (k integer PRIMARY KEY, w integer);
INSERT INTO shop.keyed SELECT seq, seq FROM seq_1_to_2000;
ANALYZE TABLE shop.g, shop.many, shop.keyed;
"""
GUARDS = (
    Guard("case in =", "SELECT b FROM g WHERE v = 'abc'", [(1,), (9223372036854775807,)],
          "SELECT b FROM g WHERE v = 'abc'", [(9223372036854775807,)]),
    Guard("trailing spaces in =", "SELECT b FROM g WHERE p = 'abc'", [(1,), (9223372036854775807,)],
          "SELECT b FROM g WHERE p = 'abc'", [(9223372036854775807,)]),
    Guard("case in IN", "SELECT b FROM g WHERE v IN ('Abc', 'x')", [(1,), (9223372036854775807,)],
          "SELECT b FROM g WHERE v IN ('Abc', 'x')", []),
    Guard("case in GROUP BY", "SELECT count(*) FROM g WHERE b > 0 GROUP BY v", [(2,)],
          "SELECT count(*) FROM g WHERE b > 0 GROUP BY v", [(1,), (1,)]),
    Guard("spaces in GROUP BY", "SELECT count(*) FROM g WHERE b > 0 GROUP BY p", [(2,)],
          "SELECT count(*) FROM g WHERE b > 0 GROUP BY p", [(1,), (1,)]),
    Guard("case in DISTINCT", "SELECT count(DISTINCT v) FROM g", [(1,)], "SELECT count(DISTINCT v) FROM g", [(2,)]),
    Guard("case in a join", "SELECT a.b FROM g a JOIN g b ON a.v = b.v AND b.b = 1", [(1,), (9223372036854775807,)],
          "SELECT a.b FROM g a JOIN g b ON a.v = b.v AND b.b = 1", [(1,)]),
    Guard("case in a semi-join", "SELECT b FROM g WHERE v IN (SELECT v FROM g WHERE b = 1)",
          [(1,), (9223372036854775807,)], "SELECT b FROM g WHERE v IN (SELECT v FROM g WHERE b = 1)", [(1,)]),
    Guard("case in an order", "SELECT b FROM g WHERE b > 0 AND v < 'Abd' AND v >= 'abc'",
          [(1,), (9223372036854775807,)], "SELECT b FROM g WHERE b > 0 AND v < 'Abd' AND v >= 'abc'", []),
    Guard("case of char", "SELECT b FROM g WHERE ch = 'a'", [(1,), (9223372036854775807,)],
          "SELECT b FROM g WHERE ch = CHAR 'a'", [(9223372036854775807,)]),
    Guard("case in LIKE", "SELECT b FROM g WHERE v LIKE 'a%'", [(1,), (9223372036854775807,)],
          "SELECT b FROM g WHERE v LIKE 'a%'", [(9223372036854775807,)]),
    Guard("backslashes in literals", r"SELECT b FROM g WHERE c = 'a\nc'", [],
          r"SELECT b FROM g WHERE c = 'a\nc'", [(9223372036854775807,)]),
    Guard("integer division", "SELECT b FROM g WHERE i / 2 = 1", [], "SELECT b FROM g WHERE i / 2 = 1", [(1,)]),
    Guard("NULLs come last", "SELECT i FROM g ORDER BY i LIMIT 1", [(None,)], "SELECT i FROM g ORDER BY i LIMIT 1",
          [(3,)]),
    Guard("the order of an enumeration", "SELECT b FROM g WHERE b > 0 ORDER BY mood LIMIT 1", [(9223372036854775807,)],
          "SELECT b FROM g ORDER BY mood LIMIT 1", [(1,)]),
    Guard("numbers instead of labels", "SELECT b FROM g WHERE mood = 1", [(9223372036854775807,)],
          "SELECT b FROM g WHERE mood = '1'", []),
)  # fmt: skip


@pytest.fixture(scope="module")
def server(mariadb: str) -> Iterator[sa.Engine]:
    yield from engine_with(mariadb, TABLES)


@pytest.fixture(scope="module")
def catalogs(mariadb: str, server: sa.Engine) -> Catalogs:
    return catalogs_of(mariadb)


def remote(server: sa.Engine, text: str) -> list[tuple[object, ...]]:
    with server.connect() as connection:
        return sorted((tuple(row) for row in connection.exec_driver_sql(text.replace("%", "%%"))), key=str)


def explained(catalogs: Catalogs, text: str, **properties: str) -> str:
    session = (
        SESSION if not properties else type(SESSION)("test", catalog="maria", schema="shop", properties=properties)
    )
    ((shown,),) = plan_statement(f"EXPLAIN {text}", session, catalogs, PlanCheckers()).work.rows
    return str(shown)


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_presto_s_answer_where_mariadb_s_is_another(catalogs: Catalogs, server: sa.Engine, guard: Guard) -> None:
    assert remote(server, guard.unguarded) == guard.wrong
    right = sorted(str([None if value is None else float(value) for value in row]) for row in guard.right)  # type: ignore[arg-type]
    assert rows(catalogs, guard.statement, OFF) == right
    assert rows(catalogs, guard.statement, ON) == right


def test_sums_and_additions_that_mariadb_cuts_or_widens(catalogs: Catalogs, server: sa.Engine) -> None:
    assert remote(server, "SELECT CAST(sum(b) AS signed) FROM g") == [(9223372036854775807,)]
    assert remote(server, "SELECT i + 1 FROM g WHERE i > 3") == [(2147483648,)]
    for text in ("SELECT sum(b) FROM g", "SELECT i + 1 FROM g WHERE i > 3"):
        for properties in (ON, OFF):
            failure(lambda text=text, properties=properties: rows(catalogs, text, properties))


def test_the_session_s_zone_does_not_matter(catalogs: Catalogs, server: sa.Engine) -> None:
    text = "SELECT b FROM g WHERE stamp < TIMESTAMP '2024-01-02 00:00:00 UTC'"
    with server.connect() as connection:
        connection.exec_driver_sql("SET time_zone = '+05:00'")
        shifted = connection.exec_driver_sql("SELECT b FROM g WHERE stamp < '2024-01-02 00:00:00'").fetchall()
    assert len(shifted) == 1
    assert rows(catalogs, text, ON) == rows(catalogs, text, OFF)
    assert len(rows(catalogs, text, ON)) == 2


def test_a_date_that_is_none_is_an_error(catalogs: Catalogs) -> None:
    told = failure(lambda: rows(catalogs, "SELECT day FROM zero", ON))
    assert told.code is ErrorCode.JDBC_ERROR
    assert "Catalog maria: a value has no place in its Presto type" in told.message


def test_text_is_compared_there_to_leave_rows_out_and_here_to_be_exact(catalogs: Catalogs) -> None:
    shown = explained(catalogs, "SELECT b FROM g WHERE v = 'abc' AND (p IN ('abc', 'x') OR b = 1)")
    assert "WHERE (`T0`.`v` = CONVERT(X'616263' USING utf8mb4)) AND ((`T0`.`p` IN (" in shown
    assert "filter not pushed down: the comparison = under collation utf8mb4_general_ci" in shown
    for text in ("NOT (v = 'abc')", "v <> 'abc'", "v < 'abc'", "v LIKE 'a%'", "upper(v) = 'ABC'"):
        assert "WHERE" not in explained(catalogs, f"SELECT b FROM g WHERE {text}").split("remote query")[1], text


def test_a_join_that_grows_stays_here_and_explain_says_why(catalogs: Catalogs) -> None:
    grows = "SELECT a.n, b.n FROM many a JOIN many b ON a.k = b.k AND a.n <> b.n"
    shown = explained(
        catalogs, "SELECT a.n, b.n FROM many a JOIN many b ON a.n < b.n", **ON | {"join_pushdown_strategy": "AUTOMATIC"}
    )
    assert "join not pushed down: the join is estimated at" in shown
    assert "InnerJoin" not in explained(catalogs, grows, **ON)
    assert "join_pushdown_strategy is NEVER" in explained(catalogs, grows, join_pushdown_strategy="NEVER")


def test_a_selective_join_is_computed_there_by_estimate(catalogs: Catalogs) -> None:
    shown = explained(catalogs, "SELECT a.w FROM keyed a JOIN g ON a.k = g.i")
    assert "InnerJoin" not in shown
    assert "`shop`.`keyed` `T0`, `shop`.`g` `T1`" in shown
