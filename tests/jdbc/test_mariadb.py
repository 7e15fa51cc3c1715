"""A MariaDB catalog over Debian's server: types, the same rows with and without pushdown and from MariaDB itself."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest
import sqlalchemy as sa

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.engine.executor import Executor
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import RunLocally
from shared.errors import ErrorCode, ProcessionError
from tests.execution import FakeExecution
from tests.jdbc.faults import failure, in_thread
from tests.jdbc.maria import ENGINE, SESSION, catalogs_of, engine_of, rows, shown
from tests.jdbc.test_pushdown import OFF, ON
from tests.mariadb import PASSWORD

pytestmark = pytest.mark.slow

KINDS = ("i", "s", "b", "n", "d", "v", "c", "x", "ch", "day", "ts", "ok")
LITERALS = {
    "i": "2", "s": "SMALLINT '2'", "b": "BIGINT '3000000000'", "n": "DECIMAL '2.50'", "d": "DOUBLE '1.5'", "v": "'abc'",
    "c": "'abc'", "x": "'abc'", "ch": "CHAR 'ab'", "day": "DATE '2024-02-29'", "ts": "TIMESTAMP '2024-01-01 10:00:00'",
    "ok": "true",
}  # fmt: skip


def statements() -> Iterator[str]:
    for k in KINDS:
        for o in ("=", "<>") if k == "ok" else ("=", "<>", "<", ">="):
            yield f"SELECT i, {k} FROM l WHERE {k} {o} {LITERALS[k]}"
        yield f"SELECT i, {k} FROM l WHERE {k} IN ({LITERALS[k]}, {LITERALS[k]}) OR {k} IS NULL"
        yield f"SELECT i, {k} FROM l WHERE {k} IS DISTINCT FROM {LITERALS[k]}"
        yield f"SELECT {k}, count(*) AS n FROM r GROUP BY {k}"
        yield f"SELECT i, {k} FROM l WHERE {k} NOT IN (SELECT {k} FROM r WHERE {k} IS NOT NULL)"
        for kind in ("JOIN", "LEFT JOIN"):
            yield f"SELECT l.i AS a, r.i AS b, l.{k} AS x, r.{k} AS y FROM l {kind} r ON l.{k} = r.{k}"
        if k != "ok":
            yield f"SELECT min({k}) AS a, max({k}) AS z, count({k}) AS n, count(DISTINCT {k}) AS u FROM l"
            yield f"SELECT {k} FROM r ORDER BY {k} LIMIT 3"
            yield f"SELECT {k} FROM r ORDER BY {k} DESC NULLS LAST LIMIT 4"
            yield f"SELECT {k} FROM r ORDER BY {k} DESC NULLS FIRST LIMIT 2"
    yield "SELECT sum(i) AS a, sum(b) AS b, sum(n) AS c FROM l"
    yield "SELECT i FROM r WHERE v = 'it''s' OR c = 'back\\slash'"
    yield "SELECT a.i AS a, c.i AS c FROM l a, r b, l c WHERE a.b = b.i AND b.i = c.b"
    yield "SELECT i FROM l WHERE i + s = 4"
    yield "SELECT i FROM l WHERE c LIKE 'a%'"
    yield "SELECT count(*) AS n FROM (SELECT i FROM l LIMIT 3) t"


@pytest.fixture(scope="module")
def server(mariadb: str) -> str:
    return mariadb


@pytest.fixture(scope="module")
def catalogs(server: str) -> Catalogs:
    return catalogs_of(server)


def test_values_arrive_exactly(catalogs: Catalogs) -> None:
    table = catalogs.connector("maria").table("shop", "kinds")
    assert table is not None
    kinds = {c.name: c.type for c in table.columns}
    assert [kinds[n] for n in ("flag", "tu", "su", "iu", "lu", "r", "n", "c", "moment", "stamp", "doc")] == [
        "boolean", "smallint", "integer", "bigint", "decimal(20,0)", "real", "decimal(12,2)", "char(5)", "timestamp",
        "timestamp with time zone", "varchar",
    ]  # fmt: skip
    assert "wide" not in kinds
    (warning,) = table.warnings
    assert "wide DECIMAL(60, 2)" in warning
    planned = plan_statement(
        "SELECT flag, t, tu, s, su, m, iu, l, lu, r, d, n, v, tx, vb, bl, day, moment, pick, several, doc "
        "FROM kinds WHERE id = 1",
        SESSION, catalogs, PlanCheckers(),
    )  # fmt: skip
    assert isinstance(planned.work, RunLocally)
    executor = Executor(catalogs, ENGINE, None, lambda _: "")  # type: ignore[arg-type]
    (row,) = [tuple(r.values()) for b in executor.execute(planned, FakeExecution()) for r in b.to_pylist()]  # type: ignore[arg-type]
    assert row == (
        True, -5, 250, -3, 65000, 7, 4000000000, 9, Decimal(18446744073709551615), 1.5, 2.5, Decimal("12345.67"), "abc",
        "läßt", b"\x00\xff", b"\x01\x02", dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 1, 2, 3, 456000), "b", "x,y",
        '{"a": [1]}',
    )  # fmt: skip


def test_rows_are_the_same_with_and_without_pushdown(catalogs: Catalogs) -> None:
    different = []
    for text in statements():
        pushed, bare = rows(catalogs, text, ON), rows(catalogs, text, OFF)
        if pushed != bare:
            different.append(f"{text}\n  pushed {pushed}\n  bare   {bare}")
    assert not different, "\n".join(different)


def test_mariadb_itself_agrees_where_it_means_the_same(catalogs: Catalogs, server: str) -> None:
    engine = sa.create_engine(f"mariadb+pymysql://reader:{PASSWORD}@{server}/shop?charset=utf8mb4")
    otherwise = (
        "v",
        "x",
        "ch",
        "ok",
        "IS DISTINCT",
        "NULLS",
        "SMALLINT",
        "BIGINT",
        "DECIMAL",
        "DOUBLE",
        "LIKE",
        "ORDER BY",
    )
    asked = 0
    with engine.connect() as connection:
        for text in statements():
            if any(word in text for word in otherwise):
                continue
            theirs = sorted(str([shown(v) for v in row]) for row in connection.execute(sa.text(text)))
            assert rows(catalogs, text, ON) == theirs, text
            asked += 1
    engine.dispose()
    assert asked >= 30


def test_a_database_that_ignores_case_and_spaces_would_give_other_rows(catalogs: Catalogs, server: str) -> None:
    engine = sa.create_engine(f"mariadb+pymysql://reader:{PASSWORD}@{server}/shop?charset=utf8mb4")
    with engine.connect() as connection:
        blind = connection.exec_driver_sql("SELECT i FROM l WHERE v = 'abc'").fetchall()
        padded = connection.exec_driver_sql("SELECT i FROM l WHERE x = 'abc'").fetchall()
    engine.dispose()
    assert sorted(blind) == [(1,), (2,), (3,)]
    assert sorted(padded) == [(1,), (3,)]
    assert rows(catalogs, "SELECT i FROM l WHERE v = 'abc'", ON) == ["[1.0]"]
    assert rows(catalogs, "SELECT i FROM l WHERE x = 'abc'", ON) == ["[1.0]"]
    ((plan,),) = plan_statement("EXPLAIN SELECT i FROM l WHERE x = 'abc'", SESSION, catalogs, PlanCheckers()).work.rows
    assert "filter not pushed down: the comparison = under collation utf8mb4_bin" in plan


def test_joins_are_computed_there(catalogs: Catalogs) -> None:
    text = "EXPLAIN SELECT l.i FROM l JOIN r ON l.c = r.c WHERE l.i > 1"
    ((plan,),) = plan_statement(text, replace(SESSION, properties=ON), catalogs, PlanCheckers()).work.rows
    assert "FROM `shop`.`l` `T0`, `shop`.`r` `T1` WHERE" in plan
    assert "InnerJoin" not in plan


def test_a_server_without_tls_is_refused_where_the_url_asks_for_it(server: str) -> None:
    for parameter in ("sslMode=trust", "useSSL=true"):
        url = f"jdbc:mariadb://{server}/?{parameter}"
        told = failure(lambda url=url: rows(catalogs_of(server, **{"connection-url": url}), "SELECT i FROM l", ON))
        assert told.code is ErrorCode.JDBC_ERROR
        assert told.message == "Catalog maria: SSL is required but the server doesn't support it"


def test_a_cancelled_statement_ends_its_remote_query(catalogs: Catalogs, server: str) -> None:
    engine = engine_of(server, "shop")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE VIEW shop.waits AS SELECT i, sleep(60) AS s FROM shop.l")
        planned = plan_statement("SELECT i, s FROM waits", SESSION, catalogs, PlanCheckers())
        execution, executor = FakeExecution(), Executor(catalogs, ENGINE, None, lambda _: "")  # type: ignore[arg-type]
        thread, failures = in_thread(lambda: list(executor.execute(planned, execution)))  # type: ignore[arg-type]
        asked = "SELECT count(*) FROM information_schema.processlist WHERE locate('`waits`', info) > 0"
        while not connection.exec_driver_sql(f"{asked} AND id <> connection_id()").scalar_one() and not failures:
            time.sleep(0.1)
        execution.cancel(wait=True)
        thread.join(timeout=60)
        assert not thread.is_alive()
        assert connection.exec_driver_sql(f"{asked} AND id <> connection_id()").scalar_one() == 0
    engine.dispose()
    (told,) = failures
    assert isinstance(told, ProcessionError)
    assert told.code is ErrorCode.USER_CANCELED


def test_a_wrong_password(server: str) -> None:
    told = failure(lambda: rows(catalogs_of(server, **{"connection-password": "wrong"}), "SELECT i FROM l", ON))
    assert told.code is ErrorCode.JDBC_ERROR
    assert "Access denied for user 'reader'" in told.message
