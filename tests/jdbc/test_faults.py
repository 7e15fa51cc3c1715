"""What goes wrong with a database: each fault a clear error, no connection left, nothing that hangs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.engine.executor import Executor
from coordinator.engine.local import LocalEngine
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import PlannedStatement, RunLocally
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.jdbc.faults import SECRET, admin_of, close, failure, in_thread, reader_of, sessions, wait_for_query

pytestmark = pytest.mark.slow

SESSION = Session(user="test", catalog="pg", schema="faults")


@pytest.fixture(scope="module")
def admin(postgres: str) -> Iterator[sa.Engine]:
    engine = admin_of(postgres)
    yield engine
    engine.dispose()


@pytest.fixture
def catalogs(postgres: str, admin: sa.Engine) -> Iterator[Catalogs]:
    made = reader_of(postgres)
    yield made
    close(made)
    assert sessions(admin) == []


def planned(catalogs: Catalogs, text: str, **properties: str) -> PlannedStatement:
    found = plan_statement(text, replace(SESSION, properties=properties), catalogs, PlanCheckers())
    assert isinstance(found.work, RunLocally)
    return found


def run(catalogs: Catalogs, statement: PlannedStatement, execution: FakeExecution | None = None) -> int:
    executor = Executor(catalogs, LocalEngine(), None, lambda _: "")  # type: ignore[arg-type]
    return sum(batch.num_rows for batch in executor.execute(statement, execution or FakeExecution()))  # type: ignore[arg-type]


def test_a_table_without_permission(catalogs: Catalogs) -> None:
    told = failure(lambda: run(catalogs, planned(catalogs, "SELECT * FROM secret")))
    assert told.code is ErrorCode.PERMISSION_DENIED
    assert "Catalog pg: " in told.message
    assert "permission denied for table secret" in told.message


@pytest.mark.parametrize("name", ['"a\0b"', '"a\0b".secret', 'faults."\0"'])
def test_a_name_with_nul_is_of_no_table(catalogs: Catalogs, name: str) -> None:
    told = failure(lambda: planned(catalogs, f"SELECT * FROM {name}"))
    assert told.code is ErrorCode.SYNTAX_ERROR
    assert "does not exist" in told.message


def test_a_join_with_a_table_without_permission(catalogs: Catalogs) -> None:
    text = "SELECT f.w FROM few f JOIN secret s ON f.k = s.k"
    told = failure(lambda: run(catalogs, planned(catalogs, text)))
    assert told.code is ErrorCode.PERMISSION_DENIED


def test_a_wrong_password(postgres: str, admin: sa.Engine) -> None:
    catalogs = reader_of(postgres, **{"connection-user": "locked", "connection-password": SECRET})
    told = failure(lambda: planned(catalogs, "SELECT * FROM few"))
    assert told.code is ErrorCode.JDBC_ERROR
    assert 'password authentication failed for user "locked"' in told.message


def test_a_server_that_is_away() -> None:
    catalogs = reader_of("postgresql://postgres@127.0.0.1:1/postgres")
    told = failure(lambda: planned(catalogs, "SELECT * FROM few"))
    assert told.code is ErrorCode.JDBC_ERROR
    assert "Connection refused" in told.message


def test_a_table_that_was_altered_or_dropped_after_planning(catalogs: Catalogs, admin: sa.Engine) -> None:
    with admin.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE faults.changing AS SELECT 1 AS a, 2 AS b")
        connection.exec_driver_sql("GRANT SELECT ON faults.changing TO reader; ANALYZE faults.changing")
        statement = planned(catalogs, "SELECT a, b FROM changing")
        connection.exec_driver_sql("ALTER TABLE faults.changing RENAME COLUMN b TO c")
        told = failure(lambda: run(catalogs, statement))
        assert told.code is ErrorCode.JDBC_ERROR
        assert "column T0.b does not exist" in told.message
        connection.exec_driver_sql("ALTER TABLE faults.changing RENAME COLUMN c TO b")
        connection.exec_driver_sql("ALTER TABLE faults.changing ALTER COLUMN a TYPE text USING 'x'")
        told = failure(lambda: run(catalogs, statement))
        assert told.code is ErrorCode.JDBC_ERROR
        connection.exec_driver_sql("DROP TABLE faults.changing")
        told = failure(lambda: run(catalogs, statement))
        assert 'relation "faults.changing" does not exist' in told.message


def test_a_session_that_is_killed_in_mid_query(catalogs: Catalogs, admin: sa.Engine) -> None:
    statement = planned(catalogs, "SELECT * FROM slow")
    thread, failures = in_thread(lambda: run(catalogs, statement))
    pid = wait_for_query(admin, "FETCH", failures)
    with admin.connect() as connection:
        connection.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
    thread.join(timeout=60)
    assert not thread.is_alive()
    (told,) = failures
    assert isinstance(told, ProcessionError)
    assert told.code is ErrorCode.JDBC_ERROR
    reasons = ("terminating connection due to administrator command", "server closed the connection")
    assert any(reason in told.message for reason in reasons)
    assert run(catalogs, planned(catalogs, "SELECT * FROM few")) == 20


def test_a_session_that_is_killed_between_two_pages(catalogs: Catalogs, admin: sa.Engine) -> None:
    statement = planned(catalogs, "SELECT a.k, b.w FROM many a JOIN few b ON a.k = b.k OR a.k > 5000")
    executor = Executor(catalogs, LocalEngine(), None, lambda _: "")  # type: ignore[arg-type]
    rows = executor.execute(statement, FakeExecution())  # type: ignore[arg-type]
    next(rows)
    with admin.connect() as connection:
        connection.exec_driver_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
    told = failure(lambda: list(rows))
    assert told.code is ErrorCode.JDBC_ERROR
    assert "Catalog pg: " in told.message


def test_a_cancelled_statement_ends_its_remote_query(catalogs: Catalogs, admin: sa.Engine) -> None:
    statement, execution = planned(catalogs, "SELECT * FROM slow"), FakeExecution()
    thread, failures = in_thread(lambda: run(catalogs, statement, execution))
    wait_for_query(admin, "FETCH", failures)
    execution.cancel(wait=True)
    thread.join(timeout=60)
    assert not thread.is_alive()
    (told,) = failures
    assert isinstance(told, ProcessionError)
    assert told.code is ErrorCode.USER_CANCELED


def test_the_connection_limit(postgres: str, admin: sa.Engine) -> None:
    catalogs = reader_of(postgres)
    statement = planned(catalogs, "SELECT * FROM few")
    close(catalogs)
    with admin.connect() as connection:
        connection.exec_driver_sql("ALTER ROLE reader CONNECTION LIMIT 0")
        try:
            told = failure(lambda: run(catalogs, statement))
        finally:
            connection.exec_driver_sql("ALTER ROLE reader CONNECTION LIMIT -1")
    assert told.code is ErrorCode.JDBC_ERROR
    assert 'too many connections for role "reader"' in told.message
    assert run(catalogs, statement) == 20
    close(catalogs)


def test_many_tables_of_a_statement_need_one_connection(postgres: str, admin: sa.Engine) -> None:
    catalogs = reader_of(postgres, **{"jdbc.max-connections": "1"})
    tables = " UNION ALL ".join(["SELECT k FROM few"] * 6)
    off = {"optimizer_inner_join_pushdown_enabled": "false"}
    assert run(catalogs, planned(catalogs, tables, **off)) == 120
    close(catalogs)
    assert sessions(admin) == []


def test_many_rows_arrive_by_adbc_as_few_do_by_a_cursor(catalogs: Catalogs, admin: sa.Engine) -> None:
    assert run(catalogs, planned(catalogs, "SELECT * FROM many")) == 60_000
    both = planned(catalogs, "SELECT v FROM many UNION ALL SELECT CAST(w AS varchar) FROM few")
    assert run(catalogs, both) == 60_020
    # Given up after the first batch.
    executor = Executor(catalogs, LocalEngine(), None, lambda _: "")  # type: ignore[arg-type]
    rows = executor.execute(both, FakeExecution())  # type: ignore[arg-type]
    next(rows)
    rows.close()  # type: ignore[attr-defined]


def test_the_remote_session_has_the_name_of_the_statement(catalogs: Catalogs, admin: sa.Engine) -> None:
    statement, execution = planned(catalogs, "SELECT * FROM slow"), FakeExecution()
    thread, failures = in_thread(lambda: run(catalogs, statement, execution))
    pid = wait_for_query(admin, "FETCH", failures)
    with admin.connect() as connection:
        asked = sa.text("SELECT application_name FROM pg_stat_activity WHERE pid = :pid")
        assert connection.execute(asked, {"pid": pid}).scalar() == f"procession {execution.query_id}"
    execution.cancel(wait=True)
    thread.join(timeout=60)
