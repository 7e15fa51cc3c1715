"""Equality deletes turned into positions: the same rows, by readers that know no equality deletes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.manifest import DataFileContent
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile

from coordinator.kernels.vector_blob import puffin_with
from shared.errors import ErrorCode, ProcessionError


def part(start: int, rows: int = 100) -> pa.Table:
    names = [None if i % 10 == 0 else f"n{i % 7}" for i in range(start, start + rows)]
    return pa.table({"id": pa.array(range(start, start + rows), pa.int64()), "name": names, "x": [0.5] * rows})


def convert(lake: Any, name: str = "t", **given: Any) -> list[tuple[Any, ...]]:
    result = lake.call("convert_equality_deletes", schema=lake.schema, table_name=name, **given)
    return [tuple(row) for row in result.rows]


def contents(table: Any) -> list[DataFileContent]:
    manifests = table.current_snapshot().manifests(table.io)
    return [entry.data_file.content for m in manifests for entry in m.fetch_manifest_entry(table.io)]


def test_rows_stay_deleted_and_every_file_is_accounted_for(lake: Any, foreign: Any) -> None:
    table = lake.create("t", [part(0), part(100)])
    first = next(f for f in table.inspect.files().to_pylist() if f["readable_metrics"]["id"]["lower_bound"] == 0)
    foreign.delete_positions(table, {first["file_path"]: [3, 4]})
    foreign.delete_equal(table, pa.table({"id": pa.array([4, 5, 150, 999], pa.int64())}))
    table.append(part(0, 10))  # newer rows with the same keys live on
    keys = pa.table({"name": pa.array([None, "n1"], pa.string()), "id": pa.array([10, 8], pa.int64())})
    foreign.delete_equal(table, keys)
    rows = convert(lake, dry_run=True)
    assert sorted((row[1], row[2], row[3]) for row in rows) == [(["id"], 4, 2), (["name", "id"], 2, 3)]
    assert convert(lake) == [(2, 3, 5)]
    table.refresh()
    assert DataFileContent.EQUALITY_DELETES not in contents(table)
    found = sorted(table.scan().to_arrow().column("id").to_pylist())
    old, new = set(range(200)) - {3, 4, 5, 8, 10, 150}, set(range(10)) - {8}
    assert found == sorted([*old, *new])
    summary = table.current_snapshot().summary
    assert (summary.operation.value, summary["removed-equality-delete-files"]) == ("replace", "2")
    assert (summary["added-position-delete-files"], summary["removed-equality-deletes"]) == ("3", "6")
    assert lake.orphans("t") == set()
    assert convert(lake) == [(0, 0, 0)]
    assert lake.connector.journal.open_entries("lab") == []


@pytest.mark.parametrize("name", ["v2_eqdel", "v2_eqdel_part"])
def test_tables_of_iceberg_java(java_lake: Any, java_rows: Any, tmp_path: Path, monkeypatch: Any, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    lake = java_lake(tmp_path)
    (row,) = convert(lake, name)
    assert row[0] > 0
    table = lake.other.load_table(f"fx.{name}")
    assert DataFileContent.EQUALITY_DELETES not in contents(table)
    data = table.scan().to_arrow()
    assert java_rows.found(data) == java_rows.expected(tmp_path, name, data.schema)


def test_a_file_that_the_deletes_apply_to_as_well_is_a_conflict(lake: Any, foreign: Any, monkeypatch: Any) -> None:
    table = lake.create("t", [part(0), part(100)])
    foreign.delete_equal(table, pa.table({"id": pa.array([4, 150], pa.int64())}))
    before = lake.files("t")
    compacted: list[Any] = []

    def compact(_kernel: str, _number: int) -> None:
        if not compacted:
            lake.workers.before = lambda _kernel, _number: None
            compacted.append(lake.rewrite("t", {"rewrite-all": "true"}))

    lake.workers.before = compact
    with pytest.raises(ProcessionError) as caught:
        convert(lake)
    assert caught.value.code is ErrorCode.TRANSACTION_CONFLICT
    assert len(compacted) == 1
    assert len(lake.rows("t")) == 198
    assert not [file for file in lake.files("t") - before if "deletes" in file], "nothing of ours is left"
    assert convert(lake) == [(0, 0, 0)]


def test_an_append_meanwhile_is_none(lake: Any, foreign: Any) -> None:
    table = lake.create("t", [part(0)])
    foreign.delete_equal(table, pa.table({"id": pa.array([4, 5], pa.int64())}))
    lake.workers.before = lambda _kernel, _number: lake.table("t").append(part(500, 3))
    assert convert(lake) == [(1, 1, 2)]
    assert len(lake.rows("t")) == 101


POSITIONS = st.sets(st.integers(0, 70_000) | st.integers(0, (1 << 40)), min_size=1, max_size=60)


@settings(deadline=None)
@given(POSITIONS, st.integers(0, 200_000), st.integers(1, 9000))
def test_vectors_are_those_that_pyiceberg_reads(some: set[int], start: int, run: int) -> None:
    positions = np.array(sorted(some | set(range(start, start + run))), np.int64)
    data, offset, length = puffin_with(positions, "file:/data.parquet")
    assert data[offset : offset + length][4:8] == bytes.fromhex("d1d33964")
    (vector,) = deletion_vectors_from_puffin_file(PuffinFile(data))
    assert vector.referenced_data_file == "file:/data.parquet"
    assert vector.to_vector().to_pylist() == positions.tolist()
