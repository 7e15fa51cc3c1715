"""Tables read by the embedded engine, without Spark: the rows must be those that Iceberg Java read (tests/data)."""

from __future__ import annotations

import datetime
import json
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.types import DoubleType, LongType, StringType

from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.embedded.engine import EmbeddedEngine
from coordinator.engine.embedded.messages import EngineSettings
from coordinator.engine.embedded.parquet_scan import parquet_files
from coordinator.engine.inputs import file_scans, local_inputs
from coordinator.engine.local import LocalEngine
from coordinator.engine.processes.nursery import Nursery
from coordinator.kernels.file_scan import FileScan
from coordinator.kernels.row_groups_needed import with_needed_groups
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import RunLocally, RunOnSpark
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property
from shared.spi.session import Session
from tests.execution import FakeExecution

READ = [
    "v1_table", "v3_dv", "v3_dv_java", "v3_lineage", "v3_upgraded", "v3_eqdel", "v3_default", "v2_posdel",
    "v2_posdel_part", "v2_eqdel", "v2_eqdel_part", "part_evolved", "transforms",
    "nested", "evolved", "sorted", "refs", "stats", "types_v2", "ident_sorted",
]  # fmt: skip


class NoCheckers:
    def validate_intermediate(self, plan: Any, session: Any, warn: Any) -> None: ...

    def validate_final(self, plan: Any, session: Any, warn: Any) -> None: ...


class Reader:
    """Statements over the catalog of one lake."""

    def __init__(self, uri: str, warehouse: str, name: str, home: Path, engine: EmbeddedEngine) -> None:
        self.engine = engine
        values = {"iceberg.catalog.uri": uri, "iceberg.catalog.warehouse": warehouse}
        properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
        self.catalogs = Catalogs([CatalogConfig(name, "iceberg", properties, home)])
        self.name = name

    def work(self, query: str, **given: str) -> Any:
        session = Session(user="test", catalog=self.name, schema="fx" if self.name == "fx" else "db", properties=given)
        return plan_statement(query, session, self.catalogs, NoCheckers()).work

    def scan(self, work: Any) -> FileScan:
        """What the process reads for a statement over one table."""
        (scan,) = (file_scans(work.inputs, self.catalogs) or {}).values()
        return scan

    def rows(self, query: str, **given: str) -> pa.Table:
        """From a process of the embedded engine, which are those of the coordinator's own database too."""
        work = self.work(query, **{"engine": "embedded", **given})
        assert isinstance(work, RunLocally), work
        scans = file_scans(work.inputs, self.catalogs)
        assert scans
        found = table_of(self.engine.run(work.sql, scans, FakeExecution()))
        local, execution = LocalEngine(), FakeExecution()
        try:
            with local_inputs(work.inputs, self.catalogs, execution) as inputs:
                inside = table_of(local.run(work.sql, execution, inputs))
        finally:
            local.close()
        assert shown(found) == shown(inside)
        return found


def table_of(batches: Iterable[Any]) -> pa.Table:
    """No rows come in no batch."""
    found = list(batches)
    return pa.Table.from_batches(found) if found else pa.table({})


def shown(table: pa.Table) -> list[str]:
    """Rows in no order; DuckDB has two names for one zone."""
    return sorted(str(row).replace("Etc/UTC", "UTC") for row in table.to_pylist())


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    nursery = Nursery()
    made = EmbeddedEngine(EngineSettings(str(tmp_path_factory.mktemp("engine") / "scratch")), nursery, processes=1)
    yield made
    made.close()
    nursery.close()


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory, java_lake: Any, engine: EmbeddedEngine) -> Any:
    home = tmp_path_factory.mktemp("java")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        yield Reader(java_lake(home).uri, "wh", "fx", home, engine), home


@pytest.mark.parametrize("name", READ)
def test_rows_are_those_that_iceberg_java_read(java: Any, java_rows: Any, name: str) -> None:
    reader, home = java
    found = reader.rows(f"SELECT * FROM {name}")
    expected = java_rows.expected(home, name, found.schema)
    assert java_rows.found(found) == expected
    counted = reader.rows(f"SELECT count(*) FROM {name}")
    assert counted.to_pylist() == [{"count": sum(expected.values())}]


@pytest.fixture
def reader(lake: Any, engine: EmbeddedEngine) -> Reader:
    return Reader(lake.uri, f"file://{lake.home}/wh", "lab", lake.home, engine)


def numbered(start: int, count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + count), pa.int64()), "name": [f"n{i}" for i in range(count)]})


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


def test_a_column_that_is_named_like_the_path_is_the_tables_own(reader: Reader, lake: Any) -> None:
    lake.create("t", [pa.table({"_file": ["a.txt", "b.txt"], "$path": ["p", "q"], "id": pa.array([1, 2], pa.int64())})])
    assert reader.rows("SELECT id FROM t WHERE _file = 'a.txt'").to_pylist() == [{"id": 1}]
    assert reader.rows("SELECT id FROM t WHERE \"$path\" = 'q'").to_pylist() == [{"id": 2}]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("x > 2e0", [3.0, "nan"]), ("x >= 3e0", [3.0, "nan"]), ("x < 2e0", [1.0]), ("x = nan()", ["nan"]),
        ("x IS NULL", [None]), ("x <> 1e0", [3.0, "nan"]), ("x IN (1e0, 7e0)", [1.0]), ("x BETWEEN 2e0 AND 9e0", [3.0]),
    ],
)  # fmt: skip
def test_nan_is_above_all_numbers_whatever_the_bounds_of_files_say(
    reader: Reader, lake: Any, condition: str, found: list[Any]
) -> None:
    parts = [pa.table({"x": pa.array([value], pa.float64())}) for value in (1.0, 3.0, float("nan"), None)]
    lake.create("t", parts)
    rows = [row["x"] for row in reader.rows(f"SELECT x FROM t WHERE {condition}").to_pylist()]
    assert sorted(("nan" if value != value else value for value in rows), key=str) == sorted(found, key=str)


def test_row_lineage(java: Any) -> None:
    """Compared with Spark's in tests/queries/test_engines.py."""
    reader, _ = java
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


def test_spark_reads_what_is_beyond(reader: Reader, lake: Any) -> None:
    lake.create("t", [numbered(0, 2000)])
    assert isinstance(reader.work("SELECT id FROM t"), RunLocally)
    assert isinstance(reader.work("SELECT id FROM t", engine="spark"), RunOnSpark)
    assert isinstance(reader.work("SELECT id FROM t", embedded_engine_max_scan_size="100B"), RunOnSpark)
    assert isinstance(reader.work("SELECT id FROM t", embedded_engine_max_scan_rows="1999"), RunOnSpark)
    by_rows = "SELECT CAST(name AS json) FROM t"
    assert isinstance(reader.work(by_rows), RunLocally)
    assert isinstance(reader.work(by_rows, embedded_engine_max_program_rows="500"), RunLocally)
    assert isinstance(reader.work(by_rows, embedded_engine_max_program_rows="499"), RunOnSpark), "four times, on both"
    on_spark_alone = "SELECT levenshtein_distance(name, 'n') FROM t"
    assert isinstance(reader.work(on_spark_alone, embedded_engine_max_program_rows="2000"), RunLocally)
    assert isinstance(reader.work(on_spark_alone, embedded_engine_max_program_rows="1999"), RunOnSpark)
    assert isinstance(reader.work('SELECT "$deleted" FROM t'), RunOnSpark)


def test_programs_for_some_rows_alone_are_no_reason_for_spark(reader: Reader, lake: Any) -> None:
    lake.create("t", [numbered(0, 2000)])
    query = "SELECT try_cast(name AS bigint) a, CAST(' ' || CAST(id AS varchar) AS bigint) b FROM t WHERE id % 2 = 0"
    assert isinstance(reader.work(query, embedded_engine_max_program_rows="1999"), RunLocally)
    assert {(row["a"], row["b"] % 2) for row in reader.rows(query).to_pylist()} == {(None, 0)}


def test_what_the_embedded_engine_cannot_read_is_told(reader: Reader, lake: Any) -> None:
    lake.create("t", [numbered(0, 10)])
    with pytest.raises(
        ProcessionError, match=r"The embedded engine cannot run this query: lab\.db\.t .*it reads \$deleted"
    ):
        reader.work('SELECT "$deleted" FROM t', engine="embedded")
    text = str(reader.work("EXPLAIN SELECT id FROM t").rows[0][0])
    assert "the embedded engine runs it: it reads " in text
    assert "in 10 rows of 1 files" in text
    text = str(reader.work('EXPLAIN SELECT "$deleted" FROM t').rows[0][0])
    assert "Spark runs it: lab.db.t is read by Spark alone: it reads $deleted" in text


@pytest.mark.parametrize(
    ("query", "given", "programs"),
    [
        ("SELECT id + 1, lower(name), CAST(id AS varchar) FROM t", {}, None),
        ("SELECT CAST(name AS bigint) FROM t", {}, None),
        ("SELECT levenshtein_distance(name, 'it''s \\'), CAST(name AS json) FROM t", {},
         "cast(varchar as json), levenshtein_distance"),
        ("SELECT levenshtein_distance(name, 'it''s \\'), CAST(name AS json) FROM t", {"engine": "spark"},
         "cast(varchar as json)"),
        ("SELECT id FROM t WHERE try(id / (id - 5)) > 2", {}, "divide, subtract, try"),
        ("SELECT approx_set(id) FROM t", {}, "approx_set"),
    ],
)  # fmt: skip
def test_explain_names_what_runs_row_by_row(
    reader: Reader, lake: Any, query: str, given: dict[str, str], programs: str | None
) -> None:
    lake.create("t", [numbered(0, 10)])
    lines = str(reader.work(f"EXPLAIN {query}", **given).rows[0][0]).splitlines()
    assert [line for line in lines if line.startswith("Programs: ")] == (
        [f"Programs: {programs}: row by row, as programs"] if programs else []
    )


def test_explain_tells_the_engine_that_programs_choose(reader: Reader, lake: Any) -> None:
    lake.create("t", [numbered(0, 10)])
    text = str(
        reader.work("EXPLAIN SELECT levenshtein_distance(name, 'x') FROM t", embedded_engine_max_program_rows="9").rows
    )
    assert "Engine: Spark runs it: levenshtein_distance would run as programs for 10 rows" in text
    assert "Programs: " not in text


def rewritten(table: Any, change: Callable[[str], str]) -> None:
    """The table's metadata as another writer may have written it."""
    path = Path(table.metadata_location.removeprefix("file://"))
    path.write_text(change(path.read_text()))


def test_a_filter_over_a_column_of_row_lineage(java: Any) -> None:
    reader, _ = java
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


def test_files_outside_of_the_catalogs_locations_are_not_read_here(reader: Reader, lake: Any) -> None:
    lake.create("t", [numbered(0, 10)])
    outside = lake.home / "elsewhere.parquet"
    pq.write_table(numbered(10, 5), outside)
    lake.other.load_table("db.t").add_files([f"file://{outside}"])
    work = reader.work("SELECT count(DISTINCT id) FROM t")
    assert isinstance(work, RunOnSpark)
    text = str(reader.work("EXPLAIN SELECT count(DISTINCT id) FROM t").rows[0][0])
    assert "Spark runs it: lab.db.t is read by Spark alone: it has files outside of the catalog's locations" in text


def test_rows_leave_by_number_where_the_database_reads_files_itself(reader: Reader, lake: Any, foreign: Any) -> None:
    """Three files of several row groups; a filter that skips row groups keeps the numbers of rows right."""
    parts = [numbered(start, 5000) for start in (0, 5000, 10_000)]
    table = lake.create("t", parts, properties={"write.parquet.row-group-limit": "1000"})
    paths = [task.file.file_path for start in (0, 5000) for task in table.scan(row_filter=f"id = {start}").plan_files()]
    assert pq.ParquetFile(paths[0].removeprefix("file://")).num_row_groups == 5
    foreign.delete_positions(table, {paths[0]: [0, 2500, 4999], paths[1]: range(1000, 2000)})
    foreign.delete_positions(lake.other.load_table("db.t"), {paths[0]: [2500, 2501]})
    gone = {0, 2500, 2501, 4999, *range(6000, 7000)}
    left = [i for i in range(15_000) if i not in gone]
    work = reader.work("SELECT id FROM t", engine="embedded")
    scan = reader.scan(work)
    ((alike, files),) = parquet_files(scan).items()
    assert alike.deleted
    assert len(files) == 3
    assert sorted(row["id"] for row in reader.rows("SELECT id FROM t").to_pylist()) == left
    for low, high in ((2400, 2600), (5990, 6010), (4990, 5010), (12_000, 12_010)):
        found = reader.rows(f"SELECT id, name FROM t WHERE id BETWEEN {low} AND {high}")
        assert sorted(row["id"] for row in found.to_pylist()) == [i for i in left if low <= i <= high]
    assert reader.rows("SELECT count(*) FROM t").to_pylist() == [{"count": len(left)}]
    assert "embedded engine runs it" in str(reader.work("EXPLAIN SELECT name FROM t").rows[0][0])


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
    assert {alike.names for alike in parquet_files(scan)} == {("id", "x", None), ("id", "y", "late")}
    found = reader.rows("SELECT * FROM t").to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == [
        {"id": 1, "y": 1.5, "late": None}, {"id": 2, "y": 2.5, "late": None}, {"id": 2**40, "y": 3.25, "late": "here"},
    ]  # fmt: skip
    assert reader.rows("SELECT count(*) FROM t WHERE late IS NULL AND id < 3").to_pylist() == [{"count": 2}]


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


def tuples(reader: Reader, query: str) -> list[tuple[Any, ...]]:
    found = reader.rows(query)
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


GROUPS = {"write.parquet.row-group-limit": "1000"}


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


def test_a_with_query_over_a_table_is_computed_once(reader: Reader, lake: Any) -> None:
    """Each of its scans has a transaction of its own; the uses want different columns."""
    lake.create("t", [numbered(0, 100)])
    query = (
        "WITH g AS (SELECT id % 7 AS k, sum(id) AS s, count(*) AS n FROM t GROUP BY 1) SELECT k, s FROM g "
        "WHERE s = (SELECT max(s) FROM g) OR n = (SELECT max(n) FROM g) OR s < (SELECT min(n) FROM g) ORDER BY k"
    )
    work = reader.work(query, engine="embedded")
    assert work.sql.count("AS MATERIALIZED") == 2, "and the three numbers of it at once"
    assert len(work.inputs) == 1
    with duckdb.connect() as oracle:
        oracle.register("t", numbered(0, 100))
        assert tuples(reader, query) == oracle.execute(query).fetchall()


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


def with_types(lake: Any, name: str, types: dict[str, object]) -> None:
    """The table with other types in its metadata, for which no writer is here."""
    table = lake.table(name)
    place = Path(table.metadata_location.removeprefix("file://"))
    old = json.loads(place.read_text())

    def changed(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: changed(value) for key, value in part.items()}
        if isinstance(part, list):
            return [changed(each) for each in part]
        return "geometry" if part == "binary" else part

    fields = [{**f, "type": types.get(f["name"], changed(f["type"]))} for f in old["schemas"][0]["fields"]]
    new = {**old, "format-version": 3, "next-row-id": 0, "schemas": [{**old["schemas"][0], "fields": fields}]}
    made = place.with_name("00009-typed.metadata.json")
    made.write_text(json.dumps(new))
    lake.other.drop_table(f"db.{name}")
    lake.call("register_table", schema="db", table_name=name, metadata_file=f"file://{made}")


def point(x: float, y: float) -> bytes:
    return struct.pack("<BIdd", 1, 1, x, y)


def test_functions_take_columns_of_geometry(reader: Reader, lake: Any) -> None:
    """Well-known binary in files, geometries in SQL; those of a sphere stay binary, as functions compute on a plane."""
    square = struct.pack("<BIII10d", 1, 3, 1, 5, 0, 0, 3, 0, 3, 3, 0, 3, 0, 0)
    part = pa.table(
        {
            "id": pa.array([1, 2, 3, 4], pa.int64()),
            "g": pa.array([point(1, 2), point(5, 5), square, None], pa.binary()),
            "l": pa.array([[point(1, 2), None], [], None, [square]], pa.list_(pa.binary())),
            "r": pa.array(
                [{"at": point(7, 8), "n": i} for i in range(4)], pa.struct([("at", pa.binary()), ("n", "int64")])
            ),
            "m": pa.array([[("a", point(0, 1))], [], None, [("b", None)]], pa.map_(pa.string(), pa.binary())),
            "s": pa.array([point(9, 9)] * 4, pa.binary()),
        }
    )
    lake.create("shapes", [part])
    with_types(lake, "shapes", {"s": "geography"})
    described = {c.name: c.type for c in lake.connector.table("db", "shapes").columns}
    assert described["g"] == "geometry"
    assert (described["l"], described["r"], described["s"]) == (
        "array(geometry)",
        "row(at geometry,n bigint)",
        "varbinary",
    )
    asked = "SELECT id, ST_X(g), ST_AsText(g) FROM shapes WHERE ST_GeometryType(g) = 'ST_Point'"
    assert [tuple(row.values()) for row in reader.rows(asked).to_pylist()] == [
        (1, 1.0, "POINT (1 2)"),
        (2, 5.0, "POINT (5 5)"),
    ]
    inside = "SELECT b.id FROM shapes a JOIN shapes b ON ST_Contains(a.g, b.g) WHERE a.id = 3 AND b.id <> 3"
    assert reader.rows(inside)[0].to_pylist() == [1]
    nested = reader.rows("SELECT ST_Y(l[1]) y, ST_X(r.at) x, ST_Y(m['a']) z FROM shapes WHERE id = 1").to_pylist()
    assert nested == [{"y": 2.0, "x": 7.0, "z": 1.0}]
    assert reader.rows("SELECT ST_X(ST_GeomFromBinary(s)) x FROM shapes LIMIT 1").to_pylist() == [{"x": 9.0}]
    assert reader.rows("SELECT g, l FROM shapes WHERE id = 4").to_pylist() == [
        {"g": None, "l": ["POLYGON ((0 0, 3 0, 3 3, 0 3, 0 0))"]}
    ]


def test_what_is_no_geometry_is_told(reader: Reader, lake: Any) -> None:
    lake.create("broken", [pa.table({"g": pa.array([b"no shape"], pa.binary())})])
    with_types(lake, "broken", {})
    with pytest.raises(ProcessionError, match="Invalid WKB"):
        reader.rows("SELECT g FROM broken")
    assert reader.rows("SELECT count(*) FROM broken").to_pylist() == [{"count": 1}]
