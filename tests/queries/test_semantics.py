"""Presto's answers from both engines: Spark behind the service, the local engine in this process."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import httpx
import pytest

from coordinator.connectors.iceberg.relations import catalog_table
from coordinator.connectors.registry import Catalogs
from coordinator.dispatch.encode import encode_rows
from coordinator.engine.local import LocalEngine
from coordinator.planner.query import plan_query
from coordinator.sql.parser import parse_query
from coordinator.unparser import work_of
from coordinator.vocabulary.planned_statement import RunLocally
from shared.errors import ProcessionError
from shared.plan.types import parse_type
from shared.spi.session import Session
from tests.e2e.service import Service
from tests.execution import FakeExecution
from tests.queries.cases import ERRORS, FUNCTIONS, RELATIONS, SEMANTICS, TYPES
from tests.tiers import FULL

ON_SPARK = ", region WHERE r_regionkey = 0"
BESIDE_A_TABLE = "(SELECT 1 AS one FROM region WHERE r_regionkey = 0) CROSS JOIN"
Answer = Any
Cell = tuple[str, str, Any]
"""An expression, the row of its columns, and what Presto answers."""


def statement(expression: str, row: str) -> str:
    """The expression over one row whose columns are a, b, c."""
    return f"SELECT {expression} AS x FROM (VALUES ({row})) AS t({', '.join(names(row))})"


def names(row: str) -> str:
    """A letter a column."""
    depth, columns, quoted = 0, 1, False
    for character in row:
        quoted ^= character == "'"
        if not quoted:
            depth += (character in "([") - (character in ")]")
            columns += character == "," and depth == 0
    return "abc"[:columns]


def numbered(expression: str, number: int) -> str:
    """The same over columns of that number, whose letters in quotes stay."""
    parts = re.split(r"('[^']*')", expression)
    return "".join(part if part[:1] == "'" else re.sub(r"\b([abc])\b", rf"\g<1>{number}", part) for part in parts)


def locally(text: str, engine: LocalEngine) -> Answer:
    """Rows, an error's (name, message), or None for what goes to Spark."""
    try:
        plan = plan_query(parse_query(text), Session(user="test"), Catalogs([]))
        work = work_of(plan.root, catalog_table)
        if not isinstance(work, RunLocally):
            return None
        types = tuple(parse_type(column.type) for column in plan.columns)
        batches = list(engine.run(work.sql, FakeExecution()))
        return [row for batch in batches for row in json.loads(b"[" + encode_rows(batch, types, False) + b"]")]
    except ProcessionError as error:
        return error.code.name, error.wire_message


def over_http(service: Service, text: str) -> Answer:
    """Without the native checker: the question is what Spark answers, also where Velox lacks a type or a function."""
    headers = {"X-Presto-User": "tester", "X-Presto-Catalog": "iceberg", "X-Presto-Schema": "tpch"}
    headers["X-Presto-Session"] = "native_plan_checker_enabled=false,engine=SPARK"
    with httpx.Client(headers=headers, timeout=60) as client:
        page = client.post(f"{service.url}/v1/statement", content=text.encode()).json()
        rows = page.get("data") or []
        while "nextUri" in page:
            page = client.get(page["nextUri"]).json()
            rows += page.get("data") or []
    return (page["error"]["errorName"], page["error"]["message"]) if "error" in page else rows


def batched(cells: Sequence[Cell], size: int = 20) -> list[Sequence[Cell]]:
    return [cells[at : at + size] for at in range(0, len(cells), size)]


def cells_on_spark(service: Service, cells: Sequence[Cell]) -> list[Answer]:
    """What each expression over its row answers, asked over one row of all columns; one by one where that fails."""
    shown = ", ".join(f"{numbered(expression, number)} AS x{number}" for number, (expression, _, _) in enumerate(cells))
    columns = ", ".join(f"{name}{number}" for number, (_, row, _) in enumerate(cells) for name in names(row))
    one = f"SELECT {shown} FROM (VALUES ({', '.join(row for _, row, _ in cells)})) AS t({columns})"
    answer = over_http(service, f"SELECT {', '.join(f'x{n}' for n in range(len(cells)))} FROM ({one}) AS q{ON_SPARK}")
    if isinstance(answer, tuple):
        return [over_http(service, statement(expression, row) + ON_SPARK) for expression, row, _ in cells]
    (row,) = answer
    return [[[cell]] for cell in row]


def same(actual: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(actual, float):
        return math.isclose(actual, expected, rel_tol=1e-9)
    if isinstance(expected, list) and isinstance(actual, list):
        return len(actual) == len(expected) and all(map(same, actual, expected))
    return type(actual) is type(expected) and bool(actual == expected)


def wrong(answers: Iterable[tuple[str, Answer, Any]]) -> list[str]:
    return [f"{text}\n  {actual!r}\n  {expected!r}" for text, actual, expected in answers if not same(actual, expected)]


CELLS = [*SEMANTICS, *FUNCTIONS, *TYPES]
VALUES = [(statement(e, row), [[expected]]) for e, row, expected in CELLS]


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    local = LocalEngine()
    yield local
    local.close()


@pytest.mark.slow
def test_the_local_engine_answers_as_presto(engine: LocalEngine) -> None:
    cases = VALUES + [(text.format(one=""), expected) for text, expected in RELATIONS]
    answers = [(text, locally(text, engine), expected) for text, expected in cases]
    assert wrong(a for a in answers if a[1] is not None) == []
    beyond = sum(actual is None for _, actual, _ in answers)
    assert beyond <= 10, "so many go to Spark although they read no table"


def test_the_local_engine_fails_as_presto(engine: LocalEngine) -> None:
    answers = [(e, locally(statement(e, row), engine), (name, message)) for e, row, name, message in ERRORS]
    assert wrong(answers) == []


@pytest.mark.spark
@pytest.mark.slow
def test_spark_answers_as_presto(queries: Service) -> None:
    asked = RELATIONS if FULL else RELATIONS[::2]  # all of them are asked of the embedded engine
    cases = [(text.format(one=BESIDE_A_TABLE), expected) for text, expected in asked]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda case: over_http(queries, case[0]), cases))
        cells = list(chain.from_iterable(pool.map(lambda some: cells_on_spark(queries, some), batched(CELLS))))
    assert wrong((c[0], a, c[1]) for c, a in zip(cases, answers, strict=True)) == []
    assert wrong((c[0], a, c[1]) for c, a in zip(VALUES, cells, strict=True)) == []


@pytest.mark.spark
@pytest.mark.slow
def test_constants_arrive_as_presto_shows_them(queries: Service) -> None:
    """The same types once more, answered while they are planned."""
    answers = [(value, over_http(queries, f"SELECT {value}"), [[cell]]) for _, value, cell in TYPES]
    assert wrong(answers) == []


@pytest.mark.spark
@pytest.mark.slow
def test_spark_fails_as_presto(queries: Service) -> None:
    """Spark does not tell the operands of an overflow; the rest of the text is Presto's."""
    answers = []
    for e, row, name, message in ERRORS:
        told = message.partition(": ")[0] if "overflow" in message else message
        answers.append((e, over_http(queries, statement(e, row) + ON_SPARK), (name, told)))
    assert wrong(answers) == []
