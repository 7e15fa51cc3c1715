"""A lake of twenty tables that the service keeps while writers of four kinds are at work (``benchmarks/lake``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.lake.by_service import by_service
from benchmarks.lake.schedule import members

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.full("writers and ledgers: iceberg/test_lake_writers; the service: test_maintenance_service"),
]


def test_a_day_of_writers_leaves_a_lake_in_order(tmp_path: Path) -> None:
    found = by_service(tmp_path, members(20), 60)
    assert found["settled"]
    assert found["worst_ratio"] <= 2.0
    wanted = {"files_over": 0, "rows_wrong": 0, "writers_failed": 0, "unexplained": 0, "budget_held": True}
    assert {name: found[name] for name in wanted} == wanted
