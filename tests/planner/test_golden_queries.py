"""Plans of queries as golden text in tests/plans/queries, over tables and statistics that never change.

``BLESS=1 pytest tests/planner`` (``make bless``) writes the files anew: read their diff.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import ReturnRows
from shared.spi.session import Session
from tests.fixed_catalogs import FixedCatalogs
from tests.planner.golden_queries import OURS, PRESTO

PLANS = Path(__file__).parents[1] / "plans" / "queries"
CASES = PRESTO | OURS
SESSION = Session(user="test", catalog="tpch", schema="tiny")


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> FixedCatalogs:
    return FixedCatalogs(tmp_path_factory.mktemp("tpch"))


def explained(sql: str, catalogs: FixedCatalogs) -> str:
    work = plan_statement(f"EXPLAIN (TYPE DISTRIBUTED) {sql}", SESSION, catalogs, PlanCheckers()).work
    assert isinstance(work, ReturnRows)
    return re.sub(r" \(\d+:\d+\)$", "", str(work.rows[0][0]).rstrip(), flags=re.MULTILINE)


@pytest.mark.parametrize("name", sorted(CASES))
def test_golden_plan(name: str, fixed: FixedCatalogs) -> None:
    found = f"{CASES[name]}\n\n{explained(CASES[name], fixed)}\n"
    file = PLANS / f"{name}.plan"
    if os.environ.get("BLESS") == "1":
        file.write_text(found, encoding="utf-8")
    assert found == file.read_text(encoding="utf-8")


def test_every_golden_file_has_its_query() -> None:
    assert {file.stem for file in PLANS.glob("*.plan")} == set(CASES)
