"""Sorting little by little: depths against a count key by key, choices against what they leave, ends of rewriting."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table.sorting import NullOrder
from pyiceberg.transforms import DayTransform, IdentityTransform

from coordinator.connectors.iceberg.rewrite.planning.key_spans import Spans, spans_of
from coordinator.connectors.iceberg.rewrite.planning.overlap import layered, swept, worth_sorting
from coordinator.connectors.iceberg.rewrite.writing import sorting as range_sorting
from coordinator.connectors.iceberg.rewrite.writing import spreading
from coordinator.kernels.sort_tasks import KeyColumn, RowOrder
from shared.errors import ProcessionError

DEPTH = {"min-overlap-depth": "3", "min-input-files": "1000", "min-file-size-bytes": "0"}


def depth_at(spans: list[tuple[int, int]], layers: list[Any], key: float) -> int:
    """By definition: what a look-up of a key between others has to read."""
    return len({layer for (low, high), layer in zip(spans, layers, strict=True) if low < key < high})


@pytest.mark.parametrize("seed", range(60))
def test_depths_and_choices(seed: int) -> None:
    chance = random.Random(seed)
    spans, runs = [], list[str | None]()
    for _ in range(chance.randint(1, 25)):
        low = chance.randint(0, 20)
        spans.append((low, low + chance.choice([0, 1, 2, 5, 15])))
        runs.append(chance.choice([None, None, "a", "b"]))
    least = chance.randint(2, 4)
    sizes = [chance.randint(1, 9) for _ in spans]
    low, high = (np.array(ends, np.int64) for ends in zip(*spans, strict=True))
    files = layered(Spans(low, high), runs, sizes)
    layers = [run or number for number, run in enumerate(runs)]
    sweep = swept(files)
    between = max(depth_at(spans, layers, key + 0.5) for key in range(40))
    assert sweep.depth.greatest >= between
    chosen = worth_sorting(files, sweep, least)
    assert bool(chosen) == (sweep.depth.greatest >= least)
    assert len({place for places in chosen for place in places}) == sum(map(len, chosen)), "no file is in two sets"
    for number, places in enumerate(chosen):
        assert len({layers[place] for place in places}) > 1, "one run alone is never sorted again"
        for place in places:
            layers[place] = f"new {number}"
    if sweep.depth.greatest >= least:  # what is written anew is one run: the most that share a key become fewer
        assert max(depth_at(spans, layers, key + 0.5) for key in range(40)) <= max(between - 1, least - 1)


def file(low: bytes | None, high: bytes | None, rows: int = 10, nulls: int | None = 0, nans: int = 0) -> Any:
    bounds = ({} if low is None else {1: low}, {} if high is None else {1: high})
    found = SimpleNamespace(record_count=rows, lower_bounds=bounds[0], upper_bounds=bounds[1])
    found.null_value_counts = None if nulls is None else {1: nulls}
    found.nan_value_counts = {1: nans}
    return SimpleNamespace(file=found)


def test_bounds_that_say_less(lake: Any) -> None:
    schema = lake.create("t", [pa.table({"text": ["a"]})]).schema()
    files: list[Any] = [
        file(b"aaaaaaaaaaaaaaaa", b"aaaaaaaaaaaaaaab"),  # cut: every key between may be there
        file(b"b", b"c", nulls=2),
        file(b"b", b"c"),
        file(None, None),
        file(None, None, nulls=10),
        file(b"z", b"b"),  # no bounds at all
        file(b"\xff", b"c"),
    ]
    (spans,) = spans_of(files, RowOrder([KeyColumn(1)]), schema)
    found = list(zip(spans.low.tolist(), spans.high.tolist(), strict=True))
    last = 5
    assert found == [(1, 2), (0, 4), (3, 4), (0, last), (0, 0), (0, last), (0, last)]
    (spans,) = spans_of(files[:5], RowOrder([KeyColumn(1, descending=True, nulls_first=False)]), schema)
    assert list(zip(spans.low.tolist(), spans.high.tolist(), strict=True)) == [(3, 4), (1, 5), (1, 2), (0, 5), (5, 5)]


def part(day: int, rows: int = 300) -> pa.Table:
    """A day's rows over all keys, in no order."""
    chance = np.random.default_rng(day)
    keys = chance.integers(0, 10_000, rows)
    return pa.table(
        {
            "key": pa.array(keys, pa.int64()),
            "other": pa.array(chance.permutation(keys), pa.int64()),
            "text": [f"the same sixteen bytes {key:05d}" for key in keys.tolist()],
            "id": pa.array(range(day * rows, (day + 1) * rows), pa.int64()),
        }
    )


def paths(lake: Any) -> set[str]:
    return {task.file.file_path for task in lake.table("t").scan().plan_files()}


def depth(lake: Any, **given: Any) -> int:
    rows = lake.call("rewrite_data_files", schema="db", table_name="t", dry_run=True, strategy="sort", **given).rows
    return max(row[-2] for row in rows)


@pytest.mark.parametrize(
    "order", [["key"], ["text DESC"], ["other", "key"], ["zorder(key, other)"], ["hilbert(key, text)"]], ids=str
)
def test_appended_daily(lake: Any, order: list[str]) -> None:
    parts = [part(0)]
    lake.create("t", parts[:1])
    written = 0
    for day in range(1, 13):
        parts.append(part(day))
        lake.table("t").append(parts[-1])
        written += lake.rewrite("t", DEPTH, strategy="sort", sorted_by=order)["rewritten_rows_count"]
        assert depth(lake, sorted_by=order) <= 2
        assert set(lake.rewrite("t", DEPTH, strategy="sort", sorted_by=order).values()) == {0}, "it ends"
    every = duckdb.from_arrow(pa.concat_tables(parts))
    assert lake.rows("t") == every.order("ALL").fetchall()
    assert written < sum(300 * (day + 1) for day in range(1, 13)) / 2
    assert lake.orphans("t") == set()


def test_a_narrow_append_leaves_the_rest(lake: Any) -> None:
    whole = pa.table({"key": pa.array(range(8000), pa.int64())})
    lake.create("t", [whole.slice(start, 1000) for start in range(0, 8000, 1000)])
    narrow = pa.table({"key": pa.array(range(2400, 2500), pa.int64())})
    for _ in range(2):
        lake.table("t").append(narrow)
    before = paths(lake)
    result = lake.rewrite("t", DEPTH, strategy="sort", sorted_by=["key"])
    assert result["rewritten_data_files_count"] == 2, "the two that are smaller than the file that they fall into"
    assert len(before & paths(lake)) == 8


def test_each_partition_by_itself(lake: Any) -> None:

    both = pa.table({"p": ["a"] * 4 + ["b"] * 4, "key": pa.array([1, 2, 3, 9, 1, 2, 3, 9], pa.int64())})
    table = lake.create("t", [both.slice(0, 0)])
    with table.update_spec() as update:
        update.add_field("p", IdentityTransform(), "p")
    for number in range(3):
        table.append(both.slice(0, 4) if number else both)
    given = {"schema": "db", "table_name": "t", "strategy": "sort", "sorted_by": ["key"], "options": DEPTH}
    rows = lake.call("rewrite_data_files", dry_run=True, **given).rows
    assert {(row[1], row[6], row[-2], row[-1]) for row in rows} == {("p=a", True, 3, 3.0), ("p=b", False, 1, 1.0)}
    assert lake.rewrite("t", DEPTH, strategy="sort", sorted_by=["key"])["rewritten_data_files_count"] == 3


def test_files_that_are_out_of_order(lake: Any) -> None:
    table = lake.create("t", [part(day) for day in range(3)])
    with table.update_sort_order() as update:
        update.asc("key", IdentityTransform(), NullOrder.NULLS_FIRST)
    options = {"rewrite-stale-sort-order": "true", "min-file-size-bytes": "0", "max-file-group-input-files": "1"}
    assert lake.rewrite("t", {"min-file-size-bytes": "0"}, strategy="sort")["rewritten_data_files_count"] == 0
    one = lake.rewrite("t", {**options, "max-files-to-rewrite": "1"}, strategy="sort")
    assert one["rewritten_data_files_count"] == 1
    assert lake.rewrite("t", options, strategy="sort")["rewritten_data_files_count"] == 2
    assert lake.rewrite("t", options, strategy="sort")["rewritten_data_files_count"] == 0
    for path in paths(lake):
        keys = pq.read_table(path)["key"].to_pylist()
        assert keys == sorted(keys)
    with lake.table("t").update_sort_order() as update:
        update.desc("id", IdentityTransform(), NullOrder.NULLS_LAST)
    assert lake.rewrite("t", options, strategy="sort")["rewritten_data_files_count"] == 3, "another order"


def test_as_many_as_may_be(lake: Any) -> None:
    lake.create("t", [part(day) for day in range(6)])
    few = {**DEPTH, "max-files-to-rewrite": "2"}
    found = [lake.rewrite("t", few, strategy="sort", sorted_by=["key"])["rewritten_data_files_count"] for _ in range(5)]
    assert found == [2, 2, 2, 2, 0]
    assert depth(lake, sorted_by=["key"]) == 2


def test_orders_by_days_and_wrong_numbers(lake: Any) -> None:
    moments = pa.table({"at": pa.array(range(0, 86_400_000_000 * 4, 3_600_000_000), pa.timestamp("us"))})
    table = lake.create("t", [moments.slice(start, 24) for start in range(0, 96, 24)] * 2)
    with table.update_sort_order() as update:
        update.asc("at", DayTransform(), NullOrder.NULLS_FIRST)
    assert depth(lake) == 1, "files of one day each: no sort by day parts those of the same day"
    for wrong in ("1", "many"):
        with pytest.raises(ProcessionError, match="min-overlap-depth must be"):
            lake.rewrite("t", {"min-overlap-depth": wrong}, strategy="sort")
    with pytest.raises(ProcessionError, match=r"Cannot use options \[min-overlap-depth\]"):
        lake.rewrite("t", {"min-overlap-depth": "3"})


@pytest.mark.parametrize("order", ["text", "hilbert(key, other)"])
@pytest.mark.parametrize("size", [3_000, 8_000])
def test_one_sort_is_one_run(lake: Any, monkeypatch: pytest.MonkeyPatch, order: str, size: int) -> None:
    """Many files of one sort, whose bounds overlap as they are cut or along a curve, count as one."""
    monkeypatch.setattr(range_sorting, "_SMALL_BYTES", 0)
    monkeypatch.setattr(spreading, "_RANGE_BYTES", 20_000)
    lake.create("t", [part(day) for day in range(6)])
    assert depth(lake, sorted_by=[order]) == 6
    options = {"target-file-size-bytes": str(size), "rewrite-all": "true"}
    assert lake.rewrite("t", options, strategy="sort", sorted_by=[order])["added_data_files_count"] > 2
    assert depth(lake, sorted_by=[order]) == 1
    assert depth(lake, sorted_by=["other"]) > 1, "a run of another order is none of this one"
