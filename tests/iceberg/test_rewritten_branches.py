"""rewrite_data_files of a branch by our kernels: the branch's rows stay as PyIceberg reads them, and main as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import EqualTo, LessThan
from pyiceberg.table.refs import SnapshotRefType

from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.rewrite.committing.fencing import refuse_late
from shared.errors import ErrorCode, ProcessionError
from tests.iceberg.rest_catalog import serving
from tests.iceberg.test_carried_deletes import _positions, add_vector, files, meanwhile, numbers
from tests.iceberg.test_rest_catalog import over_rest

SORT: dict[str, Any] = {"strategy": "sort", "sorted_by": ["name"]}
PARTIAL = {"options": {"partial-progress.enabled": "true", "rewrite-all": "true", "max-file-group-input-files": "3"}}
ALL = {"options": {"rewrite-all": "true"}}


@pytest.fixture
def table(lake: Any) -> Any:
    """Two files that both branches have, two of main's own and four of the branch's."""
    table = lake.create("t", [numbers(0, 100), numbers(100, 100)])
    with table.manage_snapshots() as change:
        change.create_branch(table.current_snapshot().snapshot_id, "side")
    for i in range(2, 6):
        table.append(numbers(100 * i, 100), branch="side")
    head, ages = table.snapshot_by_name("side").snapshot_id, {"max_snapshot_age_ms": 5, "max_ref_age_ms": 9}
    with table.manage_snapshots() as change:
        change.create_branch(head, "side", min_snapshots_to_keep=7, **ages)
    for i in (8, 9):
        table.append(numbers(100 * i, 100))
    return table


def ids(table: Any, branch: str) -> list[int]:
    table.refresh()
    rows = table.scan(snapshot_id=table.snapshot_by_name(branch).snapshot_id).to_arrow()
    return sorted(rows["id"].to_pylist())


def live(table: Any, branch: str = "side") -> Any:
    table.refresh()
    return read_live(table, table.snapshot_by_name(branch))


MAIN = [*range(200), *range(800, 1000)]


@pytest.mark.parametrize(
    "given", [{}, SORT | ALL, PARTIAL, SORT | PARTIAL], ids=["packed", "sorted", "in steps", "sorted in steps"]
)
def test_the_branch_moves_alone_and_keeps_its_ages(lake: Any, table: Any, given: dict[str, Any]) -> None:
    main, old = table.current_snapshot(), table.snapshot_by_name("side")
    result = lake.rewrite("t", branch="side", **given)
    assert lake.workers.statements == []
    assert result["rewritten_data_files_count"] == 6 > result["added_data_files_count"]
    assert (ids(table, "side"), ids(table, "main")) == ([*range(600)], MAIN)
    assert table.current_snapshot() == main
    line, head = [], table.snapshot_by_name("side")
    while head.snapshot_id != old.snapshot_id:
        line.append(head)
        head = table.snapshot_by_id(head.parent_snapshot_id)
    assert len(line) == (2 if given.get("options") == PARTIAL["options"] else 1)
    assert {snapshot.summary.operation.value for snapshot in line} == {"replace"}
    assert line[0].summary.additional_properties["total-records"] == "600"
    ref = table.metadata.refs["side"]
    assert (ref.min_snapshots_to_keep, ref.max_snapshot_age_ms, ref.max_ref_age_ms) == (7, 5, 9)
    assert lake.orphans("t") == set()


def test_a_dry_run_of_a_branch_names_our_kernels(lake: Any, table: Any) -> None:
    before = table.metadata
    result = lake.call(
        "rewrite_data_files", schema="db", table_name="t", options={}, branch="side", dry_run=True
    )  # fmt: skip
    (row,) = result.rows
    assert (row[3], row[8]) == (6, "rewrite")
    assert table.refresh().metadata == before


@pytest.mark.parametrize("given", [ALL, SORT | ALL], ids=["packed", "sorted"])
def test_deletes_of_the_branch_are_applied_and_carried_and_those_of_main_are_not(
    lake: Any, table: Any, foreign: Any, given: dict[str, Any]
) -> None:
    paths = files(lake) | {int.from_bytes(f.file.lower_bounds[1], "little"): f.path for f in live(table).data}
    foreign.delete_positions(table, {paths[0]: [1], paths[400]: [2]}, branch="side")
    foreign.delete_equal(table, pa.table({"id": pa.array([150], pa.int64())}), branch="side")
    foreign.delete_positions(table, {paths[0]: [90]})

    def arrive() -> None:
        foreign.delete_positions(lake.table("t"), {paths[0]: [3], paths[500]: [99]}, branch="side")
        foreign.delete_positions(lake.table("t"), {paths[100]: [7], paths[800]: [0]})
        lake.table("t").append(numbers(600, 10), branch="side")

    meanwhile(lake, arrive)
    assert lake.rewrite("t", branch="side", **given)["rewritten_data_files_count"] == 6
    gone = {1, 402, 150, 3, 599}
    assert ids(table, "side") == [i for i in range(610) if i not in gone]
    assert ids(table, "main") == [i for i in MAIN if i not in {90, 107, 800}]
    assert len(live(table).data) == 2
    assert lake.orphans("t") == set()


def drop(lake: Any) -> None:
    with lake.table("t").manage_snapshots() as change:
        change.remove_branch("side")


def become_a_tag(lake: Any) -> None:
    table = lake.table("t")
    drop(lake)
    with lake.table("t").manage_snapshots() as change:
        change.create_tag(table.snapshot_by_name("side").snapshot_id, "side")


def lose_rows(lake: Any) -> None:
    lake.table("t").delete(LessThan("id", 500), branch="side")


@pytest.mark.parametrize("action", [drop, become_a_tag, lose_rows])
def test_what_happened_to_the_branch_meanwhile_is_a_conflict(
    lake: Any, table: Any, action: Callable[[Any], None]
) -> None:
    main = table.current_snapshot()
    meanwhile(lake, lambda: action(lake))
    with pytest.raises(ProcessionError) as failure:
        lake.rewrite("t", branch="side")
    assert (failure.value.code, failure.value.retriable) == (ErrorCode.TRANSACTION_CONFLICT, True)
    refs = table.refresh().metadata.refs
    assert table.current_snapshot() == main
    assert "side" not in refs or refs["side"].snapshot_ref_type is SnapshotRefType.TAG or 5 not in ids(table, "side")
    assert lake.orphans("t") == set()


def test_rows_that_main_lost_meanwhile_are_no_conflict(lake: Any, table: Any) -> None:
    meanwhile(lake, lambda: lake.table("t").delete(EqualTo("id", 5)))
    lake.rewrite("t", branch="side")
    assert (ids(table, "side"), ids(table, "main")) == ([*range(600)], [i for i in MAIN if i != 5])


def test_a_commit_that_may_be_under_way_is_refused_on_its_branch(lake: Any, table: Any) -> None:
    """Over a server: a branch that has the snapshot that was read gets another head, and others keep theirs."""
    base = table.snapshot_by_name("side").snapshot_id
    with table.manage_snapshots() as change:
        change.create_branch(table.current_snapshot().snapshot_id, "other")
    rows, other = ids(table, "side"), table.snapshot_by_name("other")
    with serving(lake.other) as address:
        connector = over_rest(lake, address)
        refuse_late(connector.tables_of.open("db", "t"), "some-call", base)
        connector.close()
    assert ids(table, "side") == rows
    head = table.snapshot_by_name("side")
    assert (head.parent_snapshot_id, head.summary.operation.value) == (base, "replace")
    assert table.metadata.refs["side"].min_snapshots_to_keep == 7
    assert table.snapshot_by_name("other") == other


def test_deletes_and_manifests_of_a_branch_are_worked_on_alone(lake: Any, table: Any, foreign: Any) -> None:
    """Equality deletes become positions, dangling ones go, manifests are joined; main has its own."""
    for branch in ("side", "main"):
        foreign.delete_equal(table, pa.table({"id": pa.array([5, 150], pa.int64())}), branch=branch)
    main, given = table.refresh().current_snapshot(), {"schema": "db", "table_name": "t", "branch": "side"}
    (planned,) = lake.call("convert_equality_deletes", dry_run=True, **given).rows
    assert planned[3] == 6
    assert lake.call("convert_equality_deletes", **given).rows == [[1, 2, 2]]
    assert ids(table, "side") == [i for i in range(600) if i not in (5, 150)]
    foreign.delete_positions(table, {"file:///nowhere": [1]}, branch="side")
    assert lake.call("remove_dangling_deletes", dry_run=True, **given).rows[0][1] == "POSITION_DELETES"
    assert lake.call("remove_dangling_deletes", **given).rows == [[1]]
    ((before, after),) = lake.call("rewrite_manifests", **given).rows
    assert before > after == 2
    assert lake.call("rewrite_manifests", **given).rows == [[0, 0]]
    assert ids(table, "side") == [i for i in range(600) if i not in (5, 150)]
    assert table.current_snapshot() == main
    assert [d.is_position_delete for d in live(table, "main").deletes] == [False]
    assert lake.orphans("t") == set()
    for name in ("convert_equality_deletes", "remove_dangling_deletes", "rewrite_manifests"):
        with pytest.raises(ProcessionError, match="Branch does not exist: nobody"):
            lake.call(name, **{**given, "branch": "nobody"})


def rows_with_ids(table: Any, branch: str) -> set[str]:
    """Rows that live on a branch with their row ids, from the files alone."""
    found = live(table, branch)
    deleted = {d.only_data_file: _positions(d) for d in found.deletes}
    rows = set()
    for data in found.data:
        stored = pq.read_table(data.path.removeprefix("file:")).to_pylist()
        for place, row in enumerate(stored):
            if place not in deleted.get(data.key, []):
                written = row.pop("_row_id", None)
                row.pop("_last_updated_sequence_number", None)
                rows.add(f"{data.first_row_id + place if written is None else written} {sorted(row.items())}")
    assert len(rows) == sum(f.file.record_count for f in found.data) - sum(map(len, deleted.values()))
    return rows


@pytest.mark.parametrize("given", [{}, {"strategy": "sort", "sorted_by": ["id DESC"]}], ids=["packed", "sorted"])
def test_a_branch_of_version_three_keeps_row_ids_and_carries_vectors(
    java_lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    """Over a table that Iceberg Java made."""
    monkeypatch.chdir(tmp_path)
    fx = java_lake(tmp_path)
    fx.call("create_branch", schema="fx", table_name="v3_dv", branch="side")
    table = fx.other.load_table("fx.v3_dv")
    before, main = rows_with_ids(table, "side"), table.current_snapshot()
    data = max(live(table).data, key=lambda file: file.file.record_count)
    known = {d.only_data_file: d for d in live(table).deletes}
    deleted = [] if data.key not in known else _positions(known[data.key])
    gone = next(i for i in range(data.file.record_count) if i not in deleted)
    meanwhile(fx, lambda: add_vector(fx.connector.tables_of.open("fx", "v3_dv"), data, [*deleted, gone], branch="side"))
    fx.rewrite("v3_dv", {"rewrite-all": "true"}, branch="side", **given)
    table = fx.other.load_table("fx.v3_dv")
    after = rows_with_ids(table, "side")
    assert len(after) == len(before) - 1
    assert after < before
    assert table.current_snapshot() == main
    assert rows_with_ids(table, "main") == before
