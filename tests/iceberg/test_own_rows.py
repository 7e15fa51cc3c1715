"""Rows that this process writes: what becomes of an append whose answer is lost, and of what fails before one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.types import StringType

from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError
from coordinator.connectors.iceberg.tables import append_outcome, own_rows
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import TableWrite, WriteContext
from tests.iceberg.rest_catalog import RefusedError, serving
from tests.iceberg.test_held_commits import FENCE, Held
from tests.iceberg.test_rest_catalog import over_rest
from tests.iceberg.test_rewrite import numbers


def insert(lake: Any, batches: Iterator[Any] | None = None) -> int:
    rows = batches or iter(numbers(500).to_batches())

    def run(*_: object) -> Any:
        raise AssertionError("no engine is asked to write")

    write = TableWrite("lab", "db", "t", "INSERT", "INSERT INTO", "")
    return int(lake.connector.write(write, WriteContext(lake.context(), run, rows=lambda: rows)))


@pytest.fixture
def held(lake: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    lake.create("t", [numbers(0)])
    monkeypatch.setattr(append_outcome, "_LOOK_AGAIN_SECONDS", (0.0, 0.05))
    with serving(lake.other) as address:
        lake.connector = over_rest(lake, address)
        found = Held(lake, address, lake.other.commit_table)
        monkeypatch.setattr(lake.other, "commit_table", found.take)
        yield found
        lake.connector.close()


def until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def open_writes(lake: Any) -> int:
    return len(lake.connector.tables_of.late_writes._records.open_entries())


def files(lake: Any) -> int:
    return len([file for file in lake.files("t") if file.endswith(".parquet")])


def test_an_append_that_is_held_is_refused_before_its_files_go(held: Held) -> None:
    held.wait_for(3600)
    with pytest.raises(CommitOutcomeUnknownError, match=r"It is unknown whether the write to db\.t landed"):
        insert(held.lake)
    assert files(held.lake) == 2, "while it may land"
    held.wait_for(0)
    until(lambda: files(held.lake) == 1)
    assert held.fences() == 1
    with pytest.raises(CommitFailedException):
        held.carry_out()
    assert len(held.lake.rows("t")) == 50


def test_one_that_is_carried_out_late_keeps_its_files(held: Held) -> None:
    held.wait_for(3600)
    with pytest.raises(CommitOutcomeUnknownError):
        insert(held.lake)
    held.carry_out()
    held.wait_for(0)
    time.sleep(1)
    assert (len(held.lake.rows("t")), files(held.lake), held.fences()) == (100, 2, 0)


def test_an_answer_that_is_lost_is_looked_for(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = held.commit

    def landed(*request: Any) -> Any:
        commit(*request)
        monkeypatch.setattr(held.lake.other, "commit_table", commit)
        raise RefusedError(504)

    monkeypatch.setattr(held.lake.other, "commit_table", landed)
    assert insert(held.lake) == 50
    assert (len(held.lake.rows("t")), files(held.lake)) == (100, 2)


@pytest.mark.parametrize(("changed", "said"), [("add", None), ("drop", "columns or partitions")])
def test_columns_that_change_meanwhile(lake: Any, changed: str, said: str | None) -> None:
    """New ones are NULL; a table that has not the columns any more, as one that was replaced, gets no rows."""
    lake.create("t", [numbers(0)])

    def rows() -> Iterator[pa.RecordBatch]:
        yield from numbers(500).to_batches()
        with lake.table("t").update_schema() as change:
            change.add_column("more", StringType()) if changed == "add" else change.delete_column("x")
        lake.table("t").append(lake.table("t").scan().to_arrow())

    if said is None:
        assert insert(lake, rows()) == 50
        assert (len(lake.rows("t")), files(lake)) == (150, 3)
        return
    with pytest.raises(ProcessionError, match=f"{said} of the table were changed meanwhile") as failed:
        insert(lake, rows())
    assert failed.value.code is ErrorCode.TRANSACTION_CONFLICT
    until(lambda: files(lake) == 2)
    assert len(lake.rows("t")) == 100


def test_rows_come_in_parts_of_bounded_size(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create("t", [numbers(0)])
    monkeypatch.setattr(own_rows, "_PART_BYTES", 4_000)
    given = (batch for start in range(1000, 3000, 50) for batch in numbers(start).to_batches())
    assert insert(lake, given) == 2000
    assert len(lake.table("t").inspect.data_files()) > 5
    assert len(lake.table("t").snapshots()) == 2
    assert sorted(row[0] for row in lake.rows("t")) == [*range(50), *range(1000, 3000)]
    assert open_writes(lake) == 0


def test_a_query_that_fails_late_leaves_nothing(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create("t", [numbers(0)])
    monkeypatch.setattr(own_rows, "_PART_BYTES", 1)

    def rows() -> Iterator[pa.RecordBatch]:
        yield from numbers(500).to_batches()
        yield from numbers(600).to_batches()
        raise ProcessionError(ErrorCode.DIVISION_BY_ZERO, "/ by zero")

    with pytest.raises(ProcessionError, match="/ by zero"):
        insert(lake, rows())
    until(lambda: files(lake) == 1)
    assert (len(lake.rows("t")), len(lake.table("t").snapshots())) == (50, 1)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("write.format.default", "orc", "orc"), ("write.target-file-size-bytes", "1", "of 1 bytes")],
)
def test_files_that_are_not_made_here_are_refused(lake: Any, name: str, value: str, said: str) -> None:
    table = lake.create("t", [numbers(0)])
    with table.transaction() as change:
        change.set_properties({name: value})
    with pytest.raises(ProcessionError, match=rf"Cannot insert rows of table db\.t: its files are to be {said}"):
        insert(lake)
    assert files(lake) == 1


def test_quiet_time_is_the_catalogs(held: Held) -> None:
    """Nothing is refused while a server may carry it out."""
    tables = held.lake.connector.tables_of
    tables.settings = replace(tables.settings, unfinished_quiet_time=3600)
    with pytest.raises(CommitOutcomeUnknownError):
        insert(held.lake)
    time.sleep(0.5)
    snapshots = held.lake.table("t").snapshots()
    assert files(held.lake) == 2
    assert not any(FENCE in snapshot.summary.additional_properties for snapshot in snapshots)


def test_few_rows_that_cannot_be_written_here_are_left_to_spark(lake: Any) -> None:
    lake.create("t", [numbers(0)])
    asked = []

    def run(sql: str, *_: object) -> Any:
        asked.append(sql)
        raise ProcessionError(ErrorCode.NO_NODES_AVAILABLE, "there is no Spark")

    odd = pa.record_batch({"id": ["no number"], "name": ["x"], "x": [1.0]})
    write = TableWrite("lab", "db", "t", "INSERT", "INSERT INTO", "(id, name, x) SELECT 1, 'x', 1.0")
    with pytest.raises(ProcessionError, match="there is no Spark"):
        lake.connector.write(write, WriteContext(lake.context(), run, rows=lambda: iter([odd])))
    assert asked == ["INSERT INTO `lab`.`db`.`t` (id, name, x) SELECT 1, 'x', 1.0"]
    write = replace(write, after="")
    with pytest.raises(ProcessionError, match=r"Rows of table db\.t cannot be written: ") as failed:
        lake.connector.write(write, WriteContext(lake.context(), run, rows=lambda: iter([odd])))
    assert (failed.value.code, len(asked)) == (ErrorCode.NOT_SUPPORTED, 1)
    assert (len(lake.rows("t")), files(lake)) == (50, 1)


@pytest.mark.parametrize(
    "properties",
    [
        {"write.parquet.bloom-filter-enabled.column.id": "true"},
        {"write.format.default": "avro"},
        {"encryption.key-id": "k"},
        {"write.target-file-size-bytes": "1"},
    ],
)
def test_few_rows_of_special_tables_are_left_to_spark(lake: Any, properties: dict[str, str]) -> None:
    table = lake.create("t", [numbers(0)])
    with table.transaction() as change:
        change.set_properties(properties)

    def run(sql: str, *_: object) -> Any:
        raise ProcessionError(ErrorCode.NO_NODES_AVAILABLE, "there is no Spark")

    write = TableWrite("lab", "db", "t", "INSERT", "INSERT INTO", "(id) SELECT 1")
    with pytest.raises(ProcessionError, match="there is no Spark"):
        lake.connector.write(write, WriteContext(lake.context(), run, rows=lambda: iter(numbers(500).to_batches())))
    assert files(lake) == 1
