"""Random join graphs over two catalogs: the same rows with pushdown, without, and from PostgreSQL itself.

Columns are of types that PostgreSQL compares as Presto does; tests/jdbc/test_pushdown.py has the others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.executor import Executor
from coordinator.engine.local import LocalEngine
from coordinator.planning.plan_statement import plan_statement
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.jdbc.conftest import catalog_config
from tests.jdbc.test_pushdown import OFF, ON

pytestmark = pytest.mark.slow

EXAMPLES = 1000 if os.environ.get("PROCESSION_TEST_FULL") else 25
TABLES = {"one.a": "graph_a", "one.b": "graph_b", "one.c": "graph_c", "two.d": "graph_d", "two.e": "graph_e"}
COLUMNS = ("i", "b", "n", "v")
KINDS = ("JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
AUTOMATIC = {"optimizer_inequality_join_pushdown_enabled": "true"}
ENGINE = LocalEngine()


@st.composite
def conditions(draw: st.DrawFn, new: int, others: list[int], kind: str) -> str:
    """One to three conjuncts between table ``new`` and tables before it; the first is an equality."""
    terms = []
    for at in range(draw(st.integers(1, 3))):
        column, other = draw(st.sampled_from(COLUMNS)), draw(st.sampled_from(others))
        operator = "=" if at == 0 else draw(st.sampled_from(("=", "<>", "<", "<=", ">=")))
        sides = [f"t{new}.{column}", f"t{other}.{column}"]
        first, second = draw(st.permutations(sides))
        terms.append(f"{first} {operator} {second}")
    if kind == "FULL JOIN":
        # PostgreSQL wants conditions that can be hashed.
        return terms[0]
    if kind == "JOIN" and draw(st.booleans()):
        terms.append(draw(local_conditions(draw(st.sampled_from([new, *others])))))
    return " AND ".join(terms)


@st.composite
def local_conditions(draw: st.DrawFn, table: int) -> str:
    """A conjunct of one table."""
    return draw(
        st.sampled_from(
            (
                f"t{table}.i > 2",
                f"t{table}.b + 1 < 6",
                f"t{table}.v <> 'b'",
                f"t{table}.v LIKE 'a%'",
                f"t{table}.n IS NOT NULL",
                f"(t{table}.i = 1 OR t{table}.v IS NULL)",
                f"t{table}.i IN (1, 2, 5)",
                f"coalesce(t{table}.i, 0) < 4",
                f"t{table}.i IN (SELECT i FROM one.b WHERE n > 1)",
                f"EXISTS (SELECT 1 FROM two.e x WHERE x.b = t{table}.b)",
                f"NOT EXISTS (SELECT 1 FROM one.c x WHERE x.i = t{table}.i AND x.v = t{table}.v)",
            )
        )
    )


@st.composite
def graphs(draw: st.DrawFn) -> str:
    """A statement over one to five tables, in words that PostgreSQL and Presto share; tables as ``catalog.table``."""
    count = draw(st.integers(2, 5))
    names = [draw(st.sampled_from(sorted(TABLES))) for _ in range(count)]
    clause = f"{names[0]} t0"
    for new in range(1, count):
        kind = draw(st.sampled_from(KINDS))
        clause += f" {kind} {names[new]} t{new} ON {draw(conditions(new, list(range(new)), kind))}"
    where = [draw(local_conditions(draw(st.integers(0, count - 1)))) for _ in range(draw(st.integers(0, 2)))]
    shown = [f"t{at}.{column}" for at in range(count) for column in draw(st.sets(st.sampled_from(COLUMNS), max_size=2))]
    filtered = f"FROM {clause}" + (f" WHERE {' AND '.join(where)}" if where else "")
    match draw(st.sampled_from(("rows", "rows", "grouped", "counted"))):
        case "grouped" if shown:
            return (
                f"SELECT {shown[0]} AS g, count(*) AS n, sum(t0.i) AS s, max(t0.v) AS m {filtered} GROUP BY {shown[0]}"
            )
        case "rows" if shown:
            columns = ", ".join(f"{column} AS c{at}" for at, column in enumerate(shown))
            return f"SELECT {columns} {filtered}"
        case _:
            return f"SELECT count(*) AS n {filtered}"


@pytest.fixture(scope="module")
def remote(postgres: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(postgres.replace("postgresql:", "postgresql+psycopg2:", 1))
    made = [
        f"CREATE TABLE public.{name} AS SELECT nullif((g * {at + 3}) % 6, 0)::integer AS i, "
        f"(g % {at + 2})::bigint AS b, (nullif(g % 4, {at % 4}) / 2.0)::numeric(8,2) AS n, "
        f"(ARRAY['a', 'b', 'ab', NULL, 'A'])[1 + (g + {at}) % 5] COLLATE \"C\" AS v FROM generate_series(1, 7) g"
        for at, name in enumerate(TABLES.values())
    ]
    with engine.begin() as connection:
        for statement in made:
            connection.exec_driver_sql(statement.replace("%", "%%"))
        for name in TABLES.values():
            connection.exec_driver_sql(f"ANALYZE {name}")
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def catalogs(postgres: str, remote: sa.Engine) -> Catalogs:
    made = catalog_config(postgres)
    return Catalogs([CatalogConfig(name, made.connector_name, made.properties) for name in ("one", "two")])


def answer(catalogs: Catalogs, text: str, properties: dict[str, str]) -> list[str]:
    session = Session(user="test", catalog="one", schema="public", properties=properties)
    executor = Executor(catalogs, ENGINE, None, lambda _: "")  # type: ignore[arg-type]
    planned = plan_statement(qualified(text, "{0}.public.{1}"), session, catalogs, PlanCheckers())
    batches = executor.execute(planned, FakeExecution())  # type: ignore[arg-type]
    return sorted(str([shown(v) for v in row.values()]) for batch in batches for row in batch.to_pylist())


def qualified(text: str, form: str) -> str:
    for name, table in TABLES.items():
        text = text.replace(f"{name} ", form.format(name.split(".")[0], table) + " ")
    return text


def shown(value: Any) -> Any:
    return float(value) if value is not None and not isinstance(value, str) else value


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=graphs())
def test_join_graphs(catalogs: Catalogs, remote: sa.Engine, text: str) -> None:
    with remote.connect() as connection:
        rows = connection.execute(sa.text(qualified(text, "public.{1}").replace(":", r"\:")))
        theirs = sorted(str([shown(v) for v in row]) for row in rows)
    for properties in (ON, AUTOMATIC, OFF):
        assert answer(catalogs, text, properties) == theirs, text
