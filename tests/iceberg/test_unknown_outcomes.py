"""The catalog's answer to a commit is lost, after it landed or before: no file goes that the table may need."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.rewrite.committing import unknown_outcomes
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
    deadline = time.monotonic() + 20
    while lake.connector.journal.open_entries("lab") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert lake.connector.journal.entry(entry.call_id).state == ("COMMITTED" if landed else "ABORTED")
    broken = lake.call("validate_files", schema="db", table_name="t", check_footers=True).rows
    assert [row for row in broken if "gone" not in row[0]] == []
    assert {file for file in lake.orphans("t") if entry.call_id in file} == set()
    lake.rewrite("t", {"rewrite-all": "true"})
    assert {row[0] for row in lake.rows("t")} == set(range(30)) - {3}
