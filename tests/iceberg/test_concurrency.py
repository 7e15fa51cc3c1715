"""A second writer commits between begin and commit: rows are neither lost nor brought back, and no orphan stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo, LessThan

from shared.errors import ErrorCode, ProcessionError


def numbers(start: int, count: int = 50) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"row {i}" for i in ids]})


@pytest.fixture
def table(lake: Any) -> str:
    lake.create("t", [numbers(i * 50) for i in range(8)])
    return "t"


def meanwhile(lake: Any, action: Callable[[], None]) -> None:
    """Run ``action`` once, while the first task of the next rewrite runs."""
    done: list[int] = []

    def before(_kernel: str, _number: int) -> None:
        if not done:
            done.append(1)
            action()

    lake.workers.before = before


def conflict(lake: Any, name: str) -> ProcessionError:
    with pytest.raises(ProcessionError) as failure:
        lake.rewrite(name)
    assert failure.value.code is ErrorCode.TRANSACTION_CONFLICT
    assert failure.value.retriable
    assert lake.orphans(name) == set()
    return failure.value


def ids(lake: Any, name: str) -> list[int]:
    return [row[0] for row in lake.rows(name)]


def test_append_meanwhile_is_kept(lake: Any, table: str) -> None:
    meanwhile(lake, lambda: lake.table(table).append(numbers(1000)))
    result = lake.rewrite(table)
    assert result["rewritten_data_files_count"] == 8
    assert ids(lake, table) == [*range(400), *range(1000, 1050)]
    assert lake.orphans(table) == set()


def test_files_with_most_rows_deleted_meanwhile_are_a_conflict(lake: Any, table: str) -> None:
    """Of fewer see test_lost_files.py."""
    meanwhile(lake, lambda: lake.table(table).delete(LessThan("id", 250)))
    assert "Missing required files to delete" in conflict(lake, table).message
    assert ids(lake, table) == [*range(250, 400)]


def test_overwrite_meanwhile_is_a_conflict(lake: Any, table: str) -> None:
    meanwhile(lake, lambda: lake.table(table).overwrite(numbers(7000, 3)))
    conflict(lake, table)
    assert ids(lake, table) == [7000, 7001, 7002]


def test_rows_deleted_meanwhile_do_not_return(lake: Any, table: str) -> None:
    meanwhile(lake, lambda: lake.table(table).delete(EqualTo("id", 75)))
    assert lake.rewrite(table)["failed_data_files_count"] == 1
    assert lake.orphans(table) == set()
    assert 75 not in ids(lake, table)
    assert len(ids(lake, table)) == 399


def test_concurrent_rewrite_lets_one_win(lake: Any, table: str) -> None:
    rival = lake.connect()

    def other() -> None:
        lake.workers.before = lambda _kernel, _number: None
        kept, lake.connector = lake.connector, rival
        assert lake.rewrite(table)["rewritten_data_files_count"] == 8
        lake.connector = kept

    meanwhile(lake, other)
    conflict(lake, table)
    assert ids(lake, table) == [*range(400)]


def test_position_delete_meanwhile_is_carried_over_even_behind_an_append(lake: Any, table: str, foreign: Any) -> None:
    """The trap of PyIceberg's own validation: with the delete not at the head, rows 0 to 2 came back."""
    path = next(task.file.file_path for task in lake.table(table).scan(LessThan("id", 50)).plan_files())

    def action() -> None:
        foreign.delete_positions(lake.table(table), {path: [0, 1, 2]})
        lake.table(table).append(numbers(1000, 1))

    meanwhile(lake, action)
    assert lake.rewrite(table)["rewritten_data_files_count"] == 8
    assert ids(lake, table) == [*range(3, 400), 1000]
    lake.workers.before = lambda _kernel, _number: None
    lake.rewrite(table, {"rewrite-all": "true"})
    assert ids(lake, table) == [*range(3, 400), 1000]
    assert lake.orphans(table) == set()


def test_position_delete_of_another_file_meanwhile_is_no_conflict(lake: Any, table: str, foreign: Any) -> None:
    big = pa.table({"id": pa.array(range(10_000, 60_000), pa.int64()), "name": ["x"] * 50_000})
    lake.table(table).append(big)
    path = next(task.file.file_path for task in lake.table(table).scan(EqualTo("id", 10_000)).plan_files())
    meanwhile(lake, lambda: foreign.delete_positions(lake.table(table), {path: [5]}))
    result = lake.rewrite(table, {"target-file-size-bytes": "10000000", "min-file-size-bytes": "20000"})
    assert result["rewritten_data_files_count"] == 8
    assert len(ids(lake, table)) == 50_399
    assert 10_005 not in ids(lake, table)


def test_equality_delete_meanwhile_applies_to_the_moved_rows(lake: Any, table: str, foreign: Any) -> None:
    keys = pa.table({"id": pa.array([10, 210], pa.int64())})
    meanwhile(lake, lambda: foreign.delete_equal(lake.table(table), keys))
    assert lake.rewrite(table)["rewritten_data_files_count"] == 8
    lake.workers.before = lambda _kernel, _number: None
    # PyIceberg cannot read equality deletes; our own rewrite applies them.
    assert lake.rewrite(table, {"rewrite-all": "true"})["rewritten_rows_count"] == 398
    assert ids(lake, table) == [i for i in range(400) if i not in (10, 210)]


def test_rollback_of_a_delete_meanwhile_does_not_lose_its_rows(lake: Any, table: str, foreign: Any) -> None:
    before_delete = lake.table(table).current_snapshot().snapshot_id
    path = next(task.file.file_path for task in lake.table(table).scan(LessThan("id", 50)).plan_files())
    foreign.delete_positions(lake.table(table), {path: [0, 1, 2]})
    meanwhile(lake, lambda: lake.table(table).manage_snapshots().rollback_to_snapshot(before_delete).commit())
    assert "applied delete files are not live any more" in conflict(lake, table).message
    assert ids(lake, table) == [*range(400)]


def test_drop_meanwhile_is_not_found_and_leaves_nothing(lake: Any, table: str) -> None:
    meanwhile(lake, lambda: lake.other.drop_table(f"db.{table}"))
    with pytest.raises(ProcessionError, match="Table db\\.t does not exist") as failure:
        lake.rewrite(table)
    assert failure.value.code is ErrorCode.NOT_FOUND
    call = {path for path in lake.files(table) if "-p" in path or path.count("-") > 10}
    assert call == set()


def test_lost_races_are_retried_and_their_files_removed(lake: Any, table: str, monkeypatch: Any) -> None:
    """Another commit lands between reading the head and swapping it: the retry builds on the new head."""
    catalog = lake.connector.tables_of
    opened = catalog.open
    calls: list[int] = []

    def open_then_append(schema: str, name: str) -> Any:
        found = opened(schema, name)
        calls.append(1)
        if len(calls) == 2:  # once in begin, then for the commit
            lake.table(table).append(numbers(1000, 2))
        return found

    monkeypatch.setattr(catalog, "open", open_then_append)
    assert lake.rewrite(table)["rewritten_data_files_count"] == 8
    assert ids(lake, table) == [*range(400), 1000, 1001]
    assert lake.table(table).current_snapshot().manifest_list.endswith("-2.avro")
    assert lake.orphans(table) == set()


def test_without_the_starting_sequence_number_an_equality_delete_is_a_conflict(
    lake: Any, table: str, foreign: Any
) -> None:
    keys = pa.table({"id": pa.array([7], pa.int64())})
    meanwhile(lake, lambda: foreign.delete_equal(lake.table(table), keys))
    with pytest.raises(ProcessionError, match="found new delete for replaced data file") as failure:
        lake.rewrite(table, {"use-starting-sequence-number": "false"})
    assert failure.value.code is ErrorCode.TRANSACTION_CONFLICT
    lake.rewrite(table, {"use-starting-sequence-number": "false"})
    assert ids(lake, table) == [i for i in range(400) if i != 7]
    snapshot = lake.table(table).current_snapshot()
    (manifest,) = [m for m in snapshot.manifests(lake.table(table).io) if m.has_added_files()]
    (entry,) = manifest.fetch_manifest_entry(lake.table(table).io)
    assert entry.sequence_number == snapshot.sequence_number
