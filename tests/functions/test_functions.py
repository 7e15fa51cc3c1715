"""Presto's functions on both engines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.engine.local import LocalEngine
from tests.execution import FakeExecution as Execution
from tests.functions.aggregate_cases import AGGREGATES, EMPTY, ROWS, WINDOWS
from tests.functions.cases import CASES, FAILURES
from tests.functions.geometry_cases import GEOMETRY, GEOMETRY_AGGREGATES
from tests.functions.merge_cases import MERGES, statement
from tests.functions.runner import Run, answer, answers, columns, wrong
from tests.tiers import FULL


@pytest.fixture(scope="module")
def local() -> Iterator[Run]:
    engine = LocalEngine()
    yield lambda sql: engine.run(sql, Execution())
    engine.close()


@pytest.fixture(scope="module")
def spark(spark_engine: Any) -> Run:
    return lambda sql: spark_engine.run(sql, Execution())


def asked(dialect: str, cases: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Of Spark every third one; all of them in a full run."""
    found = list(cases)
    return found[::3] if dialect == "spark" and not FULL else found


def check(dialect: str, run: Run) -> list[str]:
    cases = asked(dialect, (*CASES, *GEOMETRY))
    expressions = [e for e, _ in cases]
    return wrong(expressions, answers(expressions, dialect, run), [x for _, x in cases])


def check_failures(dialect: str, run: Run) -> list[str]:
    found = [answer(f"SELECT {e} AS c", dialect, run) for e, _, _ in FAILURES]
    return wrong([e for e, _, _ in FAILURES], found, [f[1:] for f in FAILURES])


def check_aggregates(dialect: str, run: Run) -> list[str]:
    table = f"FROM ({ROWS}) AS t(k, v, x, b, m)"
    found = []
    some = asked(dialect, (*AGGREGATES, *GEOMETRY_AGGREGATES))
    for cases, source in ((some, table), (EMPTY, f"{table} WHERE v > 9")):
        rows = answers([e for e, _ in cases], dialect, run, source)
        found += wrong([e for e, _ in cases], rows, [x for _, x in cases])
    merged = [statement(outer, inner) for outer, inner, _ in MERGES]
    found += wrong(merged, [answer(text, dialect, run) for text in merged], [[[x]] for _, _, x in MERGES])
    rows = columns([e for e, _ in WINDOWS], dialect, run, table)
    return found + wrong([e for e, _ in WINDOWS], rows, [x for _, x in WINDOWS])


def test_the_local_engine_knows_prestos_aggregates(local: Run) -> None:
    assert check_aggregates("duckdb", local) == []


@pytest.mark.spark
@pytest.mark.slow
def test_spark_knows_prestos_aggregates(spark: Run) -> None:
    assert check_aggregates("spark", spark) == []


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


_MARK = re.compile(r"\| (vectorised|program) \|")


def test_every_function_of_the_page_has_a_case() -> None:
    """A row of docs/functions.md with a mark has an expression here, which both engines answer."""
    page = (Path(__file__).parents[2] / "docs" / "functions.md").read_text(encoding="utf-8")
    claimed = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `") and _MARK.search(line)}
    expressions = [e for e, _ in (*CASES, *GEOMETRY, *AGGREGATES, *GEOMETRY_AGGREGATES, *EMPTY, *WINDOWS)] + [
        e for e, _, _ in MERGES
    ]
    asked = " ".join(expressions).lower()
    named = set(re.findall(r"[a-z_0-9]+", asked))
    assert sorted(claimed - named) == []
