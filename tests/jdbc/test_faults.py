"""What goes wrong with a database: each fault a clear error, no connection left, nothing that hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.engine.executor import Executor
from coordinator.engine.local import LocalEngine
from coordinator.planner.planned_statement import PlannedStatement, RunLocally
from coordinator.validation.plan_statement import plan_statement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from tests.engine_local.test_local_engine import Run
from tests.jdbc.conftest import catalog_config

pytestmark = pytest.mark.slow

SESSION = Session(user="test", catalog="pg", schema="faults")
SECRET = "open-sesame"
TABLES = f"""
CREATE SCHEMA faults;
CREATE TABLE faults.many AS SELECT g AS k, 'row ' || g AS v FROM generate_series(1, 60000) g;
ALTER TABLE faults.many ADD PRIMARY KEY (k);
CREATE TABLE faults.few AS SELECT g AS k, g * 2 AS w FROM generate_series(1, 20) g;
CREATE TABLE faults.secret (k integer);
CREATE VIEW faults.slow AS SELECT k, CASE WHEN pg_sleep(30) IS NULL THEN 0 ELSE 1 END AS s FROM faults.few;
CREATE ROLE reader LOGIN PASSWORD '{SECRET}';
CREATE ROLE locked LOGIN PASSWORD 'another';
GRANT USAGE ON SCHEMA faults TO reader, locked;
GRANT SELECT ON faults.many, faults.few, faults.slow TO reader, locked;
ANALYZE faults.many; ANALYZE faults.few; ANALYZE faults.secret;
"""


@pytest.fixture(scope="module")
def admin(postgres: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(
        postgres.replace("postgresql:", "postgresql+psycopg2:", 1), execution_options={"isolation_level": "AUTOCOMMIT"}
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(TABLES)
        hba = Path(str(connection.exec_driver_sql("SHOW hba_file").scalar_one()))
        asked = "host all locked all scram-sha-256\nlocal all locked scram-sha-256\n"
        hba.write_text(asked + hba.read_text())
        connection.exec_driver_sql("SELECT pg_reload_conf()")
    yield engine
    engine.dispose()


@pytest.fixture
def catalogs(postgres: str, admin: sa.Engine) -> Iterator[Catalogs]:
    made = reader_of(postgres)
    yield made
    made.connector("pg").database.close()  # type: ignore[attr-defined]
    assert sessions(admin) == []


def reader_of(url: str, **more: str) -> Catalogs:
    values = {"connection-user": "reader", "connection-password": SECRET} | more
    return Catalogs([catalog_config(url, **values)])


def sessions(admin: sa.Engine, user: str = "reader") -> list[str]:
    """What the sessions of the catalog's user run, once those that are ending have ended."""
    found: list[str] = []
    for _ in range(100):
        with admin.connect() as connection:
            asked = sa.text("SELECT state || ': ' || query FROM pg_stat_activity WHERE usename = :user")
            found = list(connection.execute(asked, {"user": user}).scalars())
        if not found:
            break
        time.sleep(0.1)
    return found


def planned(catalogs: Catalogs, text: str, **properties: str) -> PlannedStatement:
    found = plan_statement(text, replace(SESSION, properties=properties), catalogs, PlanCheckers())
    assert isinstance(found.work, RunLocally)
    return found


def run(catalogs: Catalogs, statement: PlannedStatement, execution: Run | None = None) -> int:
    executor = Executor(catalogs, LocalEngine(), None, lambda _: "")  # type: ignore[arg-type]
    return sum(batch.num_rows for batch in executor.execute(statement, execution or Run()))  # type: ignore[arg-type]


def failure(work: Callable[[], object]) -> ProcessionError:
    with pytest.raises(ProcessionError) as caught:
        work()
    assert SECRET not in str(caught.value)
    return caught.value


def in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    failures: list[BaseException] = []

    def body() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    return thread, failures


def wait_for_query(admin: sa.Engine, part: str) -> int:
    """The process of the query that holds ``part``, once it runs."""
    for _ in range(300):
        with admin.connect() as connection:
            asked = sa.text(
                "SELECT pid FROM pg_stat_activity "
                "WHERE state = 'active' AND usename = 'reader' AND strpos(query, :part) > 0"
            )
            pid = connection.execute(asked, {"part": part}).scalar()
        if pid is not None:
            return int(pid)
        time.sleep(0.05)
    raise AssertionError(f"no query {part}")


def test_a_table_without_permission(catalogs: Catalogs) -> None:
    told = failure(lambda: run(catalogs, planned(catalogs, "SELECT * FROM secret")))
    assert told.code is ErrorCode.PERMISSION_DENIED
    assert "Catalog pg: " in told.message
    assert "permission denied for table secret" in told.message


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
    pid = wait_for_query(admin, "FETCH")
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
    rows = executor.execute(statement, Run())  # type: ignore[arg-type]
    next(rows)
    with admin.connect() as connection:
        connection.exec_driver_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
    told = failure(lambda: list(rows))
    assert told.code is ErrorCode.JDBC_ERROR
    assert "Catalog pg: " in told.message


def test_a_cancelled_statement_ends_its_remote_query(catalogs: Catalogs, admin: sa.Engine) -> None:
    statement, execution = planned(catalogs, "SELECT * FROM slow"), Run()
    thread, failures = in_thread(lambda: run(catalogs, statement, execution))
    wait_for_query(admin, "FETCH")
    execution.cancel()
    thread.join(timeout=60)
    assert not thread.is_alive()
    (told,) = failures
    assert isinstance(told, ProcessionError)
    assert told.code is ErrorCode.USER_CANCELED


def test_the_connection_limit(postgres: str, admin: sa.Engine) -> None:
    catalogs = reader_of(postgres)
    statement = planned(catalogs, "SELECT * FROM few")
    catalogs.connector("pg").database.close()  # type: ignore[attr-defined]
    with admin.connect() as connection:
        connection.exec_driver_sql("ALTER ROLE reader CONNECTION LIMIT 0")
        try:
            told = failure(lambda: run(catalogs, statement))
        finally:
            connection.exec_driver_sql("ALTER ROLE reader CONNECTION LIMIT -1")
    assert told.code is ErrorCode.JDBC_ERROR
    assert 'too many connections for role "reader"' in told.message
    assert run(catalogs, statement) == 20
    catalogs.connector("pg").database.close()  # type: ignore[attr-defined]


def test_many_tables_of_a_statement_need_one_connection(postgres: str, admin: sa.Engine) -> None:
    catalogs = reader_of(postgres, **{"jdbc.max-connections": "1"})
    tables = " UNION ALL ".join(["SELECT k FROM few"] * 6)
    off = {"optimizer_inner_join_pushdown_enabled": "false"}
    assert run(catalogs, planned(catalogs, tables, **off)) == 120
    catalogs.connector("pg").database.close()  # type: ignore[attr-defined]
    assert sessions(admin) == []


def test_many_rows_arrive_by_adbc_as_few_do_by_a_cursor(catalogs: Catalogs, admin: sa.Engine) -> None:
    assert run(catalogs, planned(catalogs, "SELECT * FROM many")) == 60_000
    both = planned(catalogs, "SELECT v FROM many UNION ALL SELECT CAST(w AS varchar) FROM few")
    assert run(catalogs, both) == 60_020
    # Given up after the first batch.
    executor = Executor(catalogs, LocalEngine(), None, lambda _: "")  # type: ignore[arg-type]
    rows = executor.execute(both, Run())  # type: ignore[arg-type]
    next(rows)
    rows.close()  # type: ignore[attr-defined]


def test_the_remote_session_has_the_name_of_the_statement(catalogs: Catalogs, admin: sa.Engine) -> None:
    statement, execution = planned(catalogs, "SELECT * FROM slow"), Run()
    thread, _ = in_thread(lambda: run(catalogs, statement, execution))
    pid = wait_for_query(admin, "FETCH")
    with admin.connect() as connection:
        asked = sa.text("SELECT application_name FROM pg_stat_activity WHERE pid = :pid")
        assert connection.execute(asked, {"pid": pid}).scalar() == "procession test"
    execution.cancel()
    thread.join(timeout=60)
