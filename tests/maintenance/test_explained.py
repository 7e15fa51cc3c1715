"""What ``explain_maintenance`` tells of a table."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

from coordinator.maintenance.explained import explained
from coordinator.maintenance.inspection import Inspector
from coordinator.maintenance.lake import Lake
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.maintenance.store import MaintenanceStore
from shared.spi.maintenance import CommitRates, RowChanges
from tests.maintenance.cases import States
from tests.maintenance.states import NOW, partition


def test_writers_that_change_rows_are_named_with_their_gaps(tmp_path: Path) -> None:
    states, store = States(), MaintenanceStore(tmp_path / "m.db")
    key = states.add("t")
    changes = RowChanges(NOW - timedelta(minutes=9), 600.0, 540.0)
    part = partition(files=40, last_change=NOW - timedelta(days=1))
    states.known[key] = replace(states.known[key], partitions=(part,), rates=CommitRates(9, row_changes=changes))
    lake = cast(Lake, states)
    inspector = Inspector(MaintenanceSettings(), lambda: (), lake, store, lambda: NOW)
    lines = {(topic, name): text for topic, name, text in explained(key, inspector, lake, store, NOW)}
    assert lines["table", "row changes by others"] == (
        "the last at 2026-11-23 11:51:00 UTC, every 600 s at the median, one in twenty after 540 s"
    )
    assert "writers that change rows are at work" in lines["decision", "rewrite_data_files"]
