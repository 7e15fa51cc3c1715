"""Functions, operators, casts and literals against the answers of a real Presto: see ``tests.functions.recorded``."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator

import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.engine.local import LocalEngine
from tests.functions.recorded import alike, answer, exceptions, recorded

pytestmark = pytest.mark.slow

FULL = os.environ.get("PROCESSION_TEST_FULL") == "1"
_PART = 4
"""One statement of so many is asked when not all are."""


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    local = LocalEngine()
    yield local
    local.close()


def _asked(sql: str) -> bool:
    return FULL or zlib.crc32(sql.encode()) % _PART == 0


def test_functions_answer_as_a_real_presto(engine: LocalEngine) -> None:
    checkers, excepted = PlanCheckers(), exceptions()
    wrong = []
    for theirs in recorded():
        sql = theirs["sql"]
        if not _asked(sql) or sql in excepted:
            continue
        ours = answer(sql, engine, checkers)
        if not alike(ours, theirs):
            wrong.append(f"{sql}\n  ours   {ours}\n  Presto {theirs}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong)


@pytest.mark.skipif(not FULL, reason="a function that arrives elsewhere should not fail the short run")
def test_what_is_excepted_still_differs(engine: LocalEngine) -> None:
    """A statement that has come right leaves the list."""
    checkers, excepted = PlanCheckers(), exceptions()
    theirs = {line["sql"]: line for line in recorded()}
    assert excepted.keys() <= theirs.keys()
    right = [sql for sql in excepted if alike(answer(sql, engine, checkers), theirs[sql])]
    assert right == []


def test_there_are_enough() -> None:
    lines = recorded()
    assert len(lines) > 8000
    assert len(exceptions()) < len(lines) // 20
