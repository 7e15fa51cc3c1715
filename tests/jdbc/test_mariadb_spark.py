"""MariaDB read by Spark: the same values as in the coordinator, in parts, cancelled, failing; the password nowhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.jdbc.connector import JdbcConnector
from coordinator.connectors.registry import Catalogs
from coordinator.engine.executor import Executor
from coordinator.engine.inputs import FormatInput, spark_inputs
from coordinator.engine.local import LocalEngine
from coordinator.engine.spark.engine import SparkEngine
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import RunLocally, RunOnSpark
from shared.errors import ErrorCode, ProcessionError
from shared.spi.relation import JdbcRelation
from tests.execution import FakeExecution
from tests.jdbc.faults import failure, in_thread
from tests.jdbc.maria import SESSION, catalogs_of, engine_with

pytestmark = [pytest.mark.slow, pytest.mark.spark]

TABLES = """
CREATE TABLE shop.numbered (k integer PRIMARY KEY, m integer) AS SELECT seq AS k, seq % 7 AS m FROM seq_1_to_2000;
CREATE VIEW shop.slow AS SELECT k, sleep(60) AS s FROM shop.numbered;
"""
COLUMNS = "flag, t, tu, s, su, m, iu, l, lu, r, d, n, v, tx, vb, bl, day, moment, stamp, pick, several, doc"


@pytest.fixture(scope="module")
def admin(mariadb: str) -> Iterator[sa.Engine]:
    yield from engine_with(mariadb, TABLES)


@pytest.fixture
def catalogs(mariadb: str, admin: sa.Engine) -> Iterator[Catalogs]:
    made = catalogs_of(mariadb)
    yield made
    connector = made.connector("maria")
    assert isinstance(connector, JdbcConnector)
    connector.database.close()


def run(
    catalogs: Catalogs, spark: SparkEngine, text: str, execution: FakeExecution | None = None
) -> list[dict[str, Any]]:
    """The rows of a statement, all of whose remote queries Spark reads."""
    planned = plan_statement(text, SESSION, catalogs, PlanCheckers())
    work = planned.work
    assert isinstance(work, RunLocally | RunOnSpark)
    with spark_inputs(work.inputs, catalogs, execution or FakeExecution()) as inputs:  # type: ignore[arg-type]
        names = [made.name for made in inputs]
        assert all(isinstance(made, FormatInput) for made in inputs)
        (name,) = names
        batches = spark.run(f"SELECT * FROM {name}", execution or FakeExecution(), inputs)  # type: ignore[arg-type]
        return [row for batch in batches for row in batch.to_pylist()]


def test_values_arrive_from_spark_as_from_the_coordinator(catalogs: Catalogs, jdbc_spark: SparkEngine) -> None:
    text = f"SELECT {COLUMNS} FROM kinds"
    executor = Executor(catalogs, LocalEngine(), None, lambda _: "")  # type: ignore[arg-type]
    planned = plan_statement(text, SESSION, catalogs, PlanCheckers())
    local = [row for batch in executor.execute(planned, FakeExecution()) for row in batch.to_pylist()]  # type: ignore[arg-type]
    far = run(catalogs, jdbc_spark, text)
    assert len(far) == 2
    assert sorted(map(str, map(bare, far))) == sorted(map(str, map(bare, local)))


def bare(row: dict[str, Any]) -> list[Any]:
    """Moments without their zone, which is UTC on both sides, by column of the statement."""
    values = {name.strip(): row[name.strip()] for name in COLUMNS.split(",")}
    return [v.replace(tzinfo=None) if hasattr(v, "tzinfo") else v for v in values.values()]


def test_a_large_table_is_read_in_parts(catalogs: Catalogs, jdbc_spark: SparkEngine) -> None:
    work = plan_statement("SELECT k, m FROM numbered WHERE m > 1", SESSION, catalogs, PlanCheckers()).work
    assert isinstance(work, RunLocally)
    (planned,) = work.inputs
    assert isinstance(planned.relation, JdbcRelation)
    large = replace(planned, relation=replace(planned.relation, size_bytes=1 << 30))
    with spark_inputs([large], catalogs, FakeExecution()) as inputs:
        (made,) = inputs
        assert isinstance(made, FormatInput)
        names = ("numPartitions", "lowerBound", "upperBound", "partitionColumn")
        assert [made.options[name] for name in names] == ["4", "1", "2000", "procession_part"]
        batches = jdbc_spark.run(f"SELECT k, m FROM {made.name}", FakeExecution(), inputs)  # type: ignore[arg-type]
        rows = [row for batch in batches for row in batch.to_pylist()]
    assert sorted((row["k"], row["m"]) for row in rows) == [(g, g % 7) for g in range(1, 2001) if g % 7 > 1]


def test_a_cancelled_statement_ends_its_remote_query(
    catalogs: Catalogs, jdbc_spark: SparkEngine, admin: sa.Engine
) -> None:
    execution = FakeExecution()
    thread, failures = in_thread(lambda: run(catalogs, jdbc_spark, "SELECT k, s FROM slow", execution))
    assert running(admin, wanted=True, failures=failures) == 1
    execution.cancel(wait=True)
    thread.join(timeout=200)
    assert not thread.is_alive()
    (told,) = failures
    assert isinstance(told, ProcessionError)
    assert told.code is ErrorCode.USER_CANCELED
    assert running(admin, wanted=False, failures=[]) == 0


def running(admin: sa.Engine, *, wanted: bool, failures: list[BaseException]) -> int:
    """How many queries of the catalog run there, once one does or none does any more."""
    asked = "SELECT count(*) FROM information_schema.processlist WHERE locate('`slow`', info) > 0"
    found = -1
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not failures:
        with admin.connect() as connection:
            found = int(connection.exec_driver_sql(f"{asked} AND id <> connection_id()").scalar_one())
        if (found > 0) is wanted:
            break
        time.sleep(0.2)
    return found


def test_a_table_that_is_gone(catalogs: Catalogs, jdbc_spark: SparkEngine, admin: sa.Engine) -> None:
    with admin.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE shop.gone AS SELECT 1 AS k")
        connection.commit()
        planned = plan_statement("SELECT k FROM gone", SESSION, catalogs, PlanCheckers())
        connection.exec_driver_sql("DROP TABLE shop.gone")
        connection.commit()
    assert isinstance(planned.work, RunLocally)
    inputs = planned.work.inputs

    def read() -> None:
        with spark_inputs(inputs, catalogs, FakeExecution()) as made:
            list(jdbc_spark.run(f"SELECT * FROM {made[0].name}", FakeExecution(), made))  # type: ignore[arg-type]

    told = failure(read)
    assert told.code is ErrorCode.JDBC_ERROR
    assert "Table 'shop.gone' doesn't exist" in told.message
