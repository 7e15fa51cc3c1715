"""Presto's functions on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from coordinator.engine.local import LocalEngine
from tests.functions.cases import CASES, FAILURES
from tests.functions.runner import Run, answer, answers, wrong
from tests.queries.test_semantics import Run as Execution


@pytest.fixture(scope="module")
def local() -> Iterator[Run]:
    engine = LocalEngine()
    yield lambda sql: engine.run(sql, Execution())
    engine.close()


@pytest.fixture(scope="module")
def spark(spark_engine: Any) -> Run:
    return lambda sql: spark_engine.run(sql, Execution())


def check(dialect: str, run: Run) -> list[str]:
    expressions = [e for e, _ in CASES]
    return wrong(expressions, answers(expressions, dialect, run), [x for _, x in CASES])


def check_failures(dialect: str, run: Run) -> list[str]:
    found = [answer(f"SELECT {e} AS c", dialect, run) for e, _, _ in FAILURES]
    return wrong([e for e, _, _ in FAILURES], found, [f[1:] for f in FAILURES])


def test_the_local_engine_knows_prestos_functions(local: Run) -> None:
    assert check("duckdb", local) == []


def test_functions_fail_locally_as_in_presto(local: Run) -> None:
    assert check_failures("duckdb", local) == []


@pytest.mark.spark
@pytest.mark.slow
def test_spark_knows_prestos_functions(spark: Run) -> None:
    assert check("spark", spark) == []


@pytest.mark.spark
@pytest.mark.slow
def test_functions_fail_on_spark_as_in_presto(spark: Run) -> None:
    assert check_failures("spark", spark) == []
