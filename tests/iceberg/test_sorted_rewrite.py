"""Sorting rewrites by our own kernels: one order over all files, against DuckDB's ORDER BY over the same rows."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table.sorting import NullOrder
from pyiceberg.transforms import DayTransform, IdentityTransform, TruncateTransform

from coordinator.connectors.iceberg.rewrite.writing import sorting as range_sorting
from coordinator.connectors.iceberg.rewrite.writing import spreading
from coordinator.kernels import scratch, sorting
from shared.errors import ErrorCode, ProcessionError


@pytest.fixture(params=["in memory", "over ranges"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Small groups in one task, or all steps of large ones with runs and ranges of a few rows."""
    if request.param == "over ranges":
        ranges(monkeypatch)
    return str(request.param)


def ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_sorting, "_SMALL_BYTES", 0)
    monkeypatch.setattr(spreading, "_RANGE_BYTES", 20_000)
    monkeypatch.setattr(spreading, "_SCATTER_BYTES", 30_000)
    monkeypatch.setattr(scratch, "_RUN_BYTES", 40_000)
    monkeypatch.setattr(sorting, "_PASS_BYTES", 40_000)


def rows(seed: int, count: int = 700) -> pa.Table:
    random = np.random.default_rng(seed)
    numbers = random.integers(-500, 500, count).tolist()
    ratio = random.normal(size=count)
    ratio[::31], ratio[::37], ratio[::41] = np.nan, np.inf, -np.inf

    def some(values: list[Any]) -> list[Any]:
        return [None if i % 23 == 5 else v for i, v in enumerate(values)]

    return pa.table(
        {
            "id": pa.array(range(seed * count, (seed + 1) * count), pa.int64()),
            "number": pa.array(some(numbers), pa.int32()),
            "flag": pa.array(some([n > 0 for n in numbers])),
            "ratio": pa.array(ratio.tolist()),
            "small": pa.array(some([n / 7 for n in numbers]), pa.float32()),
            "text": pa.array(some([f"{'é' if n % 2 else 'z'}{n % 40}" for n in numbers])),
            "raw": pa.array(some([bytes([n % 256, 255, 0]) for n in numbers]), pa.binary()),
            "price": pa.array(some([Decimal(n).scaleb(-2) for n in numbers]), pa.decimal128(9, 2)),
            "big": pa.array(some([Decimal(n) * 10**25 for n in numbers]), pa.decimal128(38, 3)),
            "day": pa.array(some(numbers), pa.int32()).cast(pa.date32()),
            "moment": pa.array(some([n * 3_600_000_000 for n in numbers]), pa.timestamp("us", "UTC")),
        }
    )


def in_file_order(lake: Any, columns: str) -> list[tuple[Any, ...]]:
    """The rows of the table as they stand in its files, those in the order of their names."""
    paths = sorted(task.file.file_path.removeprefix("file://") for task in lake.table("t").scan().plan_files())
    return rows_of(pa.concat_tables([pq.read_table(path) for path in paths]), columns)


def expected(parts: list[pa.Table], columns: str, order: str) -> list[tuple[Any, ...]]:
    return rows_of(pa.concat_tables(parts), f"{columns}", f"ORDER BY {order}")


def rows_of(data: pa.Table, columns: str, rest: str = "") -> list[tuple[Any, ...]]:
    assert data.num_rows
    return duckdb.sql(f"SELECT {columns} FROM data {rest}").fetchall()


CASES = [
    ["number", "id"],
    ["number DESC NULLS FIRST", "id DESC"],
    ["flag DESC", "text NULLS LAST", "id"],
    ["ratio", "id"],
    ["ratio DESC", "id"],
    ["small DESC NULLS LAST", "text DESC", "id"],
    ["text", "number DESC", "id"],
    ["raw DESC NULLS LAST", "id"],
    ["price NULLS LAST", "day DESC", "big", "id"],
    ["big DESC NULLS FIRST", "id"],
    ["moment", "id"],
    ["day DESC", "id"],
]


def in_duckdb(entry: str) -> str:
    """With Iceberg's default null order: first when ascending, last when descending."""
    if "NULLS" in entry:
        return entry
    return f"{entry} NULLS {'LAST' if 'DESC' in entry else 'FIRST'}"


@pytest.mark.parametrize("sorted_by", CASES, ids=",".join)
def test_rows_are_in_one_order(lake: Any, way: str, sorted_by: list[str]) -> None:
    parts = [rows(seed) for seed in range(6)]
    lake.create("t", parts)
    result = lake.rewrite("t", strategy="sort", sorted_by=sorted_by)
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (6, 1)
    order = ", ".join(map(in_duckdb, sorted_by))
    assert in_file_order(lake, "id") == expected(parts, "id", order)
    assert lake.workers.statements == []
    assert lake.orphans("t") == set()
    assert set(lake.rewrite("t", strategy="sort", sorted_by=sorted_by).values()) == {0}


def test_files_of_the_target_size_follow_one_another(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges(monkeypatch)
    parts = [rows(seed, 3000) for seed in range(6)]
    lake.create("t", parts)
    total = sum(task.file.file_size_in_bytes for task in lake.table("t").scan().plan_files())
    lake.rewrite(
        "t", {"target-file-size-bytes": str(total // 5), "rewrite-all": "true"}, strategy="sort", sorted_by=["id DESC"]
    )
    files = sorted((t.file for t in lake.table("t").scan().plan_files()), key=lambda f: f.file_path)
    assert len(files) >= 4
    bounds = [(int.from_bytes(f.lower_bounds[1], "little"), int.from_bytes(f.upper_bounds[1], "little")) for f in files]
    assert all(low > high for (low, _), (_, high) in pairwise(bounds)), bounds
    # Row groups this small are a large part of a file, so sizes are coarse; the last file is what is left.
    assert all(0.5 < f.file_size_in_bytes / (total // 5) < 1.5 for f in files[:-1])
    assert in_file_order(lake, "id") == expected(parts, "id", "id DESC")


def test_a_key_that_most_rows_have_is_not_sorted_in_one_piece(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges(monkeypatch)
    monkeypatch.setattr(sorting, "_LARGE_RANGE", 60_000)
    kind = [0 if i % 10 else i for i in range(4000)]
    parts = [
        pa.table({"kind": pa.array(kind, pa.int64()), "id": pa.array(range(s, s + 4000), pa.int64())})
        for s in range(0, 24_000, 4000)
    ]
    lake.create("t", parts)
    lake.rewrite("t", strategy="sort", sorted_by=["kind"])
    assert in_file_order(lake, "kind") == expected(parts, "kind", "kind")
    assert lake.rows("t") == expected(parts, "*", "ALL")


@pytest.mark.parametrize("sorted_by", [["text", "id"], ["hilbert(id, text)"]], ids=["columns", "curve"])
def test_a_misjudged_range_is_sorted_in_passes(
    lake: Any, monkeypatch: pytest.MonkeyPatch, sorted_by: list[str]
) -> None:
    ranges(monkeypatch)
    monkeypatch.setattr(spreading, "_RANGE_BYTES", 1 << 30)
    monkeypatch.setattr(sorting, "_LARGE_RANGE", 50_000)
    parts = [rows(seed) for seed in range(6)]
    lake.create("t", parts)
    lake.rewrite("t", strategy="sort", sorted_by=sorted_by)
    if sorted_by[0] == "text":
        assert in_file_order(lake, "id") == expected(parts, "id", "text NULLS FIRST, id")
    assert sorted(in_file_order(lake, "id")) == expected(parts, "id", "id")


def test_the_tables_own_order_with_transforms(lake: Any, way: str) -> None:
    parts = [rows(seed) for seed in range(5)]
    table = lake.create("t", parts)
    with table.update_sort_order() as update:
        update.asc("moment", DayTransform(), NullOrder.NULLS_FIRST).desc("number", TruncateTransform(100)).asc(
            "id", IdentityTransform()
        )
    lake.rewrite("t", strategy="sort")
    order = "date_trunc('day', moment) NULLS FIRST, (number - ((number % 100) + 100) % 100) DESC NULLS LAST, id"
    assert in_file_order(lake, "id") == expected(parts, "id", order)
    (task,) = lake.table("t").scan().plan_files()
    assert task.file.sort_order_id == lake.table("t").sort_order().order_id


def test_deleted_rows_are_left_out(lake: Any, way: str, foreign: Any) -> None:
    parts = [rows(seed) for seed in range(5)]
    lake.create("t", parts)
    path = next(iter(lake.table("t").scan().plan_files())).file.file_path
    foreign.delete_positions(lake.table("t"), {path: list(range(0, 700, 2))})
    foreign.delete_equal(lake.table("t"), pa.table({"id": pa.array([5, 1405], pa.int64())}))
    result = lake.rewrite("t", strategy="sort", sorted_by=["text", "id"])
    assert result["removed_delete_files_count"] == 2
    gone = {(i,) for i in (5, 1405)}
    kept = [row for row in expected(parts, "id, text", "text NULLS FIRST, id") if (row[0],) not in gone]
    found = in_file_order(lake, "id, text")
    assert len(found) == result["rewritten_rows_count"] == len(kept) - 350 + (5 % 2 == 0)
    assert [row for row in kept if row in set(found)] == found


@pytest.mark.parametrize("curve", ["zorder", "hilbert"])
def test_curves_keep_close_rows_together(lake: Any, way: str, curve: str) -> None:
    side = 64
    points = np.random.default_rng(3).permutation(side * side)
    table = pa.table(
        {
            "x": pa.array(points // side, pa.int64()),
            "y": pa.array((points % side).astype(float) ** 3),
            "label": [f"prefix {p // side:04d}" for p in points.tolist()],
        }
    )
    lake.create("t", [table.slice(i * 512, 512) for i in range(8)])
    lake.rewrite("t", strategy="sort", sorted_by=[f"{curve}(x, y)"])
    found = in_file_order(lake, "x, y")
    assert sorted(found) == expected([table], "x, y", "ALL")
    # A sixteenth of the rows covers about a quarter of each axis; in the order of one column it would cover all.
    for start in range(0, side * side, side * side // 16):
        xs, ys = zip(*found[start : start + side * side // 16], strict=True)
        assert len(set(xs)) <= side // 2
        assert len(set(ys)) <= side // 2


def test_every_primitive_type_lies_on_a_curve(lake: Any, way: str) -> None:
    parts = [rows(seed) for seed in range(5)]
    lake.create("t", parts)
    columns = ", ".join(parts[0].column_names)
    options = {"var-length-contribution": "2", "max-output-size": "16"}
    result = lake.rewrite("t", options, strategy="sort", sorted_by=[f"zorder({columns})"])
    assert result["rewritten_rows_count"] == 3500
    assert sorted(in_file_order(lake, "id")) == expected(parts, "id", "id")


def test_a_failed_sort_leaves_nothing_behind(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges(monkeypatch)
    lake.create("t", [rows(seed) for seed in range(5)])
    before = lake.files("t")

    def before_task(kernel: str, number: int) -> None:
        if kernel == "sorting:gather" and number == 0:
            assert lake.files("t") > before, "scratch files are there by now"
            raise ProcessionError(ErrorCode.REMOTE_TASK_ERROR, "lost")

    lake.workers.before = before_task
    with pytest.raises(ProcessionError, match="lost"):
        lake.rewrite("t", strategy="sort", sorted_by=["id"])
    assert lake.files("t") == before
