"""Plans of CALL as golden text in tests/plans. ``BLESS=1 pytest tests/planner`` writes the files anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows

PLANS = Path(__file__).parents[1] / "plans"
CALL = "CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'orders'"
CASES = {
    "call_rewrite": f"{CALL})",
    "call_rewrite_filter": f"{CALL}, filter => 'status = ''F'' AND price > 3 AND length(comment) > 2')",
    "call_rewrite_filter_partition": f"{CALL}, filter => 'status IN (''O'', ''F'') AND day BETWEEN DATE ''2026-01-01'' "
    "AND DATE ''2026-02-01''')",
    "call_rewrite_filter_null": f"{CALL}, where => 'comment IS NOT NULL AND price <> 3 OR orderkey IS NULL')",
    "call_rewrite_filter_contradiction": f"{CALL}, filter => 'orderkey > 5 AND orderkey < 3')",
    "call_rewrite_filter_true": f"{CALL}, filter => '1 = 1')",
    "call_rewrite_filter_false": f"{CALL}, filter => 'FALSE')",
    "call_rewrite_filter_unknown": f"{CALL}, filter => 'CAST(NULL AS boolean)')",
    "call_maintenance": "CALL system.clean_data_cache('ALL_WORKERS')",
    "call_coordinator": "CALL iceberg.system.rollback_to_snapshot('db', 'orders', 17)",
}


def explained(plan: Callable[..., PlannedStatement], text: str) -> str:
    work = plan(text).work
    assert isinstance(work, ReturnRows)
    return str(work.rows[0][0]).rstrip() + "\n"


@pytest.mark.parametrize("name", sorted(CASES))
def test_golden_plans(name: str, plan: Callable[..., PlannedStatement]) -> None:
    logical = explained(plan, f"EXPLAIN {CASES[name]}")
    distributed = explained(plan, f"EXPLAIN (TYPE DISTRIBUTED) {CASES[name]}")
    found = f"{CASES[name]}\n\n{logical}\n{distributed}"
    file = PLANS / f"{name}.plan"
    if os.environ.get("BLESS") == "1":
        file.write_text(found, encoding="utf-8")
    assert found == file.read_text(encoding="utf-8")


def test_every_golden_file_has_its_statement() -> None:
    assert {file.stem for file in PLANS.glob("call_*.plan")} == set(CASES)
