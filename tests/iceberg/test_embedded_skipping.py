"""Files, row groups and rows that the embedded engine leaves out, and the numbers that rows keep all the same."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.engine.embedded.parquet_scan import parquet_files
from coordinator.engine.embedded.store_files import StoreFiles
from coordinator.kernels.row_groups_needed import with_needed_groups
from shared.errors import ErrorCode, ProcessionError
from tests.iceberg.embedded_reader import Reader, numbered, tuples


def test_files_that_a_filter_excludes_are_not_read(reader: Reader, lake: Any) -> None:
    lake.create("t", [numbered(0, 1000), numbered(1000, 1000), numbered(2000, 1000)])
    kept = {task.file.file_path for task in lake.table("t").scan(row_filter="id = 1500").plan_files()}
    for task in lake.table("t").scan().plan_files():
        if task.file.file_path not in kept:
            Path(task.file.file_path.removeprefix("file://")).unlink()
    assert reader.rows("SELECT name FROM t WHERE id = 1500").to_pylist() == [{"name": "n500"}]
    with pytest.raises(ProcessionError) as raised:
        reader.rows("SELECT max(id) FROM t")
    assert raised.value.code is ErrorCode.ICEBERG_MISSING_DATA


GROUPS = {"write.parquet.row-group-limit": "1000"}


@pytest.mark.parametrize("second", [range(1000, 2000), [7, 1000]], ids=["many", "few"])
def test_rows_leave_by_number_where_the_database_reads_files_itself(
    reader: Reader, lake: Any, foreign: Any, second: Sequence[int]
) -> None:
    """Three files of several row groups; a filter that skips row groups keeps the numbers of rows right."""
    parts = [numbered(start, 5000) for start in (0, 5000, 10_000)]
    table = lake.create("t", parts, properties={"write.parquet.row-group-limit": "1000"})
    paths = [task.file.file_path for start in (0, 5000) for task in table.scan(row_filter=f"id = {start}").plan_files()]
    assert pq.ParquetFile(paths[0].removeprefix("file://")).num_row_groups == 5
    foreign.delete_positions(table, {paths[0]: [0, 2500, 4999], paths[1]: second})
    foreign.delete_positions(lake.other.load_table("db.t"), {paths[0]: [2500, 2501]})
    gone = {0, 2500, 2501, 4999, *(5000 + row for row in second)}
    left = [i for i in range(15_000) if i not in gone]
    work = reader.work("SELECT id FROM t", engine="embedded")
    scan = reader.scan(work)
    ((alike, files),) = parquet_files(scan, StoreFiles(print)).items()
    assert alike.deleted
    assert len(files) == 3
    assert sorted(row["id"] for row in reader.rows("SELECT id FROM t").to_pylist()) == left
    for low, high in ((2400, 2600), (5990, 6010), (4990, 5010), (12_000, 12_010)):
        found = reader.rows(f"SELECT id, name FROM t WHERE id BETWEEN {low} AND {high}")
        assert sorted(row["id"] for row in found.to_pylist()) == [i for i in left if low <= i <= high]
    assert reader.rows("SELECT count(*) FROM t").to_pylist() == [{"count": len(left)}]
    assert "embedded engine runs it" in str(reader.work("EXPLAIN SELECT name FROM t").rows[0][0])


def test_half_of_large_files_deleted(reader: Reader, lake: Any, foreign: Any) -> None:
    """Files that end within a part of 65,536 rows, or with it; one without deletes; joins of two such scans."""
    sizes = (150_000, 65_536, 100, 70_000)
    starts = [0, 150_000, 300_000, 400_000]
    parts = [numbered(start, size) for start, size in zip(starts, sizes, strict=True)]
    table = lake.create("t", parts)
    deletes = [range(1, 150_000, 2), range(0, 65_536, 3), [], [65_535, 65_536, 69_999]]
    files = [next(iter(table.scan(row_filter=f"id = {start}").plan_files())).file.file_path for start in starts]
    nowhere = [-65_537, -1, 200_000, 1 << 40]  # a writer that errs takes no other row with it
    foreign.delete_positions(
        table, {file: [*rows, *nowhere] for file, rows in zip(files, deletes, strict=True) if rows}
    )
    gone = pa.array([start + row for start, rows in zip(starts, deletes, strict=True) for row in rows], pa.int64())
    with duckdb.connect() as oracle:
        oracle.register("part", pa.concat_tables(parts))
        oracle.register("gone", pa.table({"id": gone}))
        oracle.execute("CREATE VIEW t AS SELECT * FROM part WHERE id NOT IN (SELECT id FROM gone)")
        for query in (
            "SELECT count(*), sum(id), count(DISTINCT name) FROM t", "SELECT id, name FROM t ORDER BY id DESC LIMIT 5",
            "SELECT count(*) FROM t WHERE id IN (1, 2, 150001, 300099, 465534, 465535, 465536)",
            "SELECT count(*), sum(b.id) FROM t AS a LEFT JOIN t AS b ON a.id = b.id + 1 WHERE a.id < 500000",
        ):  # fmt: skip
            assert tuples(reader, query) == oracle.execute(query).fetchall(), query


@pytest.mark.parametrize(
    ("condition", "groups"),
    [
        ("id = 2500", 1), ("id BETWEEN 1999 AND 2000", 2), ("id IN (5, 4995)", 2), ("id > 4000", 1), ("id < 0", 0),
        ("day = DATE '1970-01-04'", 1), ("day >= DATE '1970-01-04'", 3), ("name = 'n02500'", 1), ("name > 'n04'", 1),
        ("id IS NULL OR id = 3", 5), ("x = 2500", 5), ("id = 3 AND day = DATE '1970-01-04'", 0), ("id <> 3", 5),
    ],
)  # fmt: skip
def test_row_groups_that_a_filter_excludes_are_not_decoded(
    reader: Reader, lake: Any, foreign: Any, condition: str, groups: int
) -> None:
    numbers = range(5000)
    part = pa.table({
        "id": pa.array(numbers, pa.int64()),
        "name": [f"n{i:05}" for i in numbers],
        "day": pa.array([i // 1000 + 1 for i in numbers], pa.int32()).cast(pa.date32()),
        "x": pa.array(numbers, pa.float64()),
        "kept": [[i] for i in numbers],
    })  # fmt: skip
    table = lake.create("t", [part], properties={"write.parquet.row-group-limit": "1000"})
    foreign.delete_equal(table, pa.table({"id": pa.array([2501], pa.int64())}))
    work = reader.work(f"SELECT id, name, day, x, kept FROM t WHERE {condition}", engine="embedded")
    scan = reader.scan(work)
    inputs = with_needed_groups(scan.task, scan.ranges).inputs
    assert sum(5 if item.groups is None else item.groups[1] - item.groups[0] for item in inputs) == groups
    with duckdb.connect() as oracle:
        wanted = oracle.execute(f"SELECT id FROM part WHERE ({condition}) AND id <> 2501").fetchall()
    found = reader.rows(f"SELECT id, kept FROM t WHERE {condition}").to_pylist()
    assert sorted((row["id"],) for row in found) == sorted(wanted)
    assert all(row["kept"] == [row["id"]] for row in found)


@pytest.mark.parametrize("by", ["database", "kernels"])
def test_the_place_of_a_row(reader: Reader, lake: Any, foreign: Any, by: str) -> None:
    """As PyIceberg lists files and pyarrow reads them: rows keep their number, whatever is deleted before them."""
    table = lake.create("t", [numbered(start, 3000) for start in (0, 3000)], properties=GROUPS)
    first, second = (next(iter(table.scan(row_filter=f"id = {i}").plan_files())).file.file_path for i in (0, 3000))
    if by == "database":
        foreign.delete_positions(table, {second: [0, 1500]})
    else:
        foreign.delete_equal(table, pa.table({"id": pa.array([3000, 4500], pa.int64())}))
    expected = {}
    for path in (first, second):
        ids = pq.read_table(path.removeprefix("file://"), columns=["id"])["id"].to_pylist()
        expected |= {number: (path, place) for place, number in enumerate(ids) if number not in (3000, 4500)}
    query = 'SELECT id, "$path", _file, _pos FROM t'
    found = tuples(reader, query)
    assert {number: (path, place) for number, path, _, place in found} == expected
    assert all(path == file for _, path, file, _ in found)
    some = tuples(reader, f"{query} WHERE id BETWEEN 4490 AND 4510 AND _pos <> 1495")
    assert {number: (path, place) for number, path, _, place in some} == {
        i: expected[i] for i in range(4490, 4511) if i not in (4495, 4500)
    }
    assert dict(tuples(reader, 'SELECT "$path", count(*) FROM t GROUP BY 1')) == {first: 3000, second: 2998}
    assert sorted(tuples(reader, "SELECT _pos FROM t WHERE _pos < 2")) == [(0,), (1,), (1,)]


def test_files_of_other_paths_are_not_read(reader: Reader, lake: Any) -> None:
    table = lake.create("t", [numbered(start, 10) for start in (0, 10, 20)])
    paths = sorted(task.file.file_path for task in table.scan().plan_files())
    path = '"$path"'
    for condition, kept, read in (
        (f"{path} = '{paths[0]}'", [0], 1), (f"{path} IN ('{paths[0]}', '{paths[2]}')", [0, 2], 2),
        (f"{path} > '{paths[1]}'", [2], 2), (f"{path} = 'elsewhere'", [], 0), (f"{path} LIKE 'file:%'", [0, 1, 2], 3),
        (f"_file <> '{paths[1]}' AND id < 100", [0, 2], 3),
    ):  # fmt: skip
        query = f"SELECT {path}, id FROM t WHERE {condition}"
        assert len(reader.scan(reader.work(query, engine="embedded")).task.inputs) == read, condition
        assert {path for path, _ in tuples(reader, query)} == {paths[i] for i in kept}, condition


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("day >= DATE '2024-01-01' + INTERVAL '4' DAY AND day < DATE '2024-01-01' + INTERVAL '1' MONTH", 1),
        ("day > current_date - INTERVAL '7' DAY", 0),
        ("day < current_date - INTERVAL '7' DAY", 2),
        ("day IN (DATE '2024-01-05', DATE '2024-02-05' + INTERVAL '0' DAY)", 2),
        ("day BETWEEN date_trunc('month', DATE '2024-02-10') AND DATE '2024-03-01'", 1),
        ("DATE '2024-01-01' + INTERVAL '20' DAY < day", 1),
        ("day < DATE '2024-01-01' + INTERVAL '20' DAY * random(2)", 2),
        ("day > CAST('no date' AS date)", 2),
    ],
)
def test_files_are_left_out_by_what_is_computed_of_literals(
    reader: Reader, lake: Any, condition: str, files: int
) -> None:
    days = [[datetime.date(2024, month, day) for day in (1, 5, 9)] for month in (1, 2)]
    lake.create("t", [pa.table({"day": pa.array(each, pa.date32())}) for each in days])
    query = f"SELECT day FROM t WHERE {condition}"
    assert len(reader.scan(reader.work(query, engine="embedded")).task.inputs) == files
    if "random" not in condition and "no date" not in condition:
        with duckdb.connect() as oracle:
            oracle.register("t", pa.table({"day": pa.array([day for each in days for day in each], pa.date32())}))
            wanted = oracle.execute(query).fetchall()
        assert sorted(tuples(reader, query)) == sorted(wanted)
