"""PostgreSQL read by Spark: in parts, in one snapshot, cancelled, failing; the password nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.engine.executor import Executor
from coordinator.engine.inputs import FormatInput, spark_inputs
from coordinator.engine.local import LocalEngine
from coordinator.engine.spark.engine import SparkEngine
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import PlannedStatement, RunLocally, RunOnSpark
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from tests.execution import QUERY_ID, FakeExecution
from tests.jdbc.conftest import catalog_config
from tests.jdbc.faults import admin_of, close, failure, in_thread, reader_of, sessions, wait_for_query

pytestmark = [pytest.mark.slow, pytest.mark.spark]


SESSION = Session(user="test", catalog="pg", schema="big")
# The planner believes what the database says of their sizes: Spark reads them.
TABLES = """
CREATE SCHEMA big;
CREATE TABLE big.numbered AS SELECT g AS k, g % 7 AS m FROM generate_series(1, 2000) g;
ALTER TABLE big.numbered ADD PRIMARY KEY (k);
CREATE TABLE big.secret AS SELECT 1 AS k;
CREATE VIEW big.slow AS SELECT k, CASE WHEN pg_sleep(30) IS NULL THEN 0 ELSE 1 END AS s FROM big.numbered;
GRANT USAGE ON SCHEMA big TO reader;
GRANT SELECT ON big.numbered, big.slow TO reader;
ALTER TABLE big.numbered SET (autovacuum_enabled = false); ALTER TABLE big.secret SET (autovacuum_enabled = false);
ANALYZE big.numbered; ANALYZE big.secret;
UPDATE pg_class SET reltuples = 50000000 WHERE oid IN ('big.numbered'::regclass, 'big.secret'::regclass);
"""


@pytest.fixture(scope="module")
def admin(postgres: str) -> Iterator[sa.Engine]:
    engine = admin_of(postgres)
    with engine.connect() as connection:
        connection.exec_driver_sql(TABLES.replace("%", "%%"))
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def spark(jdbc_spark: SparkEngine) -> SparkEngine:
    return jdbc_spark


@pytest.fixture
def catalogs(postgres: str, admin: sa.Engine) -> Iterator[Catalogs]:
    made = reader_of(postgres)
    yield made
    close(made)
    assert sessions(admin) == []


def planned(catalogs: Catalogs, text: str) -> PlannedStatement:
    found = plan_statement(text, replace(SESSION), catalogs, PlanCheckers())
    assert isinstance(found.work, RunOnSpark)
    return found


def run(
    catalogs: Catalogs, spark: SparkEngine, text: str, execution: FakeExecution | None = None
) -> list[dict[str, Any]]:
    executor = Executor(catalogs, LocalEngine(), spark, lambda _: "")
    batches = executor.execute(planned(catalogs, text), execution or FakeExecution())  # type: ignore[arg-type]
    return [row for batch in batches for row in batch.to_pylist()]


def test_a_large_table_is_read_in_parts_of_one_snapshot(
    catalogs: Catalogs, spark: SparkEngine, admin: sa.Engine
) -> None:
    work = planned(catalogs, "SELECT m FROM numbered").work
    assert isinstance(work, RunOnSpark)
    with spark_inputs(work.inputs, catalogs, FakeExecution()) as inputs:
        (made,) = inputs
        assert isinstance(made, FormatInput)
        assert made.options["numPartitions"] == "4"
        assert (made.options["lowerBound"], made.options["upperBound"]) == ("1", "2000")
        with admin.connect() as connection:
            connection.exec_driver_sql("DELETE FROM big.numbered WHERE k < 100; INSERT INTO big.numbered VALUES (0, 0)")
            try:
                found = sum(batch.num_rows for batch in spark.run(work.sql, FakeExecution(), inputs))  # type: ignore[arg-type]
            finally:
                connection.exec_driver_sql(
                    "DELETE FROM big.numbered WHERE k = 0; "
                    "INSERT INTO big.numbered SELECT g, g %% 7 FROM generate_series(1, 99) g"
                )
    assert found == 2000


def test_moments_are_those_of_the_coordinator(postgres: str, spark: SparkEngine) -> None:
    catalogs = Catalogs([catalog_config(postgres)])
    session = Session(user="test", catalog="pg", schema="shop")
    work = plan_statement("SELECT day, ts, tz FROM kinds WHERE id = 1", session, catalogs, PlanCheckers()).work
    assert isinstance(work, RunLocally)
    with spark_inputs(work.inputs, catalogs, FakeExecution()) as inputs:
        asked = f"SELECT CAST(day AS string), CAST(ts AS string), CAST(tz AS string) FROM {inputs[0].name}"
        (row,) = [row for batch in spark.run(asked, FakeExecution(), inputs) for row in batch.to_pylist()]  # type: ignore[arg-type]
    assert list(row.values()) == ["2024-02-29", "2024-02-29 01:02:03.456", "2024-02-28 23:02:03.456"]


def test_the_parts_are_the_whole(catalogs: Catalogs, spark: SparkEngine) -> None:
    rows = run(catalogs, spark, "SELECT k, m FROM numbered WHERE m > 1")
    assert sorted((row["k"], row["m"]) for row in rows) == [(g, g % 7) for g in range(1, 2001) if g % 7 > 1]


def test_a_cancelled_statement_ends_its_remote_query(catalogs: Catalogs, spark: SparkEngine, admin: sa.Engine) -> None:
    execution = FakeExecution()
    thread, failures = in_thread(lambda: run(catalogs, spark, "SELECT * FROM slow", execution))
    wait_for_query(admin, f"procession {QUERY_ID}", failures)
    execution.cancel(wait=True)
    thread.join(timeout=200)
    assert not thread.is_alive()
    (told,) = failures
    assert isinstance(told, ProcessionError)
    assert told.code is ErrorCode.USER_CANCELED


def test_a_session_of_spark_that_is_killed(catalogs: Catalogs, spark: SparkEngine, admin: sa.Engine) -> None:
    thread, failures = in_thread(lambda: run(catalogs, spark, "SELECT * FROM slow"))
    pid = wait_for_query(admin, f"procession {QUERY_ID}", failures)
    with admin.connect() as connection:
        connection.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
    thread.join(timeout=200)
    assert not thread.is_alive()
    (told,) = failures
    assert isinstance(told, ProcessionError)
    assert told.code is ErrorCode.JDBC_ERROR
    assert told.message == "Catalog pg: FATAL: terminating connection due to administrator command"


def test_a_table_without_permission(catalogs: Catalogs, spark: SparkEngine) -> None:
    told = failure(lambda: run(catalogs, spark, "SELECT * FROM secret"))
    assert told.code is ErrorCode.PERMISSION_DENIED
    assert told.message == "Catalog pg: ERROR: permission denied for table secret"


def test_a_connection_limit_that_spark_meets(catalogs: Catalogs, spark: SparkEngine, admin: sa.Engine) -> None:
    statement = planned(catalogs, "SELECT * FROM numbered")
    executor = Executor(catalogs, LocalEngine(), spark, lambda _: "")
    close(catalogs)
    with admin.connect() as connection:
        connection.exec_driver_sql("ALTER ROLE reader CONNECTION LIMIT 1")
        try:
            # One for the snapshot, none for Spark.
            told = failure(lambda: list(executor.execute(statement, FakeExecution())))  # type: ignore[arg-type]
        finally:
            connection.exec_driver_sql("ALTER ROLE reader CONNECTION LIMIT -1")
    assert told.code is ErrorCode.JDBC_ERROR
    assert 'too many connections for role "reader"' in told.message
