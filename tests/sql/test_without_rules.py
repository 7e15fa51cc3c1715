"""No answer depends on an optimizer rule: the statements of ``slt`` give their rows with every rule switched off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.engine.local import LocalEngine
from coordinator.optimizer.optimize import RULES
from shared.spi.session import Session
from tests.sql.sqllogictest import read
from tests.sql.test_slt import FILES, answer
from tests.tiers import FULL

pytestmark = pytest.mark.slow
OFF = Session(user="test", properties={f"optimizer_rule_{rule.name}": "false" for rule in RULES})


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    local = LocalEngine()
    yield local
    local.close()


def test_answers_are_the_same_without_rules(engine: LocalEngine) -> None:
    checkers = PlanCheckers()
    wrong = []
    records = [record for path in FILES for record in read(path)]
    for record in records if FULL else records[::2]:
        expected = record.lines if record.error is None else (record.error, *record.lines)
        actual = answer(record, engine, checkers, OFF)
        if actual != expected:
            wrong.append(f"{record.sql}\n  expected {expected}\n  actual   {actual}")
    assert wrong == []
