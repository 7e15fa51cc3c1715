"""Partial progress: each commit stands alone, failures cost their own groups, nothing is left behind."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import And, GreaterThanOrEqual, LessThan

from shared.errors import ErrorCode, ProcessionError


def numbers(start: int, count: int = 50) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + count), pa.int64())})


@pytest.fixture
def options(lake: Any) -> dict[str, str]:
    """Two files a group: six groups, three commits."""
    lake.create("t", [numbers(i * 50) for i in range(12)])
    size = max(task.file.file_size_in_bytes for task in lake.table("t").scan().plan_files())
    return {
        "partial-progress.enabled": "true",
        "partial-progress.max-commits": "3",
        "max-file-group-size-bytes": str(2 * size),
        "rewrite-all": "true",
    }


def operations(lake: Any) -> list[str]:
    return [snapshot.summary.operation.value for snapshot in lake.table("t").snapshots()][12:]


@pytest.mark.parametrize("given", [{}, {"strategy": "sort", "sorted_by": ["id DESC"]}], ids=["binpack", "sort"])
def test_groups_land_in_as_many_commits_as_allowed(lake: Any, options: dict[str, str], given: Any) -> None:
    before = lake.rows("t")
    result = lake.rewrite("t", options, **given)
    assert operations(lake) == ["replace"] * 3
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (12, 6)
    assert (result["rewritten_rows_count"], result["failed_data_files_count"]) == (600, 0)
    assert lake.rows("t") == before
    assert lake.orphans("t") == set()
    assert lake.connector.journal.open_entries("lab") == []


def fail_in_second(lake: Any, action: Any) -> None:
    """Once the first commit is there and the second step writes, call ``action`` once."""
    done: list[int] = []

    def before(_kernel: str, _number: int) -> None:
        if not done and len(operations(lake)) == 1:
            done.append(1)
            action()

    lake.workers.before = before


# Files 4 to 7 of 12 are the second step's, from whichever end manifests list them.
SECOND = And(GreaterThanOrEqual("id", 200), LessThan("id", 400))


def test_a_step_that_conflicts_costs_its_own_groups(lake: Any, options: dict[str, str]) -> None:
    fail_in_second(lake, lambda: lake.table("t").delete(SECOND))
    result = lake.rewrite("t", options)
    assert result["rewritten_data_files_count"] + result["failed_data_files_count"] == 12
    assert result["failed_data_files_count"] == 4
    assert [row[0] for row in lake.rows("t")] == [*range(200), *range(400, 600)]
    assert lake.orphans("t") == set()
    assert lake.connector.journal.open_entries("lab") == []


def test_a_group_of_a_step_that_is_lost_costs_itself_alone(lake: Any, options: dict[str, str]) -> None:
    fail_in_second(lake, lambda: lake.table("t").delete(And(SECOND, LessThan("id", 300))))
    result = lake.rewrite("t", options)
    assert (result["rewritten_data_files_count"], result["failed_data_files_count"]) == (10, 2)
    assert operations(lake) == ["replace", "delete", "replace", "replace"]
    assert [row[0] for row in lake.rows("t")] == [*range(200), *range(300, 600)]
    assert lake.orphans("t") == set()
    assert lake.connector.journal.open_entries("lab") == []


def test_too_many_failures_end_the_call_and_what_landed_stays(lake: Any, options: dict[str, str]) -> None:
    fail_in_second(lake, lambda: lake.table("t").delete(SECOND))
    with pytest.raises(ProcessionError, match="more than the maximum allowed failures of 0") as failure:
        lake.rewrite("t", {**options, "partial-progress.max-failed-commits": "0"})
    assert failure.value.code is ErrorCode.TRANSACTION_CONFLICT
    assert operations(lake)[0] == "replace"
    assert len(lake.rows("t")) == 400
    assert lake.orphans("t") == set()


def test_cancelling_keeps_the_steps_that_landed(lake: Any, options: dict[str, str]) -> None:
    def cancel() -> None:
        raise ProcessionError(ErrorCode.USER_CANCELED, "Query was canceled")

    fail_in_second(lake, cancel)
    with pytest.raises(ProcessionError, match="canceled"):
        lake.rewrite("t", options)
    assert operations(lake) == ["replace"]
    assert len(lake.rows("t")) == 600


def test_once_its_time_is_over_no_commit_is_begun(lake: Any, options: dict[str, str]) -> None:
    """The one that was begun is ended; the next call does the rest."""
    before = lake.rows("t")
    lake.workers.before = lambda _kernel, _number: time.sleep(0.6)
    limited = {**options, "partial-progress.max-seconds": "1", "rewrite-all": "false", "min-input-files": "2"}
    result = lake.rewrite("t", limited)
    lake.workers.before = lambda _kernel, _number: None
    assert operations(lake) == ["replace"]
    assert (result["rewritten_data_files_count"], result["failed_data_files_count"]) == (4, 0)
    assert lake.connector.journal.open_entries("lab") == []
    lake.rewrite("t", {**limited, "partial-progress.max-seconds": "100"})
    assert len(list(lake.table("t").scan().plan_files())) <= 6
    assert lake.rows("t") == before
    assert lake.orphans("t") == set()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"partial-progress.max-seconds": "0", "partial-progress.enabled": "true"}, "max-seconds"),
        ({"partial-progress.max-seconds": "5"}, "has no meaning without partial-progress.enabled"),
    ],
)
def test_wrong_limits_are_refused(lake: Any, options: dict[str, str], given: dict[str, str], why: str) -> None:
    with pytest.raises(ProcessionError, match=why):
        lake.rewrite("t", given)
