"""New files have the target size on disk, whatever the old files were: other codec, deleted rows, another order."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TARGET = 150_000


def numbers(seed: int, rows: int = 4000) -> pa.Table:
    chosen = random.Random(seed)
    ids = [chosen.getrandbits(40) for _ in range(rows)]
    values = [float("nan") if i % 50 == 0 else float(i) for i in ids]
    return pa.table({"id": pa.array(ids, pa.int64()), "value": values, "text": [f"{i:x}" for i in ids]})


def sizes(lake: Any, name: str) -> list[int]:
    return sorted((task.file.file_size_in_bytes for task in lake.table(name).scan().plan_files()), reverse=True)


def check(lake: Any, rows: list[Any]) -> None:
    found = sizes(lake, "t")
    assert len(found) > 1
    assert all(abs(size - TARGET) <= 0.1 * TARGET for size in found[:-1])
    assert found[-1] <= 1.1 * TARGET
    assert repr(lake.rows("t")) == repr(rows)
    assert lake.orphans("t") == set()
    for task in lake.table("t").scan().plan_files():
        data = pq.read_table(task.file.file_path.removeprefix("file://"))
        nans = duckdb.sql("SELECT count(*) FROM data WHERE isnan(value)").fetchall()
        assert nans == [(task.file.nan_value_counts[2],)]
        assert task.file.record_count == data.num_rows


@pytest.mark.parametrize("codec", ["uncompressed", "zstd"])
def test_another_codec(lake: Any, codec: str) -> None:
    """Uncompressed files become smaller: cut by their old sizes, new files would be too small."""
    lake.create("t", [numbers(i) for i in range(8)], properties={"write.parquet.compression-codec": codec})
    rows = lake.rows("t")
    with lake.table("t").transaction() as transaction:
        transaction.set_properties({"write.parquet.compression-codec": "zstd"})
    lake.rewrite("t", {"target-file-size-bytes": str(TARGET), "rewrite-all": "true"})
    check(lake, rows)


def test_deleted_rows(lake: Any, foreign: Any) -> None:
    table = lake.create("t", [numbers(i) for i in range(8)])
    paths = [task.file.file_path for task in table.scan().plan_files()]
    foreign.delete_positions(table, {path: range(0, 4000, 2) for path in paths})
    rows = lake.rows("t")
    lake.rewrite("t", {"target-file-size-bytes": str(TARGET), "rewrite-all": "true"})
    check(lake, rows)


def test_sorted_rows(lake: Any) -> None:
    lake.create("t", [numbers(i) for i in range(8)])
    rows = lake.rows("t")
    lake.rewrite("t", {"target-file-size-bytes": str(TARGET), "rewrite-all": "true"}, strategy="sort", sorted_by=["id"])
    check(lake, rows)
    bounds = []
    for task in lake.table("t").scan().plan_files():
        ids = pq.read_table(task.file.file_path.removeprefix("file://")).column("id").to_pylist()
        assert ids == sorted(ids)
        bounds.append((ids[0], ids[-1]))
    bounds.sort()
    assert all(a[1] <= b[0] for a, b in pairwise(bounds)), "the order goes over all files"


def test_much_deleted_leaves_one_file(lake: Any, foreign: Any) -> None:
    table = lake.create("t", [numbers(i) for i in range(4)])
    paths = [task.file.file_path for task in table.scan().plan_files()]
    foreign.delete_positions(table, {path: [i for i in range(4000) if i % 40] for path in paths})
    rows = lake.rows("t")
    result = lake.rewrite("t", {"target-file-size-bytes": str(TARGET), "rewrite-all": "true"})
    assert result["added_data_files_count"] == 1
    assert repr(lake.rows("t")) == repr(rows)
    assert lake.orphans("t") == set()
