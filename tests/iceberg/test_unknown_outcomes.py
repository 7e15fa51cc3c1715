"""The catalog's answer to a commit is lost, after it landed or before: no file goes that the table may need."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

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
