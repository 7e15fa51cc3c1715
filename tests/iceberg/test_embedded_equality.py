"""Tables with equality deletes on the embedded engine: DuckDB reads the files, and deleted rows leave by number."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import LongType

from coordinator.kernels import cache, equality_rows
from tests.iceberg.embedded_reader import Reader, direct, numbered, tuples

GROUPS = {"write.parquet.row-group-limit": "1000"}


def longs(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int64())


def test_changes_that_come_in_are_seen_by_the_next_statement(reader: Reader, lake: Any, foreign: Any) -> None:
    """As a stream writes them: a key goes and comes again, at each snapshot, and with deletes of places among them."""
    draw = random.Random(2811)
    lake.create("t", [numbered(0, 3000)], properties=GROUPS)
    live: list[tuple[int, str]] = [(i, f"n{i}") for i in range(3000)]
    known = []
    for turn in range(6):
        gone = draw.sample(range(3000), 200)
        foreign.delete_equal(lake.other.load_table("db.t"), pa.table({"id": longs(*gone)}))
        live = [row for row in live if row[0] not in set(gone)]
        if turn % 2:
            names = [f"n{i}" for i in draw.sample(range(3000), 40)]
            foreign.delete_equal(lake.other.load_table("db.t"), pa.table({"name": names}))
            live = [row for row in live if row[1] not in set(names)]
        again = pa.table({"id": longs(*gone[:150]), "name": [f"again {turn}"] * 150})
        lake.other.load_table("db.t").append(again)
        live += [(i, f"again {turn}") for i in gone[:150]]
        known.append((lake.other.load_table("db.t").current_snapshot().snapshot_id, sorted(live)))
        assert sorted(tuples(reader, "SELECT id, name FROM t")) == sorted(live)
        assert tuples(reader, "SELECT count(*), count(DISTINCT name) FROM t WHERE id >= 1000") == [
            (len([i for i, _ in live if i >= 1000]), len({name for i, name in live if i >= 1000}))
        ]
    assert direct(reader, "SELECT id, name FROM t") == 7
    for snapshot, rows in draw.sample(known, len(known)):
        assert sorted(tuples(reader, f"SELECT id, name FROM t FOR VERSION AS OF {snapshot}")) == rows


def test_places_and_keys_take_rows_out_of_one_file(reader: Reader, lake: Any, foreign: Any) -> None:
    """Joins of two such scans, in which the compared column is not read; NULL is a key like any other."""
    rows = pa.table({"id": longs(None, *range(1, 70_000)), "name": [f"n{i}" for i in range(70_000)]})
    table = lake.create("t", [rows])
    (path,) = [task.file.file_path for task in table.scan().plan_files()]
    foreign.delete_equal(table, pa.table({"id": longs(None, 65_535, 65_536, 3)}))
    foreign.delete_positions(lake.other.load_table("db.t"), {path: [3, 4, 69_999, -1, 1 << 40]})
    gone = {0, 3, 4, 65_535, 65_536, 69_999}
    assert direct(reader, "SELECT name FROM t") == 1
    assert tuples(reader, "SELECT count(*), count(id), min(id) FROM t") == [(69_994, 69_994, 1)]
    assert {name for (name,) in tuples(reader, "SELECT name FROM t")} == {f"n{i}" for i in range(70_000)} - {
        f"n{i}" for i in gone
    }
    assert tuples(reader, "SELECT count(*) FROM t a JOIN t b ON a.name = b.name AND a.id < 10") == [(7,)]


def test_looks_for_few_rows_stay_with_the_kernels_until_it_is_known(
    reader: Reader, lake: Any, foreign: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They read one row group of fifty, and some first rows, where finding all deleted rows reads all of a column."""
    cache.clear(b"")
    table = lake.create("t", [numbered(0, 50_000)], properties=GROUPS)
    foreign.delete_equal(table, pa.table({"id": longs(7, 30_007)}))
    for few in ("SELECT name FROM t WHERE id = 30007", "SELECT name FROM t LIMIT 5", "SELECT name FROM t LIMIT 5"):
        assert direct(reader, few) == 0, few
    assert tuples(reader, "SELECT name FROM t WHERE id IN (30006, 30007)") == [("n30006",)]
    assert len(tuples(reader, "SELECT name FROM t OFFSET 1 LIMIT 9")) == 9
    for all_ in ("SELECT name FROM t ORDER BY id LIMIT 5", "SELECT max(name) FROM t WHERE id > 20000"):
        assert direct(reader, all_) == 1, all_
    scan = reader.scan(reader.work("SELECT name FROM t", engine="embedded"))
    (bits,) = equality_rows.bits_taken_out(scan.task, scan.task.inputs)
    assert len(bits) == 6250
    assert direct(reader, "SELECT name FROM t WHERE id = 30007") == 1
    assert direct(reader, "SELECT name FROM t LIMIT 5") == 1


def test_columns_that_the_table_dropped_or_widened_are_compared(reader: Reader, lake: Any, foreign: Any) -> None:
    rows = pa.table({"id": pa.array(range(100), pa.int32()), "name": ["x"] * 100, "key": longs(*range(100))})
    table = lake.create("t", [rows])
    foreign.delete_equal(table, pa.table({"key": longs(5, 6)}))
    foreign.delete_equal(lake.other.load_table("db.t"), pa.table({"id": pa.array([7], pa.int32())}))
    with lake.other.load_table("db.t").update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("key")
        update.update_column("id", field_type=LongType())
    foreign.delete_equal(lake.other.load_table("db.t"), pa.table({"id": longs(8)}))
    assert direct(reader, "SELECT id FROM t") == 1
    assert sorted(i for (i,) in tuples(reader, "SELECT id FROM t")) == [i for i in range(100) if i not in (5, 6, 7, 8)]
