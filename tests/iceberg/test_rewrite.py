"""rewrite_data_files from call to commit, on tables that PyIceberg wrote and reads back."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from shared.errors import ErrorCode, ProcessionError


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


def test_bloom_filters_that_the_table_asks_for_are_in_the_new_file(lake: Any) -> None:
    """DuckDB reads them: a value that no filter knows excludes its row group, one that is there never does."""
    table = lake.create("t", [numbers(i * 1000, 1000) for i in range(6)])
    with table.transaction() as transaction:
        transaction.set_properties(
            {
                "write.parquet.bloom-filter-enabled.column.name": "true",
                "write.parquet.bloom-filter-enabled.column.id": "true",
                "write.parquet.bloom-filter-fpp.column.id": "0.001",
            }
        )
    lake.rewrite("t")
    (task,) = lake.table("t").scan().plan_files()
    path = task.file.file_path.removeprefix("file://")
    filters = duckdb.sql(f"SELECT path_in_schema, bloom_filter_offset FROM parquet_metadata('{path}')").fetchall()
    assert {name for name, offset in filters if offset is not None} == {"id", "name"}

    def excluded(value: str) -> list[bool]:
        return [row[0] for row in duckdb.sql(
            f"SELECT bloom_filter_excludes FROM parquet_bloom_probe('{path}', 'name', '{value}')"
        ).fetchall()]  # fmt: skip

    assert not any(excluded(f"row {i}")[0] for i in range(0, 6000, 97))
    assert sum(excluded(f"no row {i}")[0] for i in range(200)) > 180


def test_encrypted_files_are_refused_before_any_work(lake: Any, foreign: Any) -> None:
    table = lake.create("t", [numbers(i * 50) for i in range(6)])
    entry = next(iter(table.scan().plan_files())).file
    entry._data[12] = b"key"
    with table.transaction() as transaction, transaction.update_snapshot().overwrite() as overwrite:
        overwrite.delete_data_file(entry)
        overwrite.append_data_file(entry)
    before = lake.files("t")
    with pytest.raises(ProcessionError, match="the file is encrypted") as failure:
        lake.rewrite("t")
    assert failure.value.code is ErrorCode.NOT_SUPPORTED
    assert lake.files("t") == before
