"""Tables read by the embedded engine, without Spark: the rows must be those that Iceberg Java read (tests/data)."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.types import DoubleType, LongType, StringType

from coordinator.engine.embedded.parquet_scan import parquet_files
from coordinator.engine.embedded.store_files import StoreFiles
from tests.iceberg.embedded_reader import Reader, numbered, tuples

READ = [
    "v1_table", "v3_dv", "v3_dv_java", "v3_lineage", "v3_upgraded", "v3_eqdel", "v3_default", "v2_posdel",
    "v2_posdel_part", "v2_eqdel", "v2_eqdel_part", "part_evolved", "transforms",
    "nested", "evolved", "sorted", "refs", "stats", "types_v2", "ident_sorted",
]  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_rows_are_those_that_iceberg_java_read(java_reader: Any, java_rows: Any, name: str) -> None:
    reader, home = java_reader
    found = reader.rows(f"SELECT * FROM {name}")
    expected = java_rows.expected(home, name, found.schema)
    assert java_rows.found(found) == expected
    counted = reader.rows(f"SELECT count(*) FROM {name}")
    assert counted.to_pylist() == [{"count": sum(expected.values())}]


@pytest.mark.parametrize("name", ["v2_posdel", "v2_posdel_part", "v3_dv", "v2_eqdel", "v2_eqdel_part", "v3_eqdel"])
def test_deleted_rows_come_where_a_query_asks_for_them(java_reader: Any, java_rows: Any, name: str) -> None:
    """What is not deleted is what Iceberg Java read, and all together what the files hold."""
    reader, home = java_reader
    found = reader.rows(f'SELECT * FROM {name} WHERE NOT "$deleted"')
    expected = java_rows.expected(home, name, found.schema)
    assert java_rows.found(found) == expected
    counts = dict(tuples(reader, f'SELECT "$deleted", count(*) FROM {name} GROUP BY 1'))
    files = reader.scan(reader.work(f'SELECT "$deleted" FROM {name}', engine="embedded")).task.inputs
    stored = sum(pq.read_metadata(item.path.removeprefix("file://")).num_rows for item in files)
    assert counts == {False: sum(expected.values()), True: stored - sum(expected.values())}
    assert counts[True] > 0


def test_a_column_that_is_named_like_the_path_is_the_tables_own(reader: Reader, lake: Any) -> None:
    lake.create("t", [pa.table({"_file": ["a.txt", "b.txt"], "$path": ["p", "q"], "id": pa.array([1, 2], pa.int64())})])
    assert reader.rows("SELECT id FROM t WHERE _file = 'a.txt'").to_pylist() == [{"id": 1}]
    assert reader.rows("SELECT id FROM t WHERE \"$path\" = 'q'").to_pylist() == [{"id": 2}]


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("x > 2e0", [3.0, "nan"]), ("x >= 3e0", [3.0, "nan"]), ("x < 2e0", [1.0]), ("x = nan()", ["nan"]),
        ("x IS NULL", [None]), ("x <> 1e0", [3.0, "nan"]), ("x IN (1e0, 7e0)", [1.0]), ("x BETWEEN 2e0 AND 9e0", [3.0]),
        ("is_nan(x)", ["nan"]), ("x > 100e0", ["nan"]), ("NOT x <= 3e0", ["nan"]), ("x <= infinity()", [1.0, 3.0]),
    ],
)  # fmt: skip
def test_nan_is_above_all_numbers_whatever_the_bounds_of_files_say(
    reader: Reader, lake: Any, condition: str, found: list[Any], apart: bool
) -> None:
    values = (1.0, 3.0, float("nan"), None)
    parts = [pa.table({"x": pa.array([value], pa.float64())}) for value in values]
    lake.create("t", parts if apart else [pa.table({"x": pa.array(values, pa.float64())})])
    rows = [row["x"] for row in reader.rows(f"SELECT x FROM t WHERE {condition}").to_pylist()]
    assert sorted(("nan" if value != value else value for value in rows), key=str) == sorted(found, key=str)


def test_row_lineage(java_reader: Any) -> None:
    """Compared with Spark's in tests/queries/test_engines.py."""
    reader, _ = java_reader
    found = reader.rows('SELECT *, _row_id AS "row id", _last_updated_sequence_number AS number FROM v3_lineage')
    ids, numbers = (found.column(i).to_pylist() for i in (found.num_columns - 2, found.num_columns - 1))
    assert len(set(ids)) == len(ids) > 0
    assert None not in ids
    assert None not in numbers


def test_snapshots_before_a_change_of_columns(reader: Reader, lake: Any) -> None:
    table = lake.create("t", [numbered(0, 10)])
    first = table.refresh().current_snapshot().snapshot_id
    with table.update_schema() as update:
        update.rename_column("name", "title")
        update.add_column("extra", LongType())
    table.append(pa.table({"id": [10], "title": ["x"], "extra": [1]}))
    old = reader.rows(f"SELECT * FROM t FOR VERSION AS OF {first} WHERE name = 'n3'").to_pylist()
    assert old == [{"id": 3, "name": "n3"}]
    new = reader.rows("SELECT * FROM t WHERE title IN ('n3', 'x') ORDER BY id")
    assert [list(row.values()) for row in new.to_pylist()] == [[3, "n3", None], [10, "x", 1]]


def rewritten(table: Any, change: Callable[[str], str]) -> None:
    """The table's metadata as another writer may have written it."""
    path = Path(table.metadata_location.removeprefix("file://"))
    path.write_text(change(path.read_text()))


def test_a_filter_over_a_column_of_row_lineage(java_reader: Any) -> None:
    reader, _ = java_reader
    numbers = sorted(each for (each,) in map(dict.values, reader.rows("SELECT _row_id FROM v3_lineage").to_pylist()))
    middle = numbers[len(numbers) // 2]
    found = reader.rows(f"SELECT _row_id FROM v3_lineage WHERE _row_id = {middle}").to_pylist()
    assert [list(row.values()) for row in found] == [[middle]]


@pytest.mark.parametrize("number", ["many", "\u00b2", "9" * 5000, "-1", ""])
def test_a_summary_that_is_no_number_costs_nothing(reader: Reader, lake: Any, number: str) -> None:
    """What another writer said of its snapshot is anybody's word."""
    lake.create("t", [numbered(0, 10)])

    def worse(text: str) -> str:
        metadata = json.loads(text)
        for snapshot in metadata["snapshots"]:
            totals = [name for name in snapshot["summary"] if name.startswith("total-")]
            assert "total-records" in totals
            snapshot["summary"] |= dict.fromkeys(totals, number)
        return json.dumps(metadata)

    rewritten(lake.table("t"), worse)
    assert reader.rows("SELECT count(*), max(id) FROM t").to_pylist() == [{"count": 10, "max": 9}]


def test_a_copy_with_the_same_uuid_and_snapshot_id_is_another_table(reader: Reader, lake: Any) -> None:
    """As rewrite_table_path makes them; and nobody may slip others his own rows so."""
    lake.create("t", [numbered(0, 10)])
    lake.create("other", [numbered(500, 5)])
    one, two = lake.table("t").metadata, lake.table("other").metadata
    assert reader.rows("SELECT max(id) FROM t").to_pylist() == [{"max": 9}]

    def same(text: str) -> str:
        metadata = json.loads(text) | {"table-uuid": str(one.table_uuid)}
        for holder in (metadata["snapshots"][0], metadata["refs"]["main"], metadata["snapshot-log"][0]):
            assert holder["snapshot-id"] == two.current_snapshot_id
            holder["snapshot-id"] = one.current_snapshot_id
        return json.dumps(metadata | {"current-snapshot-id": one.current_snapshot_id})

    rewritten(lake.table("other"), same)
    assert lake.other.load_table("db.other").metadata.table_uuid == one.table_uuid
    assert reader.rows("SELECT min(id) FROM other").to_pylist() == [{"min": 500}]
    assert reader.rows("SELECT max(id) FROM t").to_pylist() == [{"max": 9}]


def test_columns_that_grew_or_came_later_are_read_by_the_database_itself(reader: Reader, lake: Any) -> None:
    table = lake.create("t", [pa.table({"id": pa.array([1, 2], pa.int32()), "x": pa.array([1.5, 2.5], pa.float32())})])
    with table.update_schema() as change:
        change.update_column("id", LongType())
        change.update_column("x", DoubleType())
        change.add_column("late", StringType())
        change.rename_column("x", "y")
    table.append(pa.table({"id": pa.array([2**40]), "y": [3.25], "late": ["here"]}))
    work = reader.work("SELECT * FROM t", engine="embedded")
    scan = reader.scan(work)
    assert {alike.names for alike in parquet_files(scan, StoreFiles(print))} == {("id", "x", None), ("id", "y", "late")}
    found = reader.rows("SELECT * FROM t").to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == [
        {"id": 1, "y": 1.5, "late": None}, {"id": 2, "y": 2.5, "late": None}, {"id": 2**40, "y": 3.25, "late": "here"},
    ]  # fmt: skip
    assert reader.rows("SELECT count(*) FROM t WHERE late IS NULL AND id < 3").to_pylist() == [{"count": 2}]


def test_the_sequence_number_of_a_rows_file(reader: Reader, lake: Any) -> None:
    table = lake.create("t", [numbered(0, 10), numbered(10, 10)])
    numbers = {
        entry["data_file"]["file_path"]: entry["sequence_number"] for entry in table.inspect.entries().to_pylist()
    }
    assert dict(tuples(reader, 'SELECT DISTINCT "$path", "$data_sequence_number" FROM t')) == numbers
    assert sorted(numbers.values()) == [1, 2]


def test_a_tables_own_column_has_its_name(reader: Reader, lake: Any) -> None:
    lake.create("t", [pa.table({"_pos": pa.array([7, 8], pa.int64()), "file_row_number": ["a", "b"]})])
    found = tuples(reader, 'SELECT _pos, file_row_number, "$path" IS NULL FROM t ORDER BY 1')
    assert found == [(7, "a", False), (8, "b", False)]


def test_changed_columns_are_read_before_the_next_snapshot(reader: Reader, lake: Any) -> None:
    """With the columns of today, at the snapshot that was planned; Spark reads a snapshot with those of its time."""
    at = [datetime.time(1, 2, 3), None]
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "at": pa.array(at, pa.time64("us")), "x": ["a", "b"]})
    table = lake.create("t", [rows])
    with table.update_schema() as update:
        update.add_column("later", LongType())
        update.rename_column("x", "y")
    found = reader.rows("SELECT id, y, later, at FROM t WHERE y > 'a' OR id = 1 ORDER BY id").to_pylist()
    assert [(row["id"], row["y"], row["later"]) for row in found] == [(1, "a", None), (2, "b", None)]
    plain = lake.create("u", [rows.drop(["at"])])
    pinned = "VERSION AS OF"
    assert pinned in reader.work("SELECT * FROM u", engine="spark").sql
    with plain.update_schema() as update:
        update.add_column("later", LongType())
    assert pinned not in reader.work("SELECT * FROM u", engine="spark").sql
    (counted,) = reader.rows("SELECT count(*), count(later) FROM u").to_pylist()
    assert list(counted.values()) == [2, 0]
