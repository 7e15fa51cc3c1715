"""The catalog's answer to a commit is lost, after it landed or before: no file goes that the table may need."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy.orm import Session

from coordinator.connectors.iceberg.manifests import metadata_files
from coordinator.connectors.iceberg.rewrite.committing import unknown_commits, unknown_outcomes
from coordinator.connectors.iceberg.rewrite.committing.recovery import recover_commit
from coordinator.connectors.iceberg.tables.open_commits import OpenCommit
from shared.errors import ErrorCode, ProcessionError

pytestmark = pytest.mark.slow
CALLS: dict[str, dict[str, Any]] = {
    "rewrite_manifests": {},
    "expire_partitions": {"older_than": datetime(2026, 11, 2)},
    "convert_equality_deletes": {},
    "remove_dangling_deletes": {},
    "expire_snapshots": {"older_than": datetime(2100, 1, 1)},
    "cherrypick_snapshot": {"snapshot_id": 0},
    "create_tag": {"tag": "kept"},
    "set_table_property": {"key": "owner", "value": "me"},
}


def day(number: int) -> pa.Table:
    ids = pa.array(range(number * 10, number * 10 + 10), pa.int64())
    return pa.table({"id": ids, "day": [date(2026, 11, number + 1)] * 10})


@pytest.fixture
def staged(lake: Any, foreign: Any) -> int:
    """Three days with a position delete, an equality delete, a delete that applies to nothing, and a staged append."""
    table = lake.create("t", [day(0).slice(0, 0)])
    with table.update_spec() as spec:
        spec.add_identity("day")
    for number in range(3):
        table.append(day(number))
    first = next(task.file for task in table.scan(row_filter="id = 0").plan_files())
    foreign.delete_equal(lake.table("t"), pa.table({"id": pa.array([11], pa.int64())}), first.partition)
    foreign.delete_positions(lake.table("t"), {first.file_path: [3]}, first.partition)
    foreign.delete_positions(lake.table("t"), {f"{first.file_path}.gone": [3]}, first.partition)
    lake.table("t").append(day(5), snapshot_properties={"wap.id": "w"}, branch=None)
    return int(max(lake.table("t").snapshots(), key=lambda s: s.sequence_number).snapshot_id)


def lose_answers(lake: Any, monkeypatch: Any, *, landed: bool) -> None:
    catalog = type(lake.other)
    commit: Callable[..., Any] = catalog.commit_table

    def lost(*arguments: Any) -> Any:
        if landed:
            commit(*arguments)
        raise ConnectionError("connection reset by peer")

    monkeypatch.setattr(catalog, "commit_table", lost)


@pytest.mark.usefixtures("looked_for_soon")
@pytest.mark.parametrize(
    ("name", "landed"),
    [*((name, True) for name in CALLS), *((name, False) for name in ("rewrite_manifests", "convert_equality_deletes"))],
)
def test_no_file_of_the_table_goes(lake: Any, staged: int, monkeypatch: Any, name: str, landed: bool) -> None:
    asked = {"schema": "db", "table_name": "t", **CALLS[name]}
    if name == "cherrypick_snapshot":
        asked["snapshot_id"] = staged
    lose_answers(lake, monkeypatch, landed=landed)
    try:
        lake.call(name, **asked)
    except ProcessionError as error:
        assert error.code in {ErrorCode.PROCEDURE_CALL_FAILED, ErrorCode.ICEBERG_FILESYSTEM_ERROR}, error.message
    else:
        assert landed, "nobody can say that it was done"
    monkeypatch.undo()
    lake.connector = lake.connect()  # the old one keeps the method that loses answers
    broken = lake.call("validate_files", schema="db", table_name="t", check_footers=True).rows
    assert [row for row in broken if "gone" not in row[0]] == []
    # Our rewrite applies the deletes that PyIceberg cannot read.
    lake.rewrite("t", {"rewrite-all": "true"})
    left = {row[0] for row in lake.rows("t")}
    days = {1, 2} if name == "expire_partitions" and landed else {0, 1, 2}
    days |= {5} if name == "cherrypick_snapshot" and landed else set()
    assert left == {i for n in days for i in range(n * 10, n * 10 + 10)} - {3}


@pytest.mark.usefixtures("looked_for_soon")
@pytest.mark.parametrize("landed", [True, False])
def test_a_conversion_is_settled_once_the_catalog_answers(
    lake: Any, staged: int, monkeypatch: pytest.MonkeyPatch, landed: bool
) -> None:
    """The catalog is away when it is asked whether the commit landed, and for a while after that."""
    catalog = type(lake.other)
    commit, load = catalog.commit_table, catalog.load_table
    answers: list[bool] = []

    def away(*_args: Any, **_named: Any) -> Any:
        raise ConnectionError("connection reset by peer")

    def no_answer(*arguments: Any) -> Any:
        if answers:  # the connector's own catalog has kept this function
            return commit(*arguments)
        answers.append(True)
        if landed:
            commit(*arguments)
        monkeypatch.setattr(catalog, "load_table", away)
        return away()

    monkeypatch.setattr(unknown_outcomes, "_PAUSE_SECONDS", 0.1)
    monkeypatch.setattr(catalog, "commit_table", no_answer)
    with pytest.raises(ProcessionError, match="unknown whether the commit landed"):
        lake.call("convert_equality_deletes", schema="db", table_name="t")
    (entry,) = lake.connector.journal.open_entries("lab")
    monkeypatch.setattr(catalog, "load_table", load)
    deadline = time.monotonic() + 60
    while lake.connector.journal.open_entries("lab") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert lake.connector.journal.entry(entry.call_id).state == ("COMMITTED" if landed else "ABORTED")
    broken = lake.call("validate_files", schema="db", table_name="t", check_footers=True).rows
    assert [row for row in broken if "gone" not in row[0]] == []
    assert {file for file in lake.orphans("t") if entry.call_id in file} == set()
    lake.rewrite("t", {"rewrite-all": "true"})
    assert {row[0] for row in lake.rows("t")} == set(range(30)) - {3}


@pytest.mark.parametrize("landed", [True, False])
def test_the_files_of_a_commit_that_did_not_land_go_without_a_restart(
    lake: Any, monkeypatch: pytest.MonkeyPatch, landed: bool
) -> None:
    """Its metadata file was written; the answer of the catalog's database got lost."""
    lake.create("t", [day(0)])
    files, answers, catalog = lake.files("t"), list[bool](), lake.connector.tables_of
    commit = Session.commit

    def lost(session: Session) -> None:
        if answers:
            return commit(session)
        answers.append(True)
        if landed:
            commit(session)
        raise ConnectionError("connection reset by peer")

    monkeypatch.setattr(unknown_commits, "_PAUSE_SECONDS", 0.3)
    with monkeypatch.context() as patch:
        patch.setattr(Session, "commit", lost)
        with pytest.raises(ProcessionError):
            lake.call("set_table_property", schema="db", table_name="t", key="owner", value="me")
        (left,) = lake.files("t") - files
    deadline = time.monotonic() + 60
    while catalog.open_commits.records.row({"location": f"{lake.table('t').location()}/{left}"}) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert (lake.table("t").properties.get("owner"), left in lake.files("t")) == ("me" if landed else None, landed)
    assert {file for file in lake.orphans("t") if file == left} == set()
    assert lake.rows("t") == [(row["id"], row["day"]) for row in day(0).to_pylist()]


def test_a_metadata_file_that_could_not_be_written_leaves_nothing_to_settle(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.create("t", [day(0)])
    files, catalog, told = lake.files("t"), lake.connector.tables_of, list[object]()
    write = metadata_files.write_metadata

    def full(metadata: Any, io: Any, location: str) -> None:
        write(metadata, io, location)
        raise OSError(28, "No space left on device")

    catalog.open_commits.unsettled = told.append
    with monkeypatch.context() as patch:
        patch.setattr(metadata_files, "write_metadata", full)
        with pytest.raises(ProcessionError, match="No space left"):
            lake.call("set_table_property", schema="db", table_name="t", key="owner", value="me")
    assert (lake.files("t"), catalog.open_commits.open_entries(), told) == (files, [], [])


def test_what_settles_a_commit_and_is_lost_as_well_begins_nothing_more(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try would otherwise leave another commit to settle."""
    lake.create("t", [day(0)])
    catalog, told = lake.connector.tables_of, list[OpenCommit]()
    commit = Session.commit

    def lost(_session: Session) -> None:
        raise ConnectionError("connection reset by peer")

    catalog.open_commits.unsettled = told.append
    with monkeypatch.context() as patch:
        patch.setattr(Session, "commit", lost)
        with pytest.raises(ProcessionError):
            lake.call("set_table_property", schema="db", table_name="t", key="owner", value="me")
        assert len(told) == 1
        for _ in range(2):
            assert recover_commit(catalog, told[0], may_be_sent=True).waits
        assert len(told) == 1
    assert Session.commit is commit
    assert recover_commit(catalog, told[0], may_be_sent=True).outcome == "ABORTED"
    lake.connector.close()
    lake.connector = lake.connect()
    lake.connector.recover()
    assert (lake.orphans("t"), lake.connector.tables_of.open_commits.open_entries()) == (set(), [])
