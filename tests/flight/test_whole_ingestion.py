"""Bulk ingestion with ADBC into tables of a whole service: rows as DuckDB has them, and nothing left of what broke."""

from __future__ import annotations

import datetime as dt
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import adbc_driver_flightsql.dbapi as adbc
import adbc_driver_manager
import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SUMS = "count(*), sum(k), sum(hash(v, day, amount)::HUGEINT)"


@pytest.fixture(scope="module")
def schema(whole_service: Service):
    whole_service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.bulk")
    yield whole_service
    whole_service.execute("DROP SCHEMA iceberg.bulk CASCADE")


@pytest.fixture
def ingest(schema):
    uri = f"grpc://127.0.0.1:{schema.flight_port}"

    def run(name, data, mode="create", **options):
        user = {"username": "tester", "password": ""}
        with adbc.connect(uri, db_kwargs=user, autocommit=True) as connection, connection.cursor() as cursor:
            return cursor.adbc_ingest(name, data, mode, catalog_name="iceberg", db_schema_name="bulk", **options)

    return run


def source(rows: int) -> pa.Table:
    drawn = np.random.default_rng(7)
    amounts = pa.array(drawn.integers(0, 10**6, rows)).cast(pa.decimal128(19, 0)).cast(pa.decimal128(21, 2))
    return pa.table(
        {
            "k": drawn.permutation(rows),
            "v": pa.array([None if i % 97 == 0 else f"row {i} of the stream" for i in range(rows)]),
            "day": pa.array(drawn.integers(-10_000, 20_000, rows).astype("int32")).cast(pa.date32()),
            "amount": amounts,
        }
    )


def stored(schema: Service, name: str) -> pa.Table:
    return schema.lake().load_table(f"bulk.{name}").scan().to_arrow()


def sums(rows: pa.Table) -> tuple[object, ...]:
    return duckdb.sql(f"SELECT {SUMS} FROM rows").fetchall()[0]


def files(schema: Service) -> set[Path]:
    """Of data, wherever they are."""
    homes = schema.data_dir / "iceberg" / "warehouse" / "bulk", schema.data_dir / "results"
    return {file for home in homes for file in home.rglob("*.parquet")}


def test_rows_are_those_of_the_source_in_one_commit_each(schema, ingest):
    rows = source(200_000)
    assert ingest("loaded", rows.to_reader(max_chunksize=10_000)) == 200_000
    assert sums(stored(schema, "loaded")) == sums(rows)
    assert ingest("loaded", rows.select(["amount", "day", "v", "k"]), "append") == 200_000
    assert sums(stored(schema, "loaded")) == sums(pa.concat_tables([rows, rows]))
    history = schema.execute('SELECT operation FROM iceberg.bulk."loaded$snapshots"')
    assert history == [["append"], ["append"]]
    text = schema.execute(
        'SELECT query, state FROM system.runtime.queries WHERE query LIKE \'INSERT INTO "iceberg"."bulk"."loaded"%\''
    )
    assert text[0][1] == "FINISHED"
    written = (
        "SELECT operation, committed_snapshot_id FROM system.history.tables_written "
        "WHERE schema = 'bulk' AND \"table\" = 'loaded' ORDER BY created"
    )
    _wait(lambda: len(schema.execute(written)) == 2, "the history is written half a second late")
    snapshots = [snapshot.snapshot_id for snapshot in schema.lake().load_table("bulk.loaded").metadata.snapshots]
    assert schema.execute(written) == [["CREATE TABLE AS", snapshots[0]], ["INSERT", snapshots[1]]]


def test_columns_go_by_their_names_and_what_is_wrong_is_told(schema, ingest):
    schema.execute("CREATE TABLE iceberg.bulk.strict (id bigint NOT NULL, note varchar, small integer)")
    assert ingest("strict", pa.table({"NOTE": ["a"], "Id": pa.array([1], pa.int32())}), "append") == 1
    assert ingest("strict", pa.table({"id": [2], "note": pa.nulls(1)}), "append") == 1
    wrong = {
        "NULL value not allowed for NOT NULL column: id": pa.table({"note": ["no id"]}),
        "Insert column name does not exist in target table: other": pa.table({"id": [1], "other": [1]}),
        "'small' is of type integer but expression is of type bigint": pa.table({"id": [1], "small": [1]}),
        "'note' is of type varchar but expression is of type date": pa.table(
            {"id": [1], "note": [dt.date(2020, 1, 1)]}
        ),
    }
    for told, rows in wrong.items():
        with pytest.raises(adbc_driver_manager.Error, match=told):
            ingest("strict", rows, "append")
    with pytest.raises(adbc_driver_manager.Error, match="NULL value not allowed"):
        ingest("strict", pa.table({"id": pa.array([3, None], pa.int64())}), "append")
    with pytest.raises(adbc_driver_manager.Error, match=r"Table 'iceberg\.bulk\.missing' does not exist"):
        ingest("missing", pa.table({"id": [1]}), "append")
    with pytest.raises(adbc_driver_manager.Error, match="already exists"):
        ingest("strict", pa.table({"id": [1]}))
    assert schema.execute("SELECT id, note, small FROM iceberg.bulk.strict ORDER BY id") == [
        [1, "a", None],
        [2, None, None],
    ]


def test_a_table_is_made_or_appended_to(schema, ingest):
    rows = pa.table({"k": [1, 2], "ts": pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None])})
    assert ingest("either", rows, "create_append") == 2
    assert ingest("either", rows, "create_append") == 2
    assert sorted(stored(schema, "either").column("k").to_pylist()) == [1, 1, 2, 2]
    assert stored(schema, "either").column("ts").to_pylist().count(rows.column("ts")[0].as_py()) == 2


def test_a_table_is_replaced_in_one_commit_and_keeps_its_history(schema, ingest):
    schema.execute(
        "CREATE TABLE iceberg.bulk.replaced (a integer NOT NULL, d date) WITH (partitioning = ARRAY['month(d)'])"
    )
    schema.execute("INSERT INTO iceberg.bulk.replaced VALUES (1, DATE '2020-01-01')")
    before = schema.lake().load_table("bulk.replaced")
    rows = pa.table({"a": ["x", None], "b": [1.5, 2.5]})
    with pytest.raises(adbc_driver_manager.Error, match=r"columns of its partition specs are gone .* \(d\)"):
        ingest("replaced", rows, "replace")
    assert ingest("replaced", rows.append_column("d", pa.nulls(2, pa.date32())), "replace") == 2
    after = schema.lake().load_table("bulk.replaced")
    assert after.metadata.table_uuid == before.metadata.table_uuid
    assert [str(field.field_type) for field in after.schema().fields] == ["string", "double", "date"]
    assert after.spec().is_unpartitioned()
    assert len(after.metadata.snapshots) == 2
    assert schema.execute("SELECT a, b FROM iceberg.bulk.replaced ORDER BY b") == [["x", 1.5], [None, 2.5]]
    old = f"SELECT a FROM iceberg.bulk.replaced FOR VERSION AS OF {before.metadata.current_snapshot_id}"
    assert schema.execute(old) == [[1]]
    assert ingest("replaced_first", pa.table({"a": [1]}), "replace") == 1
    keys = pa.array([bytes(15) + b"\x01", bytes([255]) * 16], pa.uuid())
    assert ingest("replaced_first", pa.table({"u": keys}), "replace") == 2
    assert str(schema.lake().load_table("bulk.replaced_first").schema().find_type("u")) == "uuid"
    rows_of = "SELECT count(*) FROM iceberg.bulk.replaced_first WHERE u = UUID 'ffffffff-ffff-ffff-ffff-ffffffffffff'"
    assert schema.execute(rows_of) == [[1]]


def test_a_source_that_breaks_changes_nothing(schema, ingest):
    ingest("kept", pa.table({"k": [1]}))
    before = files(schema)

    def breaking():
        for number in range(1_000):
            if number == 60:
                raise RuntimeError("the source broke")
            time.sleep(0.02)
            yield pa.record_batch({"k": range(10_000)})

    for name, mode in (("kept", "append"), ("never", "create"), ("kept", "replace")):
        reader = pa.RecordBatchReader.from_batches(pa.schema([("k", pa.int64())]), breaking())
        with pytest.raises(adbc_driver_manager.Error, match="the source broke"):
            ingest(name, reader, mode)
    time.sleep(1)
    assert schema.execute("SELECT k FROM iceberg.bulk.kept") == [[1]]
    assert ["never"] not in schema.execute("SHOW TABLES FROM iceberg.bulk")
    assert files(schema) == before


CLIENT = """
import sys, time
import adbc_driver_flightsql.dbapi as adbc, pyarrow as pa
def endless():
    while True:
        time.sleep(0.01)
        yield pa.record_batch({"k": range(20_000), "v": ["x" * 50] * 20_000})
rows = pa.RecordBatchReader.from_batches(pa.schema([("k", pa.int64()), ("v", pa.string())]), endless())
with adbc.connect(sys.argv[1], db_kwargs={"username": "tester", "password": ""}, autocommit=True) as connection:
    connection.cursor().adbc_ingest("orphan", rows, sys.argv[2], catalog_name="iceberg", db_schema_name="bulk")
"""


def test_a_client_that_is_killed_changes_nothing(schema, ingest):
    ingest("orphan", pa.table({"k": [1], "v": ["first"]}))
    before = files(schema)
    uri = f"grpc://127.0.0.1:{schema.flight_port}"
    client = subprocess.Popen([sys.executable, "-c", textwrap.dedent(CLIENT), uri, "append"])
    try:
        _wait(lambda: files(schema) - before, "rows arrive")
    finally:
        client.send_signal(signal.SIGKILL)
        client.wait()
    _wait(lambda: files(schema) == before, "nothing is left")
    running = (
        "SELECT query FROM system.runtime.queries WHERE source = 'flight-sql' AND state NOT IN ('FINISHED', 'FAILED')"
    )
    assert schema.execute(running) == []
    assert schema.execute("SELECT k, v FROM iceberg.bulk.orphan") == [[1, "first"]]


def _wait(condition, what: str) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit, what
        time.sleep(0.1)
