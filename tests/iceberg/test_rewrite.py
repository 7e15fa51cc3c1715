"""rewrite_data_files from call to commit, on tables that PyIceberg wrote and reads back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def numbers(start: int, count: int = 50) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"row {i}" for i in ids], "x": [i / 3 for i in ids]})


def test_small_files_become_one_and_rows_stay(lake: Any) -> None:
    lake.create("t", [numbers(i * 50) for i in range(8)])
    before = lake.rows("t")
    result = lake.rewrite("t")
    assert result["rewritten_data_files_count"] == 8
    assert result["added_data_files_count"] == 1
    assert result["rewritten_rows_count"] == 400
    assert lake.rows("t") == before
    assert lake.orphans("t") == set()
