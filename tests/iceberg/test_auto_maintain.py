"""What auto_maintain decides and does: the rows stay, a second call finds nothing, a budget is kept."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from shared.errors import ProcessionError


def part(start: int, count: int = 50) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"row {i}" for i in ids]})


def maintain(lake: Any, **given: Any) -> dict[str, dict[str, Any]]:
    columns = [c.name for c in lake.procedure("auto_maintain").declaration.output]
    result = lake.call("auto_maintain", schema="db", table_name="t", **given)
    rows = [dict(zip(columns, row, strict=True)) for row in result.rows]
    assert [row["step"] for row in rows] == list(range(1, len(rows) + 1))
    assert all(row["reason"] for row in rows)
    return {row["procedure"]: row for row in rows}


def test_small_files_are_merged_once(lake: Any) -> None:
    lake.create("t", [part(i * 50) for i in range(8)])
    before, snapshot = lake.rows("t"), lake.table("t").current_snapshot()
    planned = maintain(lake, dry_run=True)["rewrite_data_files"]
    assert planned["action"] == "PLANNED"
    assert planned["reason"].startswith("8 data files become 1: ")
    assert lake.table("t").current_snapshot() == snapshot
    done = maintain(lake)["rewrite_data_files"]
    assert done["action"] == "DONE", done
    assert '"rewritten_data_files_count": 8' in done["result"]
    assert lake.rows("t") == before
    assert len(list(lake.table("t").scan().plan_files())) == 1
    after = lake.table("t").current_snapshot()
    assert maintain(lake)["rewrite_data_files"]["action"] == "SKIPPED"
    assert lake.table("t").current_snapshot() == after
    assert lake.orphans("t") == set()


def test_a_budget_of_bytes_is_kept(lake: Any) -> None:
    lake.create("t", [part(i * 50) for i in range(12)])
    sizes = [task.file.file_size_in_bytes for task in lake.table("t").scan().plan_files()]
    before = lake.rows("t")
    done = maintain(lake, budget_bytes=max(sizes) * 6)["rewrite_data_files"]
    assert done["action"] == "DONE", done
    assert 0 < done["estimated_bytes"] <= max(sizes) * 6
    assert "over the budget" in done["reason"]
    left = len(list(lake.table("t").scan().plan_files()))
    assert 1 < left < 12
    assert lake.rows("t") == before
    refused = maintain(lake, budget_bytes=1)["rewrite_data_files"]
    assert (refused["action"], refused["seconds"]) == ("SKIPPED", None)
    assert len(list(lake.table("t").scan().plan_files())) == left


def test_a_budget_is_kept_over_groups_of_different_sizes(lake: Any) -> None:
    """The groups come by their number of files: two large ones do not both fit, a small one behind them would."""
    schema = pa.schema([("p", pa.string()), ("id", pa.int64())])
    table = lake.other.create_table("db.t", schema=schema)
    table.update_spec().add_identity("p").commit()
    for name, files, rows in (("a", 10, 3000), ("c", 8, 1), ("b", 8, 3000)):
        for _ in range(files):
            table.append(pa.table({"p": [name] * rows, "id": random.sample(range(1 << 60), rows)}, schema))
    size = dict.fromkeys("abc", 0)
    for task in table.scan().plan_files():
        size[task.file.partition[0]] += task.file.file_size_in_bytes
    most = size["a"] + size["c"]
    done = maintain(lake, budget_bytes=most)["rewrite_data_files"]
    assert done["action"] == "DONE", done
    assert json.loads(done["result"])["rewritten_bytes_count"] == done["estimated_bytes"] <= most


def test_a_small_budget_merges_what_it_can(lake: Any) -> None:
    """Four files are fewer than min-input-files, and yet a step towards one file."""
    lake.create("t", [part(i * 50) for i in range(12)])
    sizes = [task.file.file_size_in_bytes for task in lake.table("t").scan().plan_files()]
    before, steps = lake.rows("t"), 0
    while (done := maintain(lake, budget_bytes=max(sizes) * 4)["rewrite_data_files"])["action"] == "DONE":
        assert done["estimated_bytes"] <= max(sizes) * 4
        steps += 1
    assert steps >= 2
    assert done["reason"].startswith(("every data file has the right size", "the first step needs"))
    assert len(list(lake.table("t").scan().plan_files())) < 5
    assert lake.rows("t") == before


def test_statistics_are_brought_up_to_date_where_there_are_some(lake: Any) -> None:
    lake.create("t", [part(0)])
    assert "taken for a choice" in maintain(lake)["compute_table_stats"]["reason"]
    lake.call("compute_table_stats", schema="db", table_name="t")
    assert maintain(lake)["compute_table_stats"]["action"] == "SKIPPED"
    lake.table("t").append(part(50))
    assert maintain(lake)["compute_table_stats"]["action"] == "DONE"
    newest = lake.table("t").current_snapshot().snapshot_id
    assert newest in {file.snapshot_id for file in lake.table("t").metadata.statistics}


def test_old_snapshots_and_dangling_deletes_are_seen(lake: Any, foreign: Any) -> None:
    from coordinator.connectors.iceberg.maintenance.maintenance_plan import Budget, Need, dangling_step, expire_step
    from shared.spi.procedure import TableTarget

    lake.create("t", [part(0), part(50)])
    foreign.delete_positions(lake.table("t"), {"file:///nowhere/x.parquet": [1]})
    table = lake.table("t")
    target = TableTarget("db", "t", table.current_snapshot().snapshot_id)
    now = datetime.now(UTC)
    assert dangling_step(Need(table, target, now, Budget())).reason.startswith("1 delete files apply to no data file")
    unneeded = expire_step(Need(table, target, now, Budget()))
    assert unneeded.arguments is None
    assert unneeded.reason == "beside the newest 1, no snapshot is older than 5 days"
    later = expire_step(Need(table, target, now + timedelta(days=6), Budget()))
    assert later.reason.startswith("2 snapshots are older than 5 days")


def test_empty_tables_and_wrong_budgets(lake: Any) -> None:
    lake.other.create_table("db.t", schema=part(0).schema)
    assert {row["action"] for row in maintain(lake).values()} == {"SKIPPED"}
    with pytest.raises(ProcessionError, match="budget_seconds must be greater than 0, got: 0"):
        maintain(lake, budget_seconds=0)


def test_snapshots_that_a_branch_keeps_by_its_own_age_stay(lake: Any) -> None:
    """Beside what expire_snapshots itself drops."""
    from coordinator.connectors.iceberg.maintenance.maintenance_plan import Budget, Need, expire_step
    from shared.spi.procedure import TableTarget

    lake.create("t", [part(0), part(50), part(100)])
    year = 365 * 24 * 3_600_000
    lake.call("create_branch", schema="db", table_name="t", branch="kept", max_snapshot_age_ms=year)
    table = lake.table("t")
    target = TableTarget("db", "t", table.current_snapshot().snapshot_id)
    later = datetime.now(UTC) + timedelta(days=6)
    assert expire_step(Need(table, target, later, Budget())).arguments is None
    far = datetime.now(UTC) + timedelta(days=400)
    assert expire_step(Need(table, target, far, Budget())).arguments is not None
