"""Row filters and masks over a table of a real PostgreSQL, with and without pushdown: DuckDB's rows of what is seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import sqlalchemy as sa

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.engine.executor import Executor
from coordinator.engine.local import LocalEngine
from coordinator.planning.plan_statement import plan_statement
from coordinator.security.access_control.file_rules import FileRules
from coordinator.security.access_control.policy import AccessPolicy
from coordinator.security.access_control.rules import read_rules
from coordinator.security.current_session import acting_for
from coordinator.vocabulary.planned_statement import PlannedStatement, RunLocally, RunOnSpark
from shared.spi.relation import JdbcRelation
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.jdbc.conftest import catalog_config
from tests.jdbc.test_pushdown import OFF, ON

pytestmark = pytest.mark.slow

ROWS = "(1, 'ada', 10), (2, 'bob', 20), (3, 'cyd', 30), (4, 'dan', 40)"
RULE = {
    "table": "people",
    "privileges": ["SELECT"],
    "filter": "id <= 2 OR salary IS NULL",
    "columns": [{"name": "name", "mask": "substr(name, 1, 1)"}],
}
QUERIES = """
SELECT * FROM people
SELECT count(*), max(salary), min(name) FROM people
SELECT id FROM people WHERE salary > 15
SELECT id FROM people WHERE name = 'bob'
SELECT id FROM people WHERE name = 'b'
SELECT id FROM people WHERE 1 / (salary - 30) < 1
SELECT 100 / (salary - 40) FROM people
SELECT id, salary FROM people ORDER BY salary DESC LIMIT 1
SELECT name, count(*) FROM people GROUP BY name
SELECT count(DISTINCT salary) FROM people
SELECT DISTINCT name FROM people
SELECT a.id FROM people a JOIN people b ON a.salary < b.salary
SELECT a.id, b.id FROM people a LEFT JOIN people b ON b.id = a.id + 1
SELECT id FROM people WHERE salary IN (SELECT salary FROM people WHERE id > 1)
SELECT id FROM people WHERE NOT EXISTS (SELECT 1 FROM people b WHERE b.salary > people.salary)
SELECT salary FROM people UNION ALL SELECT id FROM people
SELECT id FROM people WHERE id > 2
SELECT sum(salary) FROM people HAVING sum(salary) > 50
SELECT id FROM people WHERE salary BETWEEN 25 AND 35 OR name LIKE 'c%'
""".strip().splitlines()


@pytest.fixture(scope="module")
def hidden(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Catalogs:
    engine = sa.create_engine(postgres.replace("postgresql:", "postgresql+psycopg2:", 1))
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE SCHEMA rowfilters"))
        connection.execute(sa.text("CREATE TABLE rowfilters.people (id integer, name text, salary integer)"))
        connection.execute(sa.text(f"INSERT INTO rowfilters.people VALUES {ROWS}"))
        connection.execute(sa.text("ANALYZE rowfilters.people"))
    engine.dispose()
    file: Path = tmp_path_factory.mktemp("rules") / "rules.json"
    file.write_text(json.dumps({"tables": [RULE]}))
    rules = read_rules(file)
    made = Catalogs([catalog_config(postgres)])
    made.access = AccessPolicy(FileRules(lambda: rules))
    return made


@pytest.fixture(scope="module")
def local() -> Iterator[LocalEngine]:
    made = LocalEngine()
    yield made
    made.close()


def planned(catalogs: Catalogs, sql: str, session: Session) -> PlannedStatement:
    with acting_for(session):
        return plan_statement(sql, session, catalogs, PlanCheckers())


@pytest.mark.parametrize("how", [ON, OFF], ids=["pushed down", "not"])
@pytest.mark.parametrize("sql", QUERIES)
def test_rows(hidden: Catalogs, local: LocalEngine, sql: str, how: dict[str, str]) -> None:
    seen = duckdb.connect()
    rows = f"SELECT id, name[1] AS name, salary FROM (VALUES {ROWS}) t(id, name, salary) WHERE id <= 2"
    seen.execute(f"CREATE TABLE people AS {rows}")
    expected = seen.execute(sql.replace("1 / (", "1 // (").replace("100 / (", "100 // (")).fetchall()
    session = Session(user="bob", catalog="pg", schema="rowfilters", properties=how)
    executor = Executor(hidden, local, None, lambda _: "")  # type: ignore[arg-type]
    with acting_for(session):
        batches = list(executor.execute(planned(hidden, sql, session), FakeExecution(session=session)))
    columns = [zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in batches]
    assert sorted((row for batch in columns for row in batch), key=str) == sorted(expected, key=str)


def test_something_is_pushed_down(hidden: Catalogs) -> None:
    """Else the above would prove nothing."""
    session = Session(user="bob", catalog="pg", schema="rowfilters", properties=ON)
    work = planned(hidden, "SELECT id FROM people WHERE salary > 15", session).work
    assert isinstance(work, RunLocally | RunOnSpark)
    [relation] = [each.relation for each in work.inputs]
    assert isinstance(relation, JdbcRelation)
    assert "WHERE" in relation.sql
