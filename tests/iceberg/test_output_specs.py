"""Files of older partition specs go to another one: every transform, sorted ones too, with deletes and faults."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import parse_transform

from coordinator.connectors.iceberg.rewrite.planning import dry_run
from coordinator.connectors.iceberg.rewrite.writing import sorting as range_sorting
from coordinator.kernels import scratch, sorting
from shared.errors import ErrorCode, ProcessionError
from tests.tiers import some

ROWS = 30
SPECS = [
    [("n", "bucket[4]")],
    [("n", "truncate[10]"), ("name", "identity")],
    [("at", "year"), ("zoned", "hour")],
    [("day", "month"), ("price", "truncate[50]")],
    [("at", "day"), ("price", "bucket[3]")],
    [("raw", "bucket[5]"), ("name", "truncate[2]")],
    [("raw", "truncate[1]"), ("day", "day")],
    [("price", "identity"), ("flag", "identity")],
    [("day", "identity"), ("zoned", "month")],
    [("raw", "identity"), ("at", "identity")],
]


def rows(start: int) -> pa.Table:
    numbers = range(start, start + ROWS)
    moments = [datetime(1969, 12, 31, 20) + timedelta(hours=3000 * (i % 5)) for i in numbers]
    return pa.table(
        {
            "n": pa.array([None if i % 9 == 4 else i % 40 - 20 for i in numbers], pa.int64()),
            "name": [None if i % 11 == 3 else f"ü/{i % 3}=x" for i in numbers],
            "at": pa.array([None if i % 13 == 5 else m for i, m in zip(numbers, moments, strict=True)]),
            "zoned": pa.array([m.replace(tzinfo=UTC) for m in moments]),
            "day": pa.array([date(1970, 1, 1) + timedelta(days=20 * (i % 12) - 100) for i in numbers]),
            "price": pa.array([Decimal(i % 10 * 37 - 190) / 100 for i in numbers], pa.decimal128(9, 2)),
            "raw": pa.array([bytes([i % 4, 255]) * (i % 3) for i in numbers], pa.binary()),
            "flag": [i % 2 == 0 for i in numbers],
        }
    )


def evolved(lake: Any, fields: list[tuple[str, str]], change: Callable[[Any], None] = lambda _table: None) -> Any:
    """A table of unpartitioned files, changed, and then, with another spec, of some partitioned ones."""
    change(lake.create("t", [rows(i * ROWS) for i in range(5)]))
    with lake.table("t").update_spec() as update:
        for column, transform in fields:
            update.add_field(column, parse_transform(transform), f"{column}_{transform.partition('[')[0]}")
    lake.table("t").append(rows(5 * ROWS))
    return lake.table("t")


def by_partition(lake: Any, name: str) -> dict[tuple[Any, ...], list[str]]:
    """The rows of the files of each partition."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for task in lake.table(name).scan().plan_files():
        partition = tuple(task.file.partition[i] for i in range(len(task.file.partition)))
        table = pq.read_table(task.file.file_path.removeprefix("file://"), partitioning=None)
        found.setdefault(partition, []).extend(repr(row) for row in table.to_pylist())
        assert task.file.spec_id == lake.table(name).spec().spec_id
    return {partition: sorted(texts) for partition, texts in found.items()}


@pytest.fixture(params=["binpack", "sort", "zorder"])
def given(request: Any, monkeypatch: Any) -> dict[str, Any]:
    """What is asked for, in runs so small that each file is spread over several."""
    monkeypatch.setattr(range_sorting, "_SMALL_BYTES", 0)
    monkeypatch.setattr(scratch, "_RUN_BYTES", 4_000)
    monkeypatch.setattr(sorting, "_PASS_BYTES", 4_000)
    entries = {"sort": ["price DESC", "n"], "zorder": ["zorder(n, day)"]}
    return {} if request.param == "binpack" else {"strategy": "sort", "sorted_by": entries[request.param]}


@pytest.mark.parametrize(
    "fields",
    some(SPECS[::3], [*SPECS[1::3], *SPECS[2::3]], "every third spec"),
    ids=lambda fields: "-".join(t for _, t in fields),
)
@pytest.mark.slow
def test_rows_go_to_the_partitions_where_pyiceberg_writes_them(lake: Any, fields: list[tuple[str, str]]) -> None:
    table = evolved(lake, fields)
    before = lake.rows("t")
    result = lake.rewrite("t", {"rewrite-all": "true"})
    assert (result["rewritten_rows_count"], result["failed_data_files_count"]) == (6 * ROWS, 0)
    assert lake.rows("t") == before
    assert lake.orphans("t") == set()
    lake.other.create_table("db.direct", schema=table.schema(), partition_spec=_fresh(table))
    lake.table("direct").append(lake.table("t").scan().to_arrow())
    assert by_partition(lake, "t") == by_partition(lake, "direct")


def _fresh(table: Any) -> PartitionSpec:
    """The table's spec, as the only one of a table of its own."""
    fields = [PartitionField(f.source_id, 1000 + i, f.transform, f.name) for i, f in enumerate(table.spec().fields)]
    return PartitionSpec(*fields, spec_id=0)


def test_each_strategy_orders_the_rows_inside_a_partition(lake: Any, given: dict[str, Any]) -> None:
    evolved(lake, [("flag", "identity")])
    before = lake.rows("t")
    lake.rewrite("t", {"rewrite-all": "true"}, **given)
    assert lake.rows("t") == before
    files = [task.file for task in lake.table("t").scan().plan_files()]
    assert {file.partition[0] for file in files} == {True, False}
    if given.get("sorted_by") == ["price DESC", "n"]:
        for file in files:
            prices = pq.read_table(file.file_path.removeprefix("file://"), partitioning=None)["price"].to_pylist()
            assert prices == sorted(prices, reverse=True)
    assert lake.orphans("t") == set()


def test_back_to_a_spec_without_partitions_row_groups_are_copied_or_packed(lake: Any) -> None:
    evolved(lake, [("flag", "identity")])
    before = lake.rows("t")
    plan = lake.call("rewrite_data_files", schema="db", table_name="t", dry_run=True, options={"output-spec-id": "0"})
    columns = [column.name for column in dry_run.COLUMNS]
    first = dict(zip(columns, plan.rows[0], strict=True))
    assert (first["data_files_count"], first["partition"], first["spec_id"]) == (7, "", None)
    result = lake.rewrite("t", {"output-spec-id": "0"})
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (7, 1)
    assert {task.file.spec_id for task in lake.table("t").scan().plan_files()} == {0}
    assert lake.rows("t") == before
    assert lake.rewrite("t", {"output-spec-id": "0"})["rewritten_data_files_count"] == 0, "a fixed point"


def test_a_spec_that_the_table_does_not_have(lake: Any) -> None:
    lake.create("t", [rows(0)])
    with pytest.raises(ProcessionError, match="Cannot use output spec id 7 because the table") as failure:
        lake.rewrite("t", {"output-spec-id": "7"})
    assert failure.value.code is ErrorCode.INVALID_PROCEDURE_ARGUMENT


def test_deletes_are_applied_on_the_way(lake: Any, foreign: Any, given: dict[str, Any]) -> None:
    def delete(table: Any) -> None:
        path = next(iter(table.scan().plan_files())).file.file_path
        foreign.delete_positions(table, {path: [0, 7]})

    evolved(lake, [("n", "bucket[4]")], delete)
    before = lake.rows("t")
    assert len(before) == 6 * ROWS - 2
    result = lake.rewrite("t", {"rewrite-all": "true"}, **given)
    assert (result["rewritten_rows_count"], result["removed_delete_files_count"]) == (6 * ROWS - 2, 1)
    assert lake.rows("t") == before


@pytest.mark.parametrize("kernel", ["partitioning:scatter", "sorting:gather"])
def test_a_failed_task_leaves_nothing_behind(lake: Any, kernel: str) -> None:
    evolved(lake, [("n", "bucket[4]")])
    before = lake.files("t")

    def fail(name: str, number: int) -> None:
        if name == kernel and number == 0:
            raise ProcessionError(ErrorCode.REMOTE_TASK_ERROR, "the executor is gone")

    lake.workers.before = fail
    with pytest.raises(ProcessionError, match="the executor is gone"):
        lake.rewrite("t", {"rewrite-all": "true"})
    entry = lake.connector.journal.open_entries("lab")
    for open_entry in entry:  # the second sweep comes later
        assert any("n_bucket=" in directory for directory in open_entry.directories)
    assert lake.files("t") == before
