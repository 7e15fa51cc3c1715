"""Columns fetched by position from tables with deletes, other schemas, partitions and places than their first files."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, LongType, StringType

from tests.e2e.service import Service
from tests.queries.foreign import foreign_writer
from tests.queries.test_late_materialization import OFF, ON

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def foreign() -> Any:
    return foreign_writer()


def part(start: int, stop: int) -> pa.Table:
    numbers = range(start, stop)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "k": pa.array([i * 37 % 1000 for i in numbers], pa.int32()),
            "name": [f"näme {i}" for i in numbers],
            "small": pa.array([i / 4 for i in numbers], pa.float32()),
            "p": [f"p{i % 3}" for i in numbers],
        }
    )


def both(service: Service, query: str) -> list[list[Any]]:
    """The rows, the same off and on; the plan of the second fetches."""
    options = {"catalog": "iceberg", "schema": "db"}
    plain = service.execute(query, session_properties=OFF, **options)
    fetched = service.execute(query, session_properties=ON, **options)
    assert fetched == plain
    plan = service.execute(f"EXPLAIN {query}", session_properties=ON, **options)[0][0]
    assert "- Fetch[" in plan
    return fetched


QUERY = "SELECT id, name, p FROM {} ORDER BY k, id LIMIT 25"


def test_position_and_equality_deletes(queries: Service, foreign: Any) -> None:
    table = queries.create("late_deletes", [part(0, 400), part(400, 1000)])
    files = {t.file.record_count: t.file.file_path for t in table.scan().plan_files()}
    foreign.delete_positions(table, {files[400]: [0, 27, 399], files[600]: [5]})
    foreign.delete_equal(queries.lake().load_table("db.late_deletes"), pa.table({"id": pa.array([54], pa.int64())}))
    query = "SELECT id, name, p FROM t ORDER BY k, id LIMIT 25"
    rows = part(0, 1000).to_pydict()
    gone = {0, 27, 399, 405, 54}
    kept = [i for i in range(1000) if i not in gone]
    t = pa.table({name: [values[i] for i in kept] for name, values in rows.items()})  # noqa: F841
    found = both(queries, QUERY.format("late_deletes"))
    assert [tuple(row) for row in found] == duckdb.sql(query).fetchall()


def test_row_lineage(queries: Service) -> None:
    """Version 3: ``_row_id`` is a column that only its name shows; it is read early, other columns by position."""
    options = {"catalog": "iceberg", "schema": "db"}
    queries.lake().create_namespace_if_not_exists("db")
    queries.execute(
        "CREATE TABLE late_v3 (id bigint, k integer, name varchar) WITH (\"format-version\" = '3')", **options
    )
    numbered = (
        "SELECT n, CAST(n * 37 % 1000 AS integer), 'n' || CAST(n AS varchar) FROM UNNEST(sequence({}, {})) AS t(n)"
    )
    for first, last in ((0, 99), (100, 299)):
        queries.execute(f"INSERT INTO late_v3 {numbered.format(first, last)}", **options)
    ids = queries.execute("SELECT id, _row_id FROM late_v3 ORDER BY id", **options)
    assert len({row_id for _, row_id in ids}) == 300
    on_spark = {**options, "session_properties": {"engine": "spark"}}
    assert queries.execute("SELECT id, _row_id FROM late_v3 ORDER BY id", **on_spark) == ids
    changed = (
        "SELECT count(*), min(_last_updated_sequence_number), max(k) FROM late_v3 FOR VERSION AS OF {} WHERE id < 150"
    )
    first = queries.execute('SELECT snapshot_id FROM "late_v3$snapshots" ORDER BY committed_at', **options)[0][0]
    found = [queries.execute(changed.format(first), **each) for each in (options, on_spark)]
    assert found[0] == found[1]
    assert found[0][0][0] == 100
    for column in ("_row_id", "_last_updated_sequence_number", "_pos"):  # Iceberg's metadata has no such column
        least = f"SELECT min({column}), count({column}), max(k) FROM late_v3"
        assert queries.execute(least, **on_spark) == queries.execute(least, **options)
    one, row_id = ids[7]
    assert queries.execute(f"SELECT id FROM late_v3 WHERE _row_id = {row_id}", **options) == [[one]]
    assert len(queries.execute("SELECT * FROM late_v3 LIMIT 1", **options)[0]) == 3
    fetched = both(queries, "SELECT _row_id, name FROM late_v3 ORDER BY k, id LIMIT 3")
    expected = sorted(ids, key=lambda row: (row[0] * 37 % 1000, row[0]))[:3]
    assert fetched == [[row_id, f"n{i}"] for i, row_id in expected]


def test_deletion_vectors(queries: Service) -> None:
    """Version 3, rows deleted and updated by vectors; rows that moved are found where they are now."""
    options = {"catalog": "iceberg", "schema": "db"}
    queries.lake().create_namespace_if_not_exists("db")
    queries.execute(
        "CREATE TABLE late_vectors (id bigint, k integer, name varchar) WITH (\"format-version\" = '3', "
        "\"write.delete.mode\" = 'merge-on-read', \"write.update.mode\" = 'merge-on-read')",
        **options,
    )
    rows = "SELECT n, CAST(n * 37 % 1000 AS integer), 'n' || CAST(n AS varchar) FROM UNNEST(sequence(0, 499)) AS t(n)"
    queries.execute(f"INSERT INTO late_vectors {rows}", **options)
    queries.execute("DELETE FROM late_vectors WHERE id % 3 = 0", **options)
    queries.execute("UPDATE late_vectors SET name = 'new' WHERE id % 50 = 1", **options)
    assert list(queries.data_dir.rglob("late_vectors*/data/*.puffin"))
    found = both(queries, "SELECT id, name FROM late_vectors ORDER BY k, id LIMIT 60")
    kept = sorted((i for i in range(500) if i % 3), key=lambda i: (i * 37 % 1000, i))[:60]
    assert found == [[i, "new" if i % 50 == 1 else f"n{i}"] for i in kept]


def test_schema_evolution(queries: Service) -> None:
    table = queries.create("late_evolved", [part(0, 300)])
    with table.update_schema() as update:
        update.rename_column("name", "title")
        update.update_column("k", LongType())
        update.update_column("small", DoubleType())
        update.add_column("later", StringType())
    newer = part(300, 500).rename_columns(["id", "k", "title", "small", "p"])
    newer = newer.set_column(1, "k", newer.column("k").cast(pa.int64()))
    newer = newer.set_column(3, "small", newer.column("small").cast(pa.float64()))
    table.append(newer.append_column("later", pa.array([f"later {i}" for i in range(300, 500)])))
    found = both(queries, "SELECT id, title, small, later, p FROM late_evolved ORDER BY k, id LIMIT 40")
    expected = sorted(range(500), key=lambda i: (i * 37 % 1000, i))[:40]
    assert found == [[i, f"näme {i}", i / 4, f"later {i}" if i >= 300 else None, f"p{i % 3}"] for i in expected]


def test_partition_evolution(queries: Service) -> None:
    """A column that became a partition key is read early; files of both specs are read by position."""
    table = queries.create("late_partitioned", [part(0, 300)])
    with table.update_spec() as update:
        update.add_field("p", IdentityTransform(), "p")
    table.append(part(300, 600))
    found = both(queries, "SELECT id, name, p FROM late_partitioned ORDER BY k, id LIMIT 40")
    expected = sorted(range(600), key=lambda i: (i * 37 % 1000, i))[:40]
    assert found == [[i, f"näme {i}", f"p{i % 3}"] for i in expected]


def test_paths_of_any_characters(queries: Service) -> None:
    lake = queries.lake()
    lake.create_namespace_if_not_exists("db")
    place = f"file://{queries.data_dir}/iceberg/wärme ü%20b+c"
    table = lake.create_table("db.late_places", schema=part(0, 1).schema, location=place)
    table.append(part(0, 100))
    table.append(part(100, 200))
    found = both(queries, "SELECT id, name FROM late_places ORDER BY k DESC, id LIMIT 30")
    expected = sorted(range(200), key=lambda i: (-(i * 37 % 1000), i))[:30]
    assert found == [[i, f"näme {i}"] for i in expected]


def test_time_travel(queries: Service) -> None:
    """An old snapshot's rows come from its files, with the schema that it had."""
    table = queries.create("late_history", [part(0, 100)])
    first = table.refresh().current_snapshot()
    assert first is not None
    table.append(part(100, 200))
    version = f"late_history FOR VERSION AS OF {first.snapshot_id}"
    found = both(queries, f"SELECT id, name FROM {version} ORDER BY id DESC LIMIT 3")
    assert found == [[i, f"näme {i}"] for i in (99, 98, 97)]


def test_more_rows_than_the_limit_run_in_one_pass(queries: Service) -> None:
    queries.create("late_many", [part(0, 1000)])
    few = ON | {"global_late_materialization_max_rows": "100"}
    query = "SELECT name, p FROM late_many WHERE k >= 0"
    rows = queries.execute(query, catalog="iceberg", schema="db", session_properties=few)
    assert len(rows) == 1000
    told = queries.execute(f"EXPLAIN {query} LIMIT 200", catalog="iceberg", schema="db", session_properties=few)[0][0]
    assert "Late materialization: up to 200 rows are in the result" in told


def test_executors_fetch_many_rows(queries: Service) -> None:
    queries.create("late_large", [part(0, 15_000), part(15_000, 30_000)])
    found = both(queries, "SELECT id, name, p FROM late_large WHERE k >= 0 AND id >= 0 ORDER BY id")
    assert found == [[i, f"näme {i}", f"p{i % 3}"] for i in range(30_000)]
