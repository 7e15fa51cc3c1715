"""Every statement of ``slt/*.slt`` on the embedded engine, through the whole planning line and its checks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.dispatch.encode import encode_rows
from coordinator.engine.local import LocalEngine
from coordinator.planning.plan_statement import plan_statement
from coordinator.values.arrow_types import rows_to_batch
from coordinator.vocabulary.planned_statement import ReturnRows, RunLocally
from shared.errors import ProcessionError
from shared.plan.types import parse_type
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.sql.sqllogictest import Record, read, rows_of

pytestmark = pytest.mark.slow

SESSION = Session(user="test")
FILES = sorted((Path(__file__).parent / "slt").glob("*.slt"))


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    local = LocalEngine()
    yield local
    local.close()


def answer(record: Record, engine: LocalEngine, checkers: PlanCheckers, session: Session = SESSION) -> tuple[str, ...]:
    """The lines that the record should have."""
    try:
        planned = plan_statement(record.sql, session, Catalogs([]), checkers)
        if planned.subplan is not None:
            checkers.validate_built_in_fragments(planned.subplan)
        rows = _rows(planned, engine)
    except ProcessionError as error:
        if record.error is None:
            return (f"{error.code.name}: {error.wire_message}",)
        return error.code.name, *error.wire_message.split("\n")
    return rows_of(rows, sort=record.sort)


def _rows(planned: Any, engine: LocalEngine) -> list[Any]:
    kinds = tuple(parse_type(column.type) for column in planned.columns)
    match planned.work:
        case ReturnRows():
            batches = iter([rows_to_batch(planned.columns, planned.work.rows)])
        case RunLocally():
            batches = engine.run(planned.work.sql, FakeExecution())
        case other:
            raise AssertionError(f"not answered here: {other}")
    return [row for batch in batches for row in json.loads(b"[" + encode_rows(batch, kinds, False) + b"]")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_statements_answer_as_presto(path: Path, engine: LocalEngine) -> None:
    checkers = PlanCheckers()
    wrong = []
    for record in read(path):
        expected = record.lines if record.error is None else (record.error, *record.lines)
        actual = answer(record, engine, checkers)
        if actual != expected:
            wrong.append(f"{path.name}:{record.line}: {record.sql}\n  expected {expected}\n  actual   {actual}")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong)


def test_there_are_enough() -> None:
    assert sum(len(read(path)) for path in FILES) >= 600
