"""A cast means one thing: of a constant, folded while planning, and of a column, run by an engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.engine.local import LocalEngine
from tests.execution import FakeExecution as Execution
from tests.functions import recorded
from tests.functions.cast_cases import ANSWERS, TEXTS, TYPES
from tests.functions.runner import Run, answer

_AT_ONCE = 7


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    local = LocalEngine()
    yield local
    local.close()


@pytest.fixture(scope="module")
def local(engine: LocalEngine) -> Run:
    return lambda sql: engine.run(sql, Execution())


@pytest.fixture(scope="module")
def spark(spark_engine: Any) -> Run:
    return lambda sql: spark_engine.run(sql, Execution())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _cast(value: str, kind: str) -> str:
    # A column keeps no zone of each row.
    shown = " AT TIME ZONE 'UTC'" if kind == "timestamp with time zone" else ""
    return f"try_cast({value} AS {kind}){shown}"


def _as_constants(engine: LocalEngine, kind: str) -> list[Any]:
    """Each text cast while the statement is planned."""
    casts = ", ".join(f"{_cast(_quoted(text), kind)} AS c{i}" for i, text in enumerate(TEXTS))
    return list(recorded.answer(f"SELECT {casts}", engine, PlanCheckers())["data"][0])


def _as_columns(run: Run, dialect: str, kinds: tuple[str, ...]) -> list[list[Any]]:
    """Of each type: the column of all texts; one statement for several types, which is half the work of Spark."""
    rows = ", ".join(f"({i}, {_quoted(text)})" for i, text in enumerate(TEXTS))
    casts = ", ".join(f"{_cast('x', kind)} c{number}" for number, kind in enumerate(kinds))
    found = answer(f"SELECT i, {casts} FROM (VALUES {rows}) t(i, x) ORDER BY i", dialect, run)
    assert isinstance(found, list), found
    return [[row[number] for row in found] for number in range(1, len(kinds) + 1)]


def _different(engine: LocalEngine, run: Run, dialect: str, kinds: tuple[str, ...]) -> list[str]:
    wrong, parts = [], [kinds[start : start + _AT_ONCE] for start in range(0, len(kinds), _AT_ONCE)]
    columns = [column for part in parts for column in _as_columns(run, dialect, part)]
    for kind, column in zip(kinds, columns, strict=True):
        pairs = zip(TEXTS, _as_constants(engine, kind), column, strict=True)
        wrong += [f"{text!r} AS {kind}: {a!r} and {b!r}" for text, a, b in pairs if a != b]
    return wrong


def test_a_constant_and_a_column_of_the_embedded_engine(engine: LocalEngine, local: Run) -> None:
    assert _different(engine, local, "duckdb", TYPES) == []


@pytest.mark.spark
@pytest.mark.slow
def test_a_constant_and_a_column_of_spark(engine: LocalEngine, spark: Run) -> None:
    # Spark's own casts know no digits but ASCII's.
    wrong = [w for w in _different(engine, spark, "spark", TYPES) if w.isascii()]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("text", "kind", "cell"), ANSWERS)
def test_prestos_answers(engine: LocalEngine, local: Run, text: str, kind: str, cell: Any) -> None:
    constant = recorded.answer(f"SELECT CAST({_quoted(text)} AS {kind}) AS c", engine, PlanCheckers())
    column = answer(f"SELECT CAST(x AS {kind}) AS c FROM (VALUES {_quoted(text)}) t(x)", "duckdb", local)
    failed = "error" in constant
    found = constant["error"][:2] if failed else constant["data"][0][0]
    assert found == (["INVALID_CAST_ARGUMENT", cell] if failed else cell)
    assert column == (("INVALID_CAST_ARGUMENT", cell) if failed else [[cell]])


@pytest.mark.parametrize("target", ["array(date)", "array(timestamp)", "row(a date)", "map(varchar,date)"])
def test_a_number_in_json_is_no_date(local: Run, target: str) -> None:
    """Presto's code; an internal error until 24 November."""
    text = '{"a":1}' if target.startswith("map") else "[1]"
    name, message = answer(f"SELECT CAST(json '{text}' AS {target})", "duckdb", local)
    assert (name, message.splitlines()[0].split(". ")[0]) == ("INVALID_CAST_ARGUMENT", f"Cannot cast to {target}")
    assert answer(f"SELECT TRY_CAST(json '{text}' AS {target})", "duckdb", local) == [[None]]
