"""Rows that equality deletes take out of files, found anew and kept, beside the tuples themselves."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.kernels import cache, equality, equality_rows
from coordinator.kernels.equality_rows import bits_taken_out, known_files
from coordinator.kernels.tasks import DeleteFile, Input, Output, WriteTask

FIELDS = [
    {"id": 1, "name": "a", "type": "long", "required": False},
    {"id": 2, "name": "b", "type": "string", "required": False},
]
VALUES = st.tuples(st.none() | st.integers(0, 6), st.none() | st.sampled_from("xyz"))
Row = tuple[Any, ...]


def written(folder: Path, rows: Sequence[Row], columns: Sequence[int]) -> tuple[str, int]:
    """A file of a name of its own, as those of tables have."""
    kinds = [pa.int64(), pa.string()]
    fields = [
        pa.field(FIELDS[i]["name"], kinds[i], metadata={"PARQUET:field_id": str(FIELDS[i]["id"])}) for i in columns
    ]
    arrays = [pa.array([row[place] for row in rows], field.type) for place, field in enumerate(fields)]
    path = folder / f"{secrets.token_hex(8)}.parquet"
    pq.write_table(pa.table(arrays, schema=pa.schema(fields)), path, row_group_size=5)
    return str(path), path.stat().st_size


def task_of(files: Sequence[Input], deletes: Sequence[DeleteFile]) -> WriteTask:
    return WriteTask(FIELDS, list(files), Output("", ""), equality_deletes=list(deletes))


def places(bits: Any, count: int) -> list[int]:
    """Unpacked by hand: the first row is the highest bit."""
    assert len(bits) in (0, -(-count // 8))
    return [row for row in range(count) if len(bits) and bits[row // 8] >> (7 - row % 8) & 1]


@settings(max_examples=60)
@given(data=st.data())
def test_any_files_and_deletes_that_come_and_go(tmp_path_factory: Any, data: st.DataObject) -> None:
    """Statements over several snapshots: each file meets more deletes than before, fewer, or others."""
    folder = tmp_path_factory.mktemp("equality")
    held = [data.draw(st.lists(VALUES, min_size=1, max_size=20)) for _ in range(data.draw(st.integers(1, 3)))]
    keys: list[tuple[tuple[int, ...], list[Row]]] = []
    for columns in data.draw(st.lists(st.sampled_from([(0,), (1,), (0, 1)]), min_size=1, max_size=4)):
        found = data.draw(st.lists(VALUES, min_size=1, max_size=4))
        keys.append((columns, [tuple(row[i] for i in columns) for row in found]))
    files = [written(folder, rows, (0, 1)) for rows in held]
    deletes = [
        DeleteFile(*written(folder, rows, columns), fields=[FIELDS[i] for i in columns], keys=len(rows))
        for columns, rows in keys
    ]
    for threads in (1, 2, 1):
        needs = [data.draw(st.sets(st.integers(0, len(keys) - 1))) for _ in held]
        items = [Input(*file, equality=sorted(need)) for file, need in zip(files, needs, strict=True)]
        task = task_of(items, deletes)
        bits = bits_taken_out(task, items, threads)
        for rows, need, found in zip(held, needs, bits, strict=True):
            gone = [
                number
                for number, row in enumerate(rows)
                if any(tuple(row[i] for i in keys[n][0]) in keys[n][1] for n in need)
            ]
            assert places(found, len(rows)) == gone
        assert known_files(task, items) == [True] * len(items)


def test_only_new_deletes_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in passes, where the keys do not fit into memory together; and all of them after the cache is cleared."""
    item = Input(*written(tmp_path, [(i, "x") for i in range(100)], (0, 1)))
    keys = [written(tmp_path, [(number,), (number + 50,)], (0,)) for number in range(3)]
    deletes = [DeleteFile(*file, fields=FIELDS[:1], keys=2) for file in keys]
    read: list[str] = []
    plain = equality.key_batches
    monkeypatch.setattr(equality, "key_batches", lambda file, *rest: (read.append(file.path), plain(file, *rest))[1])
    monkeypatch.setattr(equality, "MEMORY_BYTES", 1)
    # Fewer than are known are looked for anew, since nothing tells which of the rows is whose.
    for wanted, new in (([0], [0]), ([0, 1], [1]), ([0, 1, 2], [2]), ([1, 2], [1, 2]), ([0, 1, 2], [0])):
        asked = [Input(item.path, item.size, equality=wanted)]
        read.clear()
        (bits,) = bits_taken_out(task_of(asked, deletes), asked)
        assert places(bits, 100) == sorted([*wanted, *(50 + number for number in wanted)])
        assert read == [deletes[number].path for number in new]
    cache.clear(b"")
    assert known_files(task_of(asked, deletes), asked) == [False]


def test_what_is_kept_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes from the cache while a statement asks for it is told all the same."""
    small: cache.FileCache[cache.TakenOut] = cache.FileCache(lambda found: len(found.bits), limit=4)
    monkeypatch.setattr(equality_rows, "TAKEN_OUT", small)
    deletes = [DeleteFile(*written(tmp_path, [(3,)], (0,)), fields=FIELDS[:1], keys=1)]
    items = [Input(*written(tmp_path, [(i, "x") for i in range(24)], (0, 1)), equality=[0]) for _ in range(3)]
    task = task_of(items, deletes)
    assert [places(bits, 24) for bits in bits_taken_out(task, items)] == [[3]] * 3
    assert known_files(task, items) == [False, False, True]


def test_files_without_deletes_cost_nothing(tmp_path: Path) -> None:
    items = [Input(str(tmp_path / "nowhere.parquet"), 1)]
    (bits,) = bits_taken_out(task_of(items, []), items)
    assert np.array_equal(bits, np.zeros(0, np.uint8))


def test_tables_that_say_otherwise_of_the_same_files_share_nothing(tmp_path: Path) -> None:
    """As a table may whose metadata somebody made up: other columns are compared, or a file's partition is another."""
    item = Input(*written(tmp_path, [(i, "x") for i in range(10)], (0,)), equality=[0])
    path, size = written(tmp_path, [(3, "y"), (5, "x")], (0, 1))
    of_number = task_of([item], [DeleteFile(path, size, fields=FIELDS[:1], keys=2)])
    of_text = task_of([item], [DeleteFile(path, size, fields=FIELDS[1:], keys=2)])
    for text, gone in (("x", list(range(10))), ("z", []), (None, [])):
        placed = [replace(item, constants={} if text is None else {"2": text})]
        assert places(bits_taken_out(of_number, [item])[0], 10) == [3, 5]
        assert places(bits_taken_out(of_text, placed)[0], 10) == gone


@pytest.mark.parametrize(
    ("keys", "read"),
    [
        ([(33, "x"), (36, "y")], [(6, 8)]),
        ([(33, "x"), (None, "y")], [None]),
        ([(700, "x")], []),
        ([(33, "q")], []),
        ([(33, None)], [(6, 7)]),
    ],
    ids=["two", "null", "beyond", "other text", "null text"],
)
def test_row_groups_that_hold_no_such_key_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: list[Row], read: list[object]
) -> None:
    """Twenty row groups of five rows; a range is known of columns without NULL among the keys."""
    rows = [(i, None if i % 7 == 0 else "xy"[i % 2]) for i in range(100)]
    item = Input(*written(tmp_path, rows, (0, 1)), equality=[0])
    deletes = [DeleteFile(*written(tmp_path, keys, (0, 1)), fields=FIELDS, keys=len(keys))]
    opened: list[object] = []
    reader = equality_rows.FileReader
    monkeypatch.setattr(
        equality_rows, "FileReader", lambda part, *rest: (opened.append(part.groups), reader(part, *rest))[1]
    )
    (bits,) = bits_taken_out(task_of([item], deletes), [item])
    assert places(bits, 100) == [number for number, row in enumerate(rows) if row in keys]
    assert opened == read
