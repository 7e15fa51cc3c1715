"""Equality deletes between appends: each data file meets other ones. In memory at once, and in passes over few keys."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from coordinator.kernels import equality

ROUNDS, ROWS = 6, 40


def rows(number: int) -> pa.Table:
    ids = range(number * 10, number * 10 + ROWS)
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{i % 4}" for i in ids], "round": [number] * ROWS})


@pytest.mark.parametrize("memory", [420 << 20, 1000])
def test_only_rows_older_than_a_delete_go(lake: Any, foreign: Any, monkeypatch: Any, memory: int) -> None:
    monkeypatch.setattr(equality, "MEMORY_BYTES", memory)
    kept: list[tuple[int, str, int]] = []
    lake.create("t", [rows(0).slice(0, 0)])
    for number in range(ROUNDS):
        lake.table("t").append(rows(number))
        kept += [tuple(row.values()) for row in rows(number).to_pylist()]
        gone = {number * 10 + i for i in range(0, ROWS, 3)}
        keys = [(number * 10 + i, f"n{i % 4}") for i in range(ROWS)]
        foreign.delete_equal(lake.table("t"), pa.table({"id": pa.array(sorted(gone), pa.int64())}))
        pairs = pa.table({"id": pa.array([i for i, _ in keys], pa.int64()), "name": [n for _, n in keys]})
        foreign.delete_equal(lake.table("t"), pairs)
        kept = [row for row in kept if row[0] not in gone and row[:2] not in keys]
    assert 0 < len(kept) < ROUNDS * ROWS
    result = lake.rewrite("t", {"rewrite-all": "true"})
    assert result["rewritten_rows_count"] == len(kept)
    assert result["removed_delete_files_count"] == 2 * ROUNDS
    assert lake.rows("t") == sorted(kept)


def test_files_that_need_unlike_deletes(lake: Any, foreign: Any, monkeypatch: Any) -> None:
    """As with deletes of several partitions in a group of files that move to another spec."""
    deletes = [frozenset({0, 1}), frozenset({1, 2}), frozenset({3})]
    sets = equality.EqualityCache(_task(deletes), [(n, pa.table({"1": [n, n + 10]})) for n in range(4)])
    for need in deletes:
        gone = {value for n in need for value in (n, n + 10)}
        masks = [applied.keep_mask([pa.array(range(20))]) for applied in sets.of(sorted(need))]
        found = {i for mask in masks if mask is not None for i, keep in enumerate(mask) if not keep}
        assert found == gone


def _task(needs: list[frozenset[int]]) -> Any:
    from coordinator.kernels.tasks import DeleteFile, Input, Output, WriteTask

    field = {"id": 1, "name": "id", "required": False, "type": "long"}
    inputs = [Input(f"/{i}", 1, equality=sorted(need)) for i, need in enumerate(needs)]
    files = [DeleteFile(f"/d{i}", 1, [field]) for i in range(4)]
    return WriteTask([field], inputs, Output("/", "x"), equality_deletes=files)
