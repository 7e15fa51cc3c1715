"""Changes of few rows in tables of copy-on-write, by the coordinator and by Spark: rows and their ids are the same.

Each statement runs on two tables that were made alike; Iceberg Java reads and writes one of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import prestodb
import pyarrow as pa
import pytest
from pyiceberg.table.snapshots import Operation
from pyiceberg.transforms import BucketTransform

from tests.e2e.service import Service
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]

COPIES = ", ".join(f"\"write.{kind}.mode\" = 'copy-on-write'" for kind in ("delete", "update", "merge"))
COLUMNS = (
    "id bigint, kind integer, ratio double, price decimal(38, 9), name varchar, day date, at timestamp, "
    "many array(integer), named map(varchar, double), inner_ row(x integer, y row(z varchar, w array(double)))"
)
ROWS = """SELECT n, cast(n % 4 AS integer), CASE n % 5 WHEN 0 THEN nan() WHEN 1 THEN -0e0 ELSE n / 7e0 END,
cast('12345678901234567890.12345678' || cast(n % 10 AS varchar) AS decimal(38, 9)),
nullif('é' || cast(n % 11 AS varchar), 'é0'),
date '1960-01-01' + n * interval '1' day, timestamp '1950-01-01 00:00:00.123' + n * interval '1' hour,
CASE n % 3 WHEN 0 THEN NULL WHEN 1 THEN ARRAY[] ELSE ARRAY[cast(n AS integer), NULL] END,
CASE n % 3 WHEN 0 THEN NULL WHEN 1 THEN MAP() ELSE MAP(ARRAY['k'], ARRAY[n / 3e0]) END,
CASE n % 4 WHEN 0 THEN NULL
ELSE CAST(ROW(n, ROW('z', ARRAY[n / 3e0, NULL])) AS ROW(x integer, y ROW(z varchar, w array(double)))) END
FROM UNNEST(sequence({}, {})) t (n)"""
STATEMENTS = (
    "UPDATE {t} SET name = 'new' WHERE id = 5",
    "DELETE FROM {t} WHERE id IN (7, 8, 150)",
    "UPDATE {t} SET ratio = ratio + 1, many = ARRAY[1, 2] WHERE id BETWEEN 20 AND 25",
    "MERGE INTO {t} t USING (VALUES (10, 'm'), (30, 'x'), (1000, 'n')) s (id, name) ON t.id = s.id "
    "WHEN MATCHED AND s.name = 'x' THEN DELETE WHEN MATCHED THEN UPDATE SET name = s.name "
    "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)",
    "UPDATE {t} SET kind = kind + 1 WHERE id = 42",
    "DELETE FROM {t} WHERE id > 60 AND is_nan(ratio)",
    "DELETE FROM {t} WHERE id BETWEEN 101 AND 200",
    "UPDATE {t} SET inner_ = NULL WHERE id < 50",
)
SHAPES = some(
    [("1", "kind"), ("3", "month(day)")],
    [("1", ""), ("2", "kind"), ("2", "bucket(id,3)"), ("3", "")],
    "the oldest and the newest version, partitioned",
)


@dataclass(frozen=True)
class Pair:
    """Tables that are made alike, by the engine that changes them."""

    service: Service
    name: str

    def each(self) -> Sequence[tuple[str, str]]:
        return [(engine, f"{self.name}_{engine.lower()}") for engine in ("AUTO", "SPARK")]

    def make(self, version: str, partitioning: str, rows: int = 3) -> None:
        for _, table in self.each():
            by = f", partitioning = ARRAY['{partitioning}']" if partitioning else ""
            self.run(f"CREATE TABLE {table} ({COLUMNS}) WITH (\"format-version\" = '{version}', {COPIES}{by})")
            for part in range(rows):
                self.run(f"INSERT INTO {table} {ROWS.format(part * 100 + 1, part * 100 + 100)}")

    def run(self, sql: str, engine: str = "AUTO", **session: str) -> list[list[Any]]:
        given = {"engine": engine, **session}
        return self.service.execute(sql, catalog="iceberg", schema="copied", session_properties=given)

    def both(self, sql: str) -> None:
        counts = [self.run(sql.format(t=table), engine) for engine, table in self.each()]
        assert counts[0] == counts[1], sql
        committed = self.snapshot("AUTO").summary
        assert committed is not None
        assert committed.additional_properties["engine-name"] == "procession", sql

    def rows(self, engine: str, columns: str = "*") -> list[str]:
        found = self.run(f"SELECT {columns} FROM {dict(self.each())[engine]} ORDER BY id")
        return [repr(row) for row in found]

    def snapshot(self, engine: str) -> Any:
        return self.service.lake().load_table(f"copied.{dict(self.each())[engine]}").current_snapshot()


@pytest.fixture(scope="module")
def pair(service: Service) -> Callable[[str], Pair]:
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.copied")
    return lambda name: Pair(service, name)


@pytest.mark.parametrize(("version", "partitioning"), SHAPES)
def test_rows_and_ids_are_those_that_spark_makes(pair: Callable[[str], Pair], version: str, partitioning: str) -> None:
    tables = pair(f"shape_{version}_{''.join(filter(str.isalpha, partitioning))}")
    tables.make(version, partitioning)
    before = int(tables.snapshot("AUTO").summary["total-data-files"])
    for statement in STATEMENTS:
        tables.both(statement)
        assert tables.rows("AUTO") == tables.rows("SPARK"), statement
    totals = [tables.snapshot(engine).summary.additional_properties for engine in ("AUTO", "SPARK")]
    assert (totals[0]["total-delete-files"], totals[0]["total-records"]) == ("0", totals[1]["total-records"])
    # One for a row without a kind, and one for a row that moved to where no other changed.
    assert int(totals[0]["total-data-files"]) <= before + 2, "updates of rows do not make files more"
    if version == "3":
        lineage = "id, _row_id, _last_updated_sequence_number"
        ours, theirs = (
            [row for row in tables.rows(e, lineage) if not row.startswith("[1000,")] for e in ("AUTO", "SPARK")
        )
        assert ours == theirs
        ids = tables.run(f"SELECT count(*) - count(DISTINCT _row_id) FROM {tables.name}_auto")
        assert ids == [[0]]


def test_what_merge_on_read_left_is_applied(pair: Callable[[str], Pair]) -> None:
    for version in ("2", "3"):
        tables = pair(f"deleted_{version}")
        tables.make(version, "", rows=2)
        for _, table in tables.each():
            mode = f"CALL iceberg.system.set_table_property('copied', '{table}', 'write.delete.mode', '{{}}')"
            tables.run(mode.format("merge-on-read"))
            tables.run(f"DELETE FROM {table} WHERE id % 9 = 0")
            tables.run(f"DELETE FROM {table} WHERE id % 10 = 0")
            tables.run(mode.format("copy-on-write"))
        for statement in (*STATEMENTS[:3], "DELETE FROM {t} WHERE id = 151"):
            tables.both(statement)
            assert tables.rows("AUTO") == tables.rows("SPARK"), statement
        left = [n for n in range(1, 201) if n % 9 and n % 10 and n not in (7, 8, 151)]
        assert tables.run(f"SELECT array_agg(id ORDER BY id) FROM {tables.name}_auto") == [[left]]
        assert tables.snapshot("AUTO").summary.additional_properties["total-delete-files"] == "0"


def test_evolved_columns_and_partitions(pair: Callable[[str], Pair]) -> None:
    tables = pair("evolved")
    tables.make("2", "kind", rows=1)
    for _, table in tables.each():
        with tables.service.lake().load_table(f"copied.{table}").update_spec() as spec:
            spec.remove_field("kind")
            spec.add_field("id", BucketTransform(2), "bucket")
        tables.run(f"INSERT INTO {table} {ROWS.format(101, 200)}")
        tables.run(f"ALTER TABLE {table} DROP COLUMN at")
        tables.run(f"ALTER TABLE {table} RENAME COLUMN day TO date_")
        tables.run(f"ALTER TABLE {table} ADD COLUMN more varchar")
    for statement in (*STATEMENTS[:4], "UPDATE {t} SET more = name WHERE date_ < date '1960-04-01'"):
        tables.both(statement)
        assert tables.rows("AUTO") == tables.rows("SPARK"), statement


def test_branches_and_staged_snapshots(pair: Callable[[str], Pair], service: Service) -> None:
    tables = pair("branched")
    tables.make("2", "", rows=1)
    table = "branched_auto"
    tables.run(f"CALL iceberg.system.create_branch('copied', '{table}', 'audit')")
    assert tables.run(f'DELETE FROM "{table}.branch_audit" WHERE id % 2 = 0') == [[50]]
    assert tables.run(f'UPDATE "{table}.branch_audit" SET name = NULL WHERE id < 10') == [[5]]
    assert tables.run(f'SELECT count(*), count(name) FROM "{table}.branch_audit"') == [[50, 40]]
    assert tables.run(f"SELECT count(*), count(name) FROM {table}") == [[100, 91]]
    with service.lake().load_table(f"copied.{table}").transaction() as change:
        change.set_properties({"write.wap.enabled": "true"})
    staged = {"iceberg.wap_id": "friday"}
    assert tables.run(f"UPDATE {table} SET name = NULL WHERE id = 1", **staged) == [[1]]
    assert tables.run(f"SELECT count(name) FROM {table}") == [[91]]
    tables.run(f"CALL iceberg.system.publish_changes('copied', '{table}', 'friday')")
    assert tables.run(f"SELECT count(name), count(*) FROM {table}") == [[90, 100]]


def test_statements_beside_appends_and_compactions_lose_no_row(pair: Callable[[str], Pair], service: Service) -> None:
    """Two clients that update, and one that appends and compacts: each update that succeeded is there once."""
    tables = pair("beside")
    tables.make("2", "", rows=2)
    table = "beside_auto"
    over = threading.Event()
    done: list[int] = []
    appended: list[int] = []

    def others() -> None:
        number = 1000
        while not over.is_set():
            tables.run(f"INSERT INTO {table} (id, kind) VALUES ({number}, 0)")
            appended.append(number)
            number += 1
            call = f"schema => 'copied', table_name => '{table}', options => MAP(ARRAY['rewrite-all'], ARRAY['true'])"
            try:
                tables.run(f"CALL iceberg.system.rewrite_data_files({call})")
            except prestodb.exceptions.PrestoQueryError as lost:
                assert lost.error_name == "TRANSACTION_CONFLICT"
            over.wait(1)

    def updates(first: int) -> None:
        for n in range(first, first + 8):
            try:
                assert tables.run(f"UPDATE {table} SET kind = kind + 100 WHERE id = {n}") == [[1]]
                done.append(n)
            except prestodb.exceptions.PrestoQueryError as lost:
                assert lost.error_name == "TRANSACTION_CONFLICT"

    beside = threading.Thread(target=others)
    clients = [threading.Thread(target=updates, args=(first,)) for first in (1, 51)]
    for thread in (beside, *clients):
        thread.start()
    for thread in clients:
        thread.join()
    over.set()
    beside.join()
    assert tables.run(f"SELECT array_agg(id ORDER BY id) FROM {table} WHERE kind >= 100") == [[sorted(done) or None]]
    assert tables.run(f"SELECT count(*), count(DISTINCT id) FROM {table}") == [[200 + len(appended)] * 2]
    assert len(done) > 4


def test_nan_is_above_all_numbers_in_files_that_say_nothing_of_it(pair: Callable[[str], Pair]) -> None:
    """The bounds of files and row groups leave NaN out; conditions that it meets find it on either engine."""
    run = pair("nan").run
    run(f"CREATE TABLE nans (id bigint, d double, r real) WITH ({COPIES})")
    values = [float("nan") if n % 10 == 0 else n / 4 for n in range(1, 101)]
    shown = ["nan()" if value != value else f"{value!r}e0" for value in values]
    rows = ", ".join(f"({n}, {value}, CAST({value} AS real))" for n, value in enumerate(shown, 1))
    run(f"INSERT INTO nans VALUES {rows}")
    above: dict[str, Callable[[float], bool]] = {
        "{} > {}": lambda d: not d <= 76,
        "{} >= {}": lambda d: not d < 76,
        "{1} < {0}": lambda d: not d <= 76,
        "NOT {} <= {}": lambda d: not d <= 76,
        "is_nan({})": lambda d: d != d,
        "{} < {}": lambda d: d < 76,
        "{} BETWEEN 20 AND {}": lambda d: 20 <= d <= 76,
    }
    for condition, holds in above.items():
        found = [n for n, value in enumerate(values, 1) if holds(value)]
        for column, limit in (("d", "76e0"), ("r", "REAL '76'")):
            asked = f"SELECT array_agg(id ORDER BY id) FROM nans WHERE {condition.format(column, limit)}"
            for engine in ("AUTO", "SPARK"):
                assert run(asked, engine) == [[found or None]], (engine, asked)
    for engine in ("AUTO", "SPARK"):
        assert run("UPDATE nans SET id = id WHERE d > 76e0", engine) == [[10]]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_spark_changes_sorted_tables_and_counts_each_row_once(pair: Callable[[str], Pair], mode: str) -> None:
    """It goes through them twice, since it sorts by ranges."""
    run, name = pair("sorted").run, f"sorted_{mode.partition('-')[0]}"
    modes = COPIES.replace("copy-on-write", mode)
    run(f"CREATE TABLE {name} (id bigint, name varchar) WITH (sorted_by = ARRAY['id'], {modes})")
    run(f"INSERT INTO {name} SELECT n, 'x' FROM UNNEST(sequence(1, 100)) t (n)")
    assert run(f"UPDATE {name} SET name = 'y' WHERE id BETWEEN 7 AND 9") == [[3]]
    assert run(f"DELETE FROM {name} WHERE id IN (1, 2)", "SPARK") == [[2]]
    assert run(f"DELETE FROM {name} WHERE id IN (3, 4)") == [[2]]
    source = "(VALUES (7, 'z'), (8, 'gone'), (500, 'new')) s (id, name)"
    merge = (
        f"MERGE INTO {name} t USING {source} ON t.id = s.id WHEN MATCHED AND s.name = 'gone' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
    )
    assert run(merge) == [[3]]
    assert run(f"SELECT count(*), count_if(name = 'x') FROM {name}") == [[96, 93]]


def test_a_table_of_pyiceberg_as_shipped(service: Service, pair: Callable[[str], Pair]) -> None:
    """Which says nothing of modes: Iceberg's default."""
    lake = service.lake()
    rows = pa.table({"id": pa.array(range(1000), pa.int64()), "name": [f"row {n}" for n in range(1000)]})
    table = lake.create_table("copied.plain", schema=rows.schema)
    table.append(rows)
    run = pair("plain").run
    assert run("UPDATE plain SET name = 'x' WHERE id = 77") == [[1]]
    assert run("DELETE FROM plain WHERE name = 'row 5'") == [[1]]
    table.refresh()
    assert [s.summary.operation for s in table.snapshots() if s.summary is not None][1:] == [Operation.OVERWRITE] * 2
    found = {row["id"]: row["name"] for row in table.scan().to_arrow().to_pylist()}
    assert found == {n: "x" if n == 77 else f"row {n}" for n in range(1000) if n != 5}
    assert len(table.inspect.files()) == 1
