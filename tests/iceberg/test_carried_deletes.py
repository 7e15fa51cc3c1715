"""Position deletes and deletion vectors that arrive while a rewrite runs: its work lands, and no row comes back."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import ManifestContent

from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from coordinator.connectors.iceberg.rewrite.equality_conversion import position_delete_entry
from coordinator.connectors.iceberg.rewrite.planning.tasks import position_delete
from coordinator.connectors.iceberg.snapshots.convert_deletes import ConvertDeletes
from coordinator.kernels.deletion_vectors import read_vector
from coordinator.kernels.positions import write_positions
from coordinator.kernels.tasks import Output
from shared.errors import ErrorCode, ProcessionError

SEEDS = range(2000 if os.environ.get("PROCESSION_TEST_FULL") else 10)


def numbers(start: int, count: int) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"row {i}" for i in ids]})


def meanwhile(lake: Any, *actions: Callable[[], None]) -> None:
    """One action before each of the next tasks of the kernels, but not before those of an action."""
    waiting = list(actions)

    def before(_kernel: str, _number: int) -> None:
        if waiting:
            lake.workers.before = lambda _kernel, _number: None
            waiting.pop(0)()
            lake.workers.before = before

    lake.workers.before = before


def files(lake: Any, name: str = "t") -> dict[int, str]:
    """Paths of data files by the least id in them."""
    tasks = lake.table(name).scan().plan_files()
    return {int.from_bytes(task.file.lower_bounds[1], "little"): task.file.file_path for task in tasks}


def ids(lake: Any, name: str = "t") -> list[int]:
    return [row[0] for row in lake.rows(name)]


def carried(lake: Any, name: str = "t") -> list[LiveFile]:
    """Live delete files."""
    table = lake.table(name)
    return list(read_live(table, table.current_snapshot()).deletes)


def test_each_new_file_gets_one_delete_file_of_its_own(lake: Any, foreign: Any) -> None:
    table = lake.create("t", [numbers(100 * i, 100) for i in range(6)])
    paths = files(lake)
    old = {paths[100]: [0, 5], paths[300]: [99]}
    foreign.delete_positions(table, old)
    new = {paths[0]: [0], paths[100]: [1, 4, 6], paths[500]: [99]}
    meanwhile(lake, lambda: foreign.delete_positions(lake.table("t"), new))
    result = lake.rewrite("t")
    assert result["rewritten_data_files_count"] == 6
    gone = {100, 105, 399, 0, 101, 104, 106, 599}
    assert ids(lake) == [i for i in range(600) if i not in gone]
    (path,) = files(lake).values()
    (delete,) = [d for d in carried(lake) if d.only_data_file is not None and "carried" in d.path]
    assert (delete.only_data_file, delete.file.record_count) == (path.removeprefix("file://"), 5)
    assert lake.orphans("t") == set()


def test_deletes_go_to_the_right_one_of_several_new_files(lake: Any, foreign: Any) -> None:
    random.seed(1)
    parts = [pa.table({"id": pa.array(range(5000 * i, 5000 * i + 5000), pa.int64())}) for i in range(8)]
    lake.create("t", parts)
    paths, size = files(lake), sum(task.file.file_size_in_bytes for task in lake.table("t").scan().plan_files())
    chosen = {paths[5000 * i]: sorted(random.sample(range(5000), 40)) for i in range(8)}
    meanwhile(lake, lambda: foreign.delete_positions(lake.table("t"), chosen))
    options = {"target-file-size-bytes": str(size // 3), "min-file-size-bytes": "1", "rewrite-all": "true"}
    assert lake.rewrite("t", options)["added_data_files_count"] > 1
    gone = {5000 * i + place for i in range(8) for place in chosen[paths[5000 * i]]}
    assert ids(lake) == [i for i in range(40_000) if i not in gone]
    assert len(carried(lake)) > 1


def test_a_delete_file_that_names_no_replaced_file_is_no_conflict_though_its_bounds_may(
    lake: Any, foreign: Any
) -> None:
    """Delete files of a whole partition concern, by their bounds, every file of it: each upsert of Flink's is one."""
    lake.create("t", [numbers(100 * i, 100) for i in range(6)])
    big = pa.table({"id": pa.array(range(10_000, 60_000), pa.int64()), "name": ["x"] * 50_000})
    lake.table("t").append(big)
    lake.table("t").append(pa.table({"id": pa.array(range(60_000, 110_000), pa.int64()), "name": ["y"] * 50_000}))
    paths = files(lake)
    both = {paths[10_000]: [7], paths[60_000]: [8]}
    meanwhile(lake, lambda: foreign.delete_positions(lake.table("t"), both))
    options = {"target-file-size-bytes": "10000000", "min-file-size-bytes": "20000"}
    assert lake.rewrite("t", options, strategy="sort", sorted_by=["id"])["rewritten_data_files_count"]
    assert not {10_007, 60_008} & set(ids(lake))
    assert len(ids(lake)) == 100_598


SORTS: list[dict[str, Any]] = [
    {"strategy": "sort", "sorted_by": ["name"]},
    {"strategy": "sort", "sorted_by": ["zorder(id, name)"]},
]


@pytest.mark.parametrize("given", SORTS, ids=["sorted", "curve"])
@pytest.mark.parametrize("several", [False, True], ids=["one file", "several"])
def test_sorted_rows_are_found_again(lake: Any, foreign: Any, given: dict[str, Any], several: bool) -> None:
    """Rows that are equal in all columns stand for each other: as many stay as should."""
    parts = [pa.concat_tables([numbers(100 * i, 100), numbers(0, 3)]) for i in range(6)]
    table = lake.create("t", parts)
    paths = files_in_order(table)
    foreign.delete_positions(table, {paths[0]: [1], paths[4]: [7, 101]})
    new = {paths[0]: [0, 100], paths[2]: [5, 100, 101, 102], paths[4]: [101, 8]}
    meanwhile(lake, lambda: foreign.delete_positions(lake.table("t"), new))
    options = {"rewrite-all": "true"} | (
        {"target-file-size-bytes": "1000", "min-file-size-bytes": "1"} if several else {}
    )
    result = lake.rewrite("t", options, **given)
    assert (result["added_data_files_count"] > 1) == several
    expected = sorted([*range(600), *range(3), *range(3), *range(3), *range(3), *range(3), *range(3)])
    for gone in (1, 407, 1, 0, 0, 205, 0, 1, 2, 408):
        expected.remove(gone)
    assert ids(lake) == expected
    assert lake.orphans("t") == set()


def files_in_order(table: Any) -> list[str]:
    """Paths of data files as they were appended."""
    tasks = table.scan().plan_files()
    live = {file.path: file.sequence_number for file in read_live(table, table.current_snapshot()).data}
    return sorted((task.file.file_path for task in tasks), key=lambda path: live[path])


@pytest.mark.parametrize("given", [{}, *SORTS], ids=["packed", "sorted", "curve"])
def test_rows_that_equality_deletes_took_out_are_not_looked_for(lake: Any, foreign: Any, given: dict[str, Any]) -> None:
    """Row 1 of the first file goes by its value; a row of the same values that came later stays."""
    table = lake.create("t", [numbers(100 * i, 100) for i in range(6)])
    paths = files(lake)
    foreign.delete_equal(table, pa.table({"id": pa.array([1, 250], pa.int64())}))
    lake.table("t").append(numbers(1, 1))
    meanwhile(lake, lambda: foreign.delete_positions(lake.table("t"), {paths[0]: [1, 3], paths[200]: [0, 50]}))
    lake.rewrite("t", {"rewrite-all": "true"}, **given)
    assert ids(lake) == [i for i in range(600) if i not in (3, 200, 250)]
    assert lake.orphans("t") == set()


@pytest.mark.parametrize("given", [{}, *SORTS], ids=["packed", "sorted", "curve"])
def test_equality_deletes_may_become_positions_meanwhile(lake: Any, foreign: Any, given: dict[str, Any]) -> None:
    table = lake.create("t", [numbers(100 * i, 100) for i in range(6)])
    paths = files(lake)
    foreign.delete_equal(table, pa.table({"id": pa.array([1, 250], pa.int64())}))
    foreign.delete_equal(table, pa.table({"id": pa.array([251], pa.int64())}))

    def convert() -> None:
        lake.call("convert_equality_deletes", schema="db", table_name="t")
        foreign.delete_positions(lake.table("t"), {paths[300]: [0]})

    meanwhile(lake, convert)
    lake.rewrite("t", {"rewrite-all": "true"}, **given)
    assert ids(lake) == [i for i in range(600) if i not in (1, 250, 251, 300)]
    assert lake.orphans("t") == set()


def test_null_in_the_only_column_is_found_again(lake: Any, foreign: Any) -> None:
    parts = [pa.table({"id": pa.array([None, i, i + 1], pa.int64())}) for i in range(0, 12, 2)]
    table = lake.create("t", parts)
    path = files_in_order(table)[0]
    meanwhile(lake, lambda: foreign.delete_positions(lake.table("t"), {path: [0, 2]}))
    lake.rewrite("t", {"rewrite-all": "true"}, strategy="sort", sorted_by=["id"])
    found = ids(lake)
    assert (found.count(None), sorted(i for i in found if i is not None)) == (5, [0, *range(2, 12)])


def test_a_row_that_would_return_is_a_conflict(lake: Any, foreign: Any) -> None:
    """An equality delete that vanished, and whose rows no position names."""
    table = lake.create("t", [numbers(100 * i, 100) for i in range(6)])
    before = table.current_snapshot().snapshot_id
    foreign.delete_equal(table, pa.table({"id": pa.array([1], pa.int64())}))

    def roll_back() -> None:
        lake.call("rollback_to_snapshot", schema="db", table_name="t", snapshot_id=before)

    meanwhile(lake, roll_back)
    with pytest.raises(ProcessionError, match="applied delete files are not live any more") as failure:
        lake.rewrite("t")
    assert failure.value.code is ErrorCode.TRANSACTION_CONFLICT
    assert lake.orphans("t") == set()


def test_a_delete_file_that_is_gone_by_then_is_a_conflict(lake: Any, foreign: Any) -> None:
    """Rows cannot be counted without it, and trying again reads what took its place."""
    table = lake.create("t", [numbers(100 * i, 100) for i in range(6)])
    paths = files(lake)
    foreign.delete_positions(table, {paths[100]: [0]})
    (old,) = carried(lake)

    def arrive() -> None:
        foreign.delete_positions(lake.table("t"), {paths[100]: [1]})

    def vanish() -> None:
        Path(old.path.removeprefix("file://")).unlink()

    lake.workers.parallelism = 1
    begun = lake.workers.run_tasks

    def running(kernel: str, payloads: Sequence[bytes], *, description: str = "") -> Any:
        yield from begun(kernel, payloads, description=description)
        arrive()
        vanish()
        lake.workers.run_tasks = begun

    lake.workers.run_tasks = running
    with pytest.raises(ProcessionError, match="Cannot commit, File is missing from storage") as failure:
        lake.rewrite("t")
    assert failure.value.code is ErrorCode.TRANSACTION_CONFLICT
    assert lake.orphans("t") == set()


def overtaken(lake: Any, monkeypatch: Any, *actions: Callable[[], None]) -> list[int]:
    """One action just before each of the next commits of rewrites, which lose; tasks of the kernels until each."""
    catalog, waiting, tasks = lake.connector.tables_of, list(actions), []
    opened = catalog.open

    def racing(schema: str, name: str) -> Any:
        table = opened(schema, name)
        if waiting and lake.workers.tasks:
            commit = table.catalog.commit_table

            def lose(*given: Any, **more: Any) -> Any:
                tasks.append(lake.workers.tasks)
                if waiting:
                    table.catalog.commit_table = commit
                    waiting.pop(0)()
                    table.catalog.commit_table = lose
                return commit(*given, **more)

            table.catalog.commit_table = lose
        return table

    monkeypatch.setattr(catalog, "open", racing)
    return tasks


def test_deletes_that_come_between_attempts_are_carried_too(lake: Any, foreign: Any, monkeypatch: Any) -> None:
    lake.create("t", [numbers(100 * i, 100) for i in range(6)])
    paths = files(lake)
    meanwhile(lake, lambda: foreign.delete_positions(lake.table("t"), {paths[200]: [50]}))

    def delete(wanted: dict[str, list[int]]) -> None:
        foreign.delete_positions(lake.table("t"), wanted)

    overtaken(lake, monkeypatch, partial(delete, {paths[300]: [1]}), partial(delete, {paths[0]: [0]}))
    assert lake.rewrite("t")["rewritten_data_files_count"] == 6
    monkeypatch.undo()
    assert set(range(600)) - set(ids(lake)) == {250, 301, 0}
    assert lake.orphans("t") == set()


@pytest.mark.parametrize("given", [{}, *SORTS], ids=["packed", "sorted", "curve"])
def test_what_an_attempt_found_is_kept_for_the_next(
    lake: Any, foreign: Any, monkeypatch: Any, given: dict[str, Any]
) -> None:
    """Rows that are equal in all columns among those of one attempt and of the next; an append asks for no task."""
    parts = [pa.concat_tables([numbers(100 * i, 100), numbers(0, 3)]) for i in range(6)]
    paths = files_in_order(lake.create("t", parts))

    def delete(wanted: dict[str, list[int]]) -> None:
        foreign.delete_positions(lake.table("t"), wanted)

    meanwhile(lake, partial(delete, {paths[0]: [0, 101], paths[3]: [7]}))
    actions = [
        partial(delete, {paths[1]: [100, 101]}),
        lambda: lake.table("t").append(numbers(5000, 5)),
        partial(delete, {paths[2]: [100], paths[3]: [7, 8]}),
    ]
    tasks = overtaken(lake, monkeypatch, *actions)
    assert lake.rewrite("t", **given)["rewritten_data_files_count"] == 6
    monkeypatch.undo()
    expected = sorted([*range(600), *(3 * [*range(3)]), *(3 * [*range(3)]), *range(5000, 5005)])
    for gone in (0, 1, 307, 0, 1, 0, 308):
        expected.remove(gone)
    assert ids(lake) == expected
    assert lake.orphans("t") == set()
    assert len(tasks) == 4
    assert tasks[2] == tasks[1]  # after the append
    assert (tasks[3] > tasks[2]) == bool(given)


def test_an_attempt_writes_few_manifests_however_many_deletes_came(lake: Any, foreign: Any) -> None:
    """A manifest takes longer to write than what it lists; attempts that are slower than other writers never land."""
    table = lake.create("t", [numbers(100 * i, 100) for i in range(6)])
    paths = files_in_order(table)

    def delete_often() -> None:
        for number in range(12):
            foreign.delete_positions(lake.table("t"), {paths[number % 6]: [number]})

    meanwhile(lake, delete_often)
    lake.rewrite("t", strategy="sort", sorted_by=["id"])
    table = lake.table("t")
    listed = table.current_snapshot().manifests(table.io)
    own = [m for m in listed if m.added_snapshot_id == table.current_snapshot().snapshot_id]
    assert len(own) <= 4  # new data, what goes of the old, carried deletes, what goes of the deletes
    gone = [m for m in own if m.content == ManifestContent.DELETES and m.deleted_files_count]
    assert [m.deleted_files_count for m in gone] == [12]
    assert len(ids(lake)) == 588


@pytest.mark.parametrize("seed", SEEDS)
def test_random_schedules_lose_and_return_no_row(lake: Any, foreign: Any, seed: int) -> None:
    """A multiset of ids is the oracle; other writers append and delete before, while and after the rewrite runs."""
    chosen = random.Random(seed)
    counts = [chosen.randrange(1, 60) for _ in range(chosen.randrange(5, 10))]
    rows = {1000 * i: [*range(1000 * i, 1000 * i + count)] for i, count in enumerate(counts)}
    table = lake.create("t", [numbers(first, len(found)) for first, found in rows.items()])
    alive = {i for found in rows.values() for i in found}
    paths = files(lake)

    def delete() -> None:
        """Some rows of some files, whether they live or not: in one delete file, or one a data file."""
        picked = {first: sorted(chosen.sample(found, chosen.randrange(1, min(6, len(found)) + 1)))
                  for first, found in rows.items() if chosen.random() < 0.5}  # fmt: skip
        alive.difference_update(i for found in picked.values() for i in found)
        named = {paths[first]: [i - first for i in found] for first, found in picked.items()}
        for each in [named] if chosen.random() < 0.5 else [{path: found} for path, found in named.items()]:
            if each:
                foreign.delete_positions(lake.table("t"), each)

    def delete_by_value() -> None:
        picked = sorted(chosen.sample(sorted(alive), min(len(alive), chosen.randrange(1, 6))))
        alive.difference_update(picked)
        foreign.delete_equal(lake.table("t"), pa.table({"id": pa.array(picked, pa.int64())}))

    def convert() -> None:
        lake.call("convert_equality_deletes", schema="db", table_name="t")

    def append() -> None:
        lake.table("t").append(numbers(100_000 * (len(alive) + 1), 3))
        alive.update(range(100_000 * (len(alive) + 1), 100_000 * (len(alive) + 1) + 3))

    for _ in range(chosen.randrange(4)):
        chosen.choice([delete, delete_by_value])()
    lake.workers.parallelism = chosen.randrange(1, 5)
    actions = [delete, delete, delete_by_value, convert, append, lambda: None]
    meanwhile(lake, *(chosen.choice(actions) for _ in range(3)))
    options, given = {"rewrite-all": "true"}, chosen.choice([{}, {}, *SORTS])
    if chosen.random() < 0.4:
        options |= {"target-file-size-bytes": str(chosen.randrange(900, 4000)), "min-file-size-bytes": "1"}
    if chosen.random() < 0.3:
        options["copy-row-groups"] = "false"
    lake.rewrite("t", options, **given)
    assert table.refresh().current_snapshot().summary.operation.value == "replace"
    lake.workers.before = lambda _kernel, _number: None
    convert()  # PyIceberg reads no equality deletes
    assert ids(lake) == sorted(alive)
    lake.rewrite("t", {"rewrite-all": "true"})
    assert ids(lake) == sorted(alive)
    assert lake.orphans("t") == set()


def add_vector(table: Any, data: LiveFile, positions: Sequence[int], branch: str = "main") -> None:
    """As a writer of version 3: the vector of a file holds what was deleted before, and takes the old one's place."""
    table.refresh()
    live = read_live(table, table.snapshot_by_name(branch))
    old = [d for d in live.deletes if d.only_data_file == data.key]
    output = Output(data.path.rpartition("/")[0], f"vector-{table.metadata.last_sequence_number}")
    written = write_positions(output, {}, data.path, np.array(sorted(positions), np.int64), vectors=True)
    transaction = table.transaction()
    ConvertDeletes(
        transaction,
        call_id="writer",
        converted=(),
        replaced=old,
        added=[position_delete_entry(written, data, vectors=True)],
        branch=branch,
    ).commit()
    transaction.commit_transaction()


@pytest.mark.parametrize("given", [{}, {"strategy": "sort", "sorted_by": ["id DESC"]}], ids=["packed", "sorted"])
def test_vectors_that_come_meanwhile_are_carried_over(
    java_lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    """Over a table of version 3 that Iceberg Java made, with vectors before and while the rewrite runs."""
    monkeypatch.chdir(tmp_path)
    fx = java_lake(tmp_path)
    fx.schema = "fx"
    table = fx.other.load_table("fx.v3_dv")
    live = read_live(table, table.current_snapshot())
    known = {d.only_data_file: d for d in live.deletes}
    before = table.scan().to_arrow().to_pylist()
    data = max(live.data, key=lambda file: file.file.record_count)
    deleted = _positions(known[data.key]) if data.key in known else []
    free = [i for i in range(data.file.record_count) if i not in deleted]
    gone = free[0]
    row_ids = _rows_at(fx, "v3_dv", data, [gone])
    meanwhile(fx, lambda: add_vector(fx.connector.tables_of.open("fx", "v3_dv"), data, [*deleted, gone]))
    fx.rewrite("v3_dv", {"rewrite-all": "true"}, **given)
    table = fx.other.load_table("fx.v3_dv")
    after = table.scan().to_arrow().to_pylist()
    assert len(after) == len(before) - 1
    (missing,) = [row for row in before if row not in after]
    assert missing == row_ids[0]
    (vector,) = read_live(table, table.current_snapshot()).deletes
    assert (vector.vector is not None, vector.file.record_count) == (True, 1)


def _positions(delete: LiveFile) -> list[int]:
    return [int(i) for i in read_vector(position_delete(delete), {})]


def _rows_at(fx: Any, name: str, data: LiveFile, positions: Sequence[int]) -> list[dict[str, Any]]:
    table = fx.other.load_table(f"fx.{name}")
    names = [field.name for field in table.schema().fields]
    found = pq.read_table(data.path.removeprefix("file:")).select(names).to_pylist()
    return [found[i] for i in positions]
