"""DELETE, UPDATE and MERGE: the same statements in DuckDB over the same rows, the rows after each compared."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import prestodb
import pytest

from tests.e2e.service import Service
from tests.e2e.test_faults import TASK_PER_FILE, data_files, eventually, in_background, noise

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = "SELECT n AS id, n % 4 AS p, 'row ' || cast(n AS varchar) AS s, cast(n AS decimal(12,2)) AS d"
COMMITTED = (
    "SELECT committed_snapshot_id FROM system.history.tables_written WHERE \"table\" = 'busy' AND operation = 'INSERT'"
)
MODES = {
    "merged": "WITH (partitioning = ARRAY['p'])",
    "copied": "WITH (partitioning = ARRAY['p'], delete_mode = 'copy-on-write', "
    "\"write.update.mode\" = 'copy-on-write', \"write.merge.mode\" = 'copy-on-write')",
    "newest": "WITH (format_version = '3')",
}
STATEMENTS = [
    "DELETE FROM {t} WHERE p = 1",
    "DELETE FROM {t} WHERE p = 1",
    "DELETE FROM {t} WHERE id > 90 AND s LIKE '%9%'",
    "DELETE FROM {t} WHERE id IN (SELECT id + 1 FROM {t} WHERE p = 2 AND id < 20)",
    "DELETE FROM {t} WHERE s IS NULL OR id = 8",
    "UPDATE {t} SET s = s || '!', d = cast(d + 1 AS decimal(12,2)) WHERE id < 40 AND p <> 2",
    "UPDATE {t} SET p = NULL WHERE id IN (30, 34, 35)",
    "UPDATE {t} SET s = NULL",
    "MERGE INTO {t} AS x USING (SELECT id, p FROM {t} WHERE id < 30 UNION ALL SELECT 1000, 7) AS o ON x.id = o.id "
    "WHEN MATCHED AND x.p = 0 THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET s = 'merged', d = cast(x.d * 2 AS decimal(12,2)) "
    "WHEN NOT MATCHED THEN INSERT (id, p) VALUES (o.id, o.p)",
    "DELETE FROM {t} WHERE id NOT IN (SELECT id FROM {t} WHERE id < 60)",
]
POSITIONAL = [
    "UPDATE {t} SET s = 'above' WHERE id > (SELECT avg(id) FROM {t})",
    "UPDATE {t} SET d = (SELECT max(d) FROM {t}) WHERE p = 0",
]

SEEN = {STATEMENTS[5], POSITIONAL[-1], STATEMENTS[-2], STATEMENTS[-1]}
"""After these the rows are compared; after every one the number of rows changed."""


@pytest.fixture(scope="module")
def run(service: Service) -> Callable[[str], Any]:
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.changed")
    return lambda sql: service.execute(sql, catalog="iceberg", schema="changed")


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS {ROWS} FROM range(1, 101) r (n)")
        connection.execute("ALTER TABLE t ALTER d TYPE decimal(12,2)")
        yield connection


@pytest.mark.parametrize("engine", ["auto", "spark"])
@pytest.mark.parametrize("mode", MODES if os.environ.get("PROCESSION_TEST_FULL") else ["merged"])
def test_the_same_as_in_duckdb(
    service: Service, run: Callable[[str], Any], duck: duckdb.DuckDBPyConnection, mode: str, engine: str
) -> None:
    table = f"{mode}_by_{engine}"
    run(f"CREATE TABLE {table} (id bigint NOT NULL, p bigint, s varchar, d decimal(12, 2)) {MODES[mode]}")
    run(f"INSERT INTO {table} {ROWS} FROM UNNEST(sequence(1, 100)) r (n)")
    asked = {"catalog": "iceberg", "schema": "changed", "session_properties": {"engine": engine}}
    positional = POSITIONAL if mode != "copied" or engine == "auto" else ()
    for statement in (*STATEMENTS[:7], *positional, *STATEMENTS[7:]):
        ours = service.execute(statement.format(t=table), **asked)
        assert ours == [[duck.execute(statement.format(t="t")).fetchall()[0][0]]], statement
        if statement in SEEN:
            rows = duck.execute("SELECT * FROM t ORDER BY id").fetchall()
            expected = [[i, p, s, None if d is None else f"{d:.2f}"] for i, p, s, d in rows]
            assert run(f"SELECT * FROM {table} ORDER BY id") == expected, statement
    snapshots = service.lake().load_table(f"changed.{table}").snapshots()[1:]  # behind that of the first rows
    by = {s.summary["engine-name"] for s in snapshots if s.summary is not None and s.summary.operation != "append"}
    # Whole partitions go by metadata alone on either, but in version 3.
    by_metadata = {"procession"} if mode != "newest" else set()
    assert by == ({"procession"} if engine == "auto" else {*by_metadata, "spark"})


def test_positions_need_merge_on_read_where_spark_changes_rows(service: Service, run: Callable[[str], Any]) -> None:
    copies = ", ".join(f"\"write.{kind}.mode\" = 'copy-on-write'" for kind in ("update", "merge"))
    run(f"CREATE TABLE rigid WITH ({copies}) AS SELECT 1 AS a")
    update = "UPDATE rigid SET a = 2 WHERE a = (SELECT max(a) FROM rigid)"
    with pytest.raises(prestodb.exceptions.PrestoUserError) as refused:
        service.execute(update, catalog="iceberg", schema="changed", session_properties={"engine": "SPARK"})
    assert refused.value.error_name == "NOT_SUPPORTED"
    assert run("SELECT a FROM rigid") == [[1]]
    assert run(update) == [[1]]
    assert run("SELECT a FROM rigid") == [[2]]


def test_refusals(run: Callable[[str], Any]) -> None:
    run("CREATE TABLE strict AS SELECT 1 AS a, 'x' AS b")
    wrong = {
        "DELETE FROM nope": "Table iceberg.changed.nope does not exist",
        "DELETE FROM strict WHERE a": "line 1:26: WHERE clause must evaluate to a boolean: actual type integer",
        "DELETE FROM strict WHERE c = 1": "line 1:26: Column 'c' cannot be resolved",
        "UPDATE strict SET a = 'x'": "line 1:1: UPDATE table column types don't match SET expressions: "
        "Table: [integer], Expressions: [varchar(1)]",
        "UPDATE strict SET c = 1": "line 1:19: The UPDATE SET target column c doesn't exist",
        "MERGE INTO strict t USING (VALUES 1, 1) s (a) ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 'y'": "One MERGE "
        "target table row matched more than one source row",
        "MERGE INTO strict t USING (VALUES 5) s (a) ON t.a = s.a WHEN NOT MATCHED THEN INSERT (c) VALUES (1)": "line "
        "1:57: Merge column name does not exist in target table: c",
    }
    for sql, message in wrong.items():
        with pytest.raises(prestodb.exceptions.PrestoQueryError) as refused:
            run(sql)
        assert refused.value.message == message
    assert run("SELECT * FROM strict") == [[1, "x"]]


def test_statements_at_the_same_time_all_count(service: Service, run: Callable[[str], Any]) -> None:
    """Each has a snapshot of its own, which the history tells."""
    run("CREATE TABLE busy (a bigint) WITH (commit_retries = 20)")
    counts: list[Any] = []

    def source(rows: int) -> str:
        return f"SELECT a FROM UNNEST(sequence(1, {rows})) u (a)"

    threads = [
        threading.Thread(target=lambda sql: counts.append(run(sql)), args=(f"INSERT INTO busy {source(n)}",))
        for n in range(1, 5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert sorted(counts) == [[[1]], [[2]], [[3]], [[4]]]
    assert run("SELECT count(*) FROM busy") == [[10]]
    snapshots = {s.snapshot_id for s in service.lake().load_table("changed.busy").metadata.snapshots}
    assert len(snapshots) == 4
    eventually(lambda: {row[0] for row in run(COMMITTED)} == snapshots, 60)


@pytest.mark.full("iceberg/test_lost_races: a write that lost its race is made again; writes at the same time below")
def test_an_update_outlives_a_compaction_of_its_files(service: Service, run: Callable[[str], Any]) -> None:
    """It loses the race for its commit, and is run again over the new files."""
    with_tasks = {**TASK_PER_FILE, "format-version": "2"}
    parts = [noise(0, 700), noise(10_000, 10), noise(20_000, 10)]
    table = service.create("outlived", parts, properties=with_tasks)
    before = data_files(table)
    slowly = (
        "UPDATE iceberg.db.outlived SET text = CAST(levenshtein_distance(text, reverse(text)) AS varchar) WHERE id >= 0"
    )
    thread, outcome = in_background(service, slowly, session_properties={"engine": "SPARK"})
    eventually(lambda: data_files(table) != before or bool(outcome), 300)
    assert not outcome
    named = "schema => 'db', table_name => 'outlived', options => MAP(ARRAY['rewrite-all'], ARRAY['true'])"
    assert run(f"CALL iceberg.system.rewrite_data_files({named})")[0][0] == 3
    assert not outcome, "the compaction has to land first"
    thread.join(300)
    assert outcome == [[[720]]]
    assert run("SELECT count(*), count_if(length(text) < 5), min(id), max(id) FROM iceberg.db.outlived") == [
        [720, 720, 0, 20_009]
    ]
    log = (service.etc.parent / "log").read_text()
    assert "writes again" in log


def test_a_transaction_has_no_writes(service: Service) -> None:
    connection = prestodb.dbapi.connect(
        host="127.0.0.1",
        port=int(service.url.rpartition(":")[2]),
        user="tester",
        catalog="iceberg",
        schema="changed",
        isolation_level=prestodb.transaction.IsolationLevel.READ_COMMITTED,
    )
    cursor = connection.cursor()
    cursor.execute("SELECT 1")
    assert cursor.fetchall() == [[1]]
    with pytest.raises(prestodb.exceptions.PrestoUserError) as refused:
        cursor.execute("DELETE FROM strict")
    assert refused.value.error_name == "AUTOCOMMIT_WRITE_CONFLICT"
    assert refused.value.message == "Catalog only supports writes using autocommit: iceberg"
    connection.rollback()
