"""Procedures that move references, read back by PyIceberg; Iceberg's own answers are in test_spark_catalogue.py."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table.refs import SnapshotRefType

from coordinator.connectors.iceberg.metadata_tables.names import base_name
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ArgumentError


def numbers(start: int, count: int = 5) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + count), pa.int64())})


@pytest.fixture
def ids(lake: Any) -> list[int]:
    """Snapshot ids of a table ``t`` with four appends, oldest first."""
    table = lake.create("t", [numbers(i * 10) for i in range(4)])
    return [snapshot.snapshot_id for snapshot in table.snapshots()]


def call(lake: Any, procedure: str, **given: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in lake.call(procedure, schema="db", table_name="t", **given).rows]


def refused(lake: Any, procedure: str, argument: str, message: str, **given: Any) -> ArgumentError:
    """The call is refused at an argument, and changes nothing."""
    before = lake.table("t").metadata_location
    with pytest.raises(ProcessionError) as failure:
        call(lake, procedure, **given)
    assert failure.value.message == message
    assert isinstance(failure.value.__cause__, ArgumentError)
    assert failure.value.__cause__.argument == argument
    assert lake.table("t").metadata_location == before
    return failure.value.__cause__


def test_rollback_to_snapshot_and_its_refusals(lake: Any, ids: list[int]) -> None:
    assert call(lake, "rollback_to_snapshot", snapshot_id=ids[1]) == [(ids[3], ids[1])]
    assert lake.rows("t") == [(i,) for i in [*range(5), *range(10, 15)]]
    error = refused(
        lake, "rollback_to_snapshot", "snapshot_id", "Cannot roll back to unknown snapshot id: 7", snapshot_id=7
    )
    assert error.code is ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID
    message = f"Cannot roll back to snapshot, not an ancestor of the current state: {ids[3]}"
    refused(lake, "rollback_to_snapshot", "snapshot_id", message, snapshot_id=ids[3])


def test_rollback_keeps_the_retention_of_main(lake: Any, ids: list[int]) -> None:
    with lake.table("t").manage_snapshots() as manage:
        manage.create_branch(ids[3], "main", min_snapshots_to_keep=7)
    call(lake, "rollback_to_snapshot", snapshot_id=ids[0])
    assert lake.table("t").refs()["main"].min_snapshots_to_keep == 7


def test_rollback_to_timestamp_takes_the_newest_before_it(lake: Any, ids: list[int]) -> None:
    stamps = [s.timestamp_ms for s in lake.table("t").snapshots()]
    at = datetime.fromtimestamp(stamps[2] / 1000, UTC).replace(tzinfo=None)
    assert call(lake, "rollback_to_timestamp", timestamp=at) == [(ids[3], ids[1])]
    early = datetime(2001, 1, 1)
    message = f"Cannot roll back, no valid snapshot older than: {978307200000}"
    refused(lake, "rollback_to_timestamp", "timestamp", message, timestamp=early)
    assert call(lake, "rollback_to_timestamp", timestamp=at + timedelta(days=1)) == [(ids[1], ids[1])]


def test_rollback_to_a_moment_with_a_zone(lake: Any, ids: list[int]) -> None:
    at = datetime.fromtimestamp(lake.table("t").snapshots()[2].timestamp_ms / 1000, UTC)
    session = replace(lake.context().session, time_zone="Asia/Tokyo")
    lake.context = lambda plain=lake.context: replace(plain(), session=session)
    assert call(lake, "rollback_to_timestamp", timestamp=at) == [(ids[3], ids[1])]


def test_set_current_snapshot_need_not_be_an_ancestor(lake: Any, ids: list[int]) -> None:
    call(lake, "create_tag", tag="newest")
    call(lake, "rollback_to_snapshot", snapshot_id=ids[0])
    assert call(lake, "set_current_snapshot", ref="newest") == [(ids[0], ids[3])]
    assert call(lake, "set_current_snapshot", snapshot_id=ids[2]) == [(ids[3], ids[2])]
    assert lake.table("t").current_snapshot().snapshot_id == ids[2]
    both = "Either snapshot_id or ref must be provided, not both"
    refused(lake, "set_current_snapshot", "ref", both)
    refused(lake, "set_current_snapshot", "ref", both, snapshot_id=ids[0], ref="newest")
    refused(lake, "set_current_snapshot", "ref", "Cannot find matching snapshot ID for ref nope", ref="nope")


def test_branches_and_tags(lake: Any, ids: list[int]) -> None:
    assert call(lake, "create_branch", branch="b", snapshot_id=ids[0], min_snapshots_to_keep=3) == [("b", None, ids[0])]
    assert call(lake, "create_tag", tag="v", max_ref_age_ms=1000) == [("v", None, ids[3])]
    assert call(lake, "create_tag", tag="v", if_not_exists=True) == [("v", ids[3], ids[3])]
    assert call(lake, "replace_tag", tag="v", snapshot_id=ids[1]) == [("v", ids[3], ids[1])]
    assert call(lake, "replace_branch", branch="b", snapshot_id=ids[2], max_snapshot_age_ms=5) == [
        ("b", ids[0], ids[2])
    ]
    refs = lake.table("t").refs()
    assert (refs["v"].snapshot_id, refs["v"].max_ref_age_ms) == (ids[1], 1000)
    branch = refs["b"]
    assert (branch.snapshot_id, branch.min_snapshots_to_keep, branch.max_snapshot_age_ms) == (ids[2], 3, 5)
    assert branch.snapshot_ref_type is SnapshotRefType.BRANCH
    assert call(lake, "show_refs") == [
        ("b", "BRANCH", ids[2], None, 3, 5),
        ("main", "BRANCH", ids[3], None, None, None),
        ("v", "TAG", ids[1], 1000, None, None),
    ]
    assert call(lake, "drop_branch", branch="b") == [("b", ids[2], None)]
    assert call(lake, "drop_tag", tag="v") == [("v", ids[1], None)]
    assert call(lake, "drop_tag", tag="v", if_exists=True) == [("v", None, None)]
    assert set(lake.table("t").refs()) == {"main"}


def test_refusals_of_branches_and_tags(lake: Any, ids: list[int]) -> None:
    call(lake, "create_branch", branch="b")
    call(lake, "create_tag", tag="v")
    refused(lake, "create_tag", "tag", "Ref b already exists", tag="b", if_not_exists=True)
    refused(lake, "create_branch", "branch", "Ref b already exists", branch="b")
    refused(lake, "replace_tag", "tag", "Ref b is a branch not a tag", tag="b")
    refused(lake, "drop_branch", "branch", "Ref v is a tag not a branch", branch="v")
    refused(lake, "drop_tag", "tag", "Tag does not exist: nope", tag="nope")
    refused(lake, "drop_branch", "branch", "Branch does not exist: nope", branch="nope")
    refused(lake, "drop_branch", "branch", "Cannot remove main branch", branch="main")
    refused(lake, "create_tag", "snapshot_id", "Cannot set x to unknown snapshot: 5", tag="x", snapshot_id=5)
    refused(
        lake, "create_branch", "min_snapshots_to_keep", "Min snapshots to keep must be greater than 0",
        branch="x", min_snapshots_to_keep=0,
    )  # fmt: skip


def test_a_branch_of_an_empty_table_is_refused(lake: Any) -> None:
    lake.other.create_table("db.t", schema=numbers(0).schema)
    refused(lake, "create_branch", "table_name", "Cannot create or replace branch: main has no snapshot", branch="b")


def test_fast_forward(lake: Any, ids: list[int]) -> None:
    call(lake, "create_branch", branch="old", snapshot_id=ids[0])
    call(lake, "create_tag", tag="v", snapshot_id=ids[2])
    assert call(lake, "fast_forward", branch="old", to="v") == [("old", ids[0], ids[2])]
    assert call(lake, "fast_forward", branch="old", to="main") == [("old", ids[2], ids[3])]
    assert call(lake, "fast_forward", branch="old", to="main") == [("old", ids[3], ids[3])]
    assert call(lake, "fast_forward", branch="new", to="v") == [("new", None, ids[2])]
    refused(lake, "fast_forward", "to", "Ref does not exist: nope", branch="old", to="nope")
    refused(lake, "fast_forward", "branch", "Ref v is a tag not a branch", branch="v", to="main")
    refused(lake, "fast_forward", "branch", "Cannot fast-forward: old is not an ancestor of v", branch="old", to="v")


def test_ancestors(lake: Any, ids: list[int]) -> None:
    stamps = {s.snapshot_id: s.timestamp_ms for s in lake.table("t").snapshots()}
    assert call(lake, "ancestors_of") == [(i, stamps[i]) for i in reversed(ids)]
    assert call(lake, "ancestors_of", snapshot_id=ids[1]) == [(i, stamps[i]) for i in (ids[1], ids[0])]
    assert call(lake, "ancestors_of", snapshot_id=99) == []


def staged(lake: Any, data: pa.Table, **summary: str) -> int:
    """A snapshot that is on no branch, as Spark stages one with ``spark.wap.id``."""
    table = lake.table("t")
    known = {s.snapshot_id for s in table.snapshots()}
    table.append(data, snapshot_properties={k.replace("_", "."): v for k, v in summary.items()}, branch=None)
    (new,) = {s.snapshot_id for s in lake.table("t").snapshots()} - known
    return int(new)


def test_publish_changes_becomes_the_staged_snapshot_or_picks_it(lake: Any, ids: list[int]) -> None:
    first = staged(lake, numbers(100), wap_id="a")
    second = staged(lake, numbers(200), wap_id="b")
    assert lake.table("t").current_snapshot().snapshot_id == ids[3]
    assert call(lake, "publish_changes", wap_id="a") == [(first, first)]
    ((source, current),) = call(lake, "publish_changes", wap_id="b")
    assert source == second
    assert current not in (first, second)
    table = lake.table("t")
    assert table.current_snapshot().snapshot_id == current
    assert table.current_snapshot().parent_snapshot_id == first
    summary = table.current_snapshot().summary
    assert (summary["source-snapshot-id"], summary["published-wap-id"]) == (str(second), "b")
    assert summary["total-records"] == "30"
    assert lake.rows("t") == [(i,) for s in (0, 10, 20, 30, 100, 200) for i in range(s, s + 5)]
    assert lake.orphans("t") == set()
    message = f"Cannot cherrypick snapshot {second}: already picked to create ancestor {current}"
    refused(lake, "publish_changes", "wap_id", message, wap_id="b")
    refused(lake, "cherrypick_snapshot", "snapshot_id", message, snapshot_id=second)
    message = f"Cannot cherrypick snapshot {ids[0]}: already an ancestor"
    refused(lake, "cherrypick_snapshot", "snapshot_id", message, snapshot_id=ids[0])
    assert lake.orphans("t") == set()


def test_refusals_of_publish_and_pick(lake: Any, ids: list[int]) -> None:
    for start in (100, 200):
        staged(lake, numbers(start), wap_id="twice")
    refused(lake, "publish_changes", "wap_id", "Cannot apply unknown WAP ID 'nope'", wap_id="nope")
    message = "Cannot apply non-unique WAP ID. Found multiple snapshots with WAP ID 'twice'"
    refused(lake, "publish_changes", "wap_id", message, wap_id="twice")
    refused(lake, "cherrypick_snapshot", "snapshot_id", "Cannot cherry-pick unknown snapshot ID: 4", snapshot_id=4)
    twins = [s.snapshot_id for s in lake.table("t").snapshots() if s.summary["wap.id"] == "twice"]
    call(lake, "cherrypick_snapshot", snapshot_id=twins[0])
    message = "Duplicate request to cherry pick wap id that was published already: twice"
    refused(lake, "cherrypick_snapshot", "snapshot_id", message, snapshot_id=twins[1])
    lake.table("t").delete("id = 3")
    delete = lake.table("t").current_snapshot().snapshot_id
    call(lake, "set_current_snapshot", snapshot_id=ids[0])
    message = f"Cannot cherry-pick snapshot {delete}: not append, dynamic overwrite, or fast-forward"
    refused(lake, "cherrypick_snapshot", "snapshot_id", message, snapshot_id=delete)


def test_a_pick_that_loses_races_lands_once(lake: Any, ids: list[int], monkeypatch: Any) -> None:
    picked = staged(lake, numbers(100))
    lake.table("t").append(numbers(40))
    catalog = lake.connector.tables_of
    opened = catalog.open
    lost: list[int] = []

    def open_then_append(schema: str, name: str) -> Any:
        found = opened(schema, name)
        if not lost:
            lost.append(1)
            lake.table("t").append(numbers(300))
        return found

    monkeypatch.setattr(catalog, "open", open_then_append)
    call(lake, "cherrypick_snapshot", snapshot_id=picked)
    assert lake.rows("t") == [(i,) for s in (0, 10, 20, 30, 40, 100, 300) for i in range(s, s + 5)]


def test_a_fast_forward_pick_that_loses_the_race_is_picked(lake: Any, ids: list[int], monkeypatch: Any) -> None:
    picked = staged(lake, numbers(100))
    catalog = lake.connector.tables_of
    opened = catalog.open
    lost: list[int] = []

    def open_then_append(schema: str, name: str) -> Any:
        found = opened(schema, name)
        if not lost:
            lost.append(1)
            lake.table("t").append(numbers(300))
        return found

    monkeypatch.setattr(catalog, "open", open_then_append)
    ((source, current),) = call(lake, "cherrypick_snapshot", snapshot_id=picked)
    assert (source, current == picked) == (picked, False)
    assert lake.rows("t") == [(i,) for s in (0, 10, 20, 30, 100, 300) for i in range(s, s + 5)]


def test_tags_made_by_many_at_once_are_all_there(lake: Any, ids: list[int]) -> None:
    lake.table("t").transaction().set_properties({"commit.retry.num-retries": "50"}).commit_transaction()
    rivals = [lake.connect() for _ in range(4)]
    failures: list[BaseException] = []

    def make(number: int) -> None:
        procedure = next(p for p in rivals[number].procedures() if p.declaration.name == "create_tag")
        try:
            for round_number in range(3):
                given = {a.name: a.default for a in procedure.declaration.arguments}
                given |= {"schema": "db", "table_name": "t", "tag": f"t{number}-{round_number}"}
                procedure.call(lake.context(), given)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert set(lake.table("t").refs()) == {"main"} | {f"t{n}-{r}" for n in range(4) for r in range(3)}


def test_a_branch_is_a_table_by_icebergs_name(lake: Any, ids: list[int]) -> None:
    call(lake, "create_branch", branch="Audit", snapshot_id=ids[1])
    call(lake, "create_tag", tag="kept", snapshot_id=ids[0])
    for name, snapshot in (("t.branch_audit", ids[1]), ("t.tag_kept", ids[0]), ("t", ids[3])):
        found = lake.connector.table("db", name)
        assert (found.name, found.snapshot_id) == ("t", snapshot)
    for name in ("t.branch_kept", "t.tag_audit", "t.branch_nobody"):
        with pytest.raises(ProcessionError, match="Could not find Iceberg table branch or tag"):
            lake.connector.table("db", name)
    assert lake.connector.table("db", "nobody.branch_x") is None
    assert [base_name(n) for n in ("t.branch_audit", "t.tag_kept", "t$files", "a.b")] == ["t", "t", "t", "a.b"]
    with pytest.raises(ProcessionError, match="Branch does not exist: kept"):
        lake.call("rewrite_data_files", schema="db", table_name="t", branch="kept")
    lake.call("rewrite_data_files", schema="db", table_name="t", branch="Audit", options={"rewrite-all": "true"})
    assert lake.table("t").snapshot_by_name("Audit").parent_snapshot_id == ids[1]
    assert lake.workers.statements == []
